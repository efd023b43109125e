/** A client of the service, from its first byte to its last; whoever does not keep to the protocol, or its times, is left. */
import { timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import type { Place } from "./place.js";
import type { Pool, Task } from "./pool.js";
import {
  type Frame,
  FrameReader,
  frame,
  kinds,
  largestHello,
  largestRequest,
  outputPart,
  ProtocolError,
  parseRequest,
} from "./protocol.js";
import type { Outcome } from "./worker-process.js";

/** Milliseconds to say what is wanted, and to take the answer. */
const timeToAsk = 5000;
const timeToRead = 30_000;

/** What a connection needs of the service. */
export interface Service {
  readonly place: Place;
  readonly pool: Pool;
  readonly halves: readonly [client: string, service: string];
  status(): string;
  /** Ends it when what runs is done. */
  stop(): void;
}

export class Connection {
  private readonly reader = new FrameReader(largestHello);
  private isKnown = false;
  private hasAsked = false;
  private task: Task | null = null;
  private timer: NodeJS.Timeout;

  constructor(
    private readonly socket: Socket,
    private readonly service: Service,
  ) {
    this.timer = setTimeout(() => socket.destroy(), timeToAsk);
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => this.read(chunk));
    socket.on("end", () => void this.leave());
    socket.on("close", () => void this.leave());
  }

  /** For the client to know that it is not forgotten. */
  beat(): void {
    if (this.task !== null) this.socket.write(frame(kinds.alive));
  }

  private read(chunk: Buffer): void {
    try {
      for (const each of this.reader.push(chunk)) this.take(each);
    } catch (e) {
      if (!(e instanceof ProtocolError)) throw e;
      this.socket.destroy();
    }
  }

  private take({ kind, contents }: Frame): void {
    const { service } = this;
    if (!this.isKnown) {
      if (kind !== kinds.hello || !isSame(contents, `${service.place.name} ${service.halves[0]}`))
        throw new ProtocolError("a stranger");
      this.isKnown = true;
      this.reader.limit = largestRequest;
      return;
    }
    if (this.hasAsked) throw new ProtocolError("a second question");
    this.hasAsked = true;
    this.socket.write(frame(kinds.welcome, service.halves[1]));
    if (kind === kinds.request) {
      const request = parseRequest(contents);
      clearTimeout(this.timer);
      const task: Task = { request, finish: (outcome) => this.answer(outcome) };
      this.task = task;
      service.pool.add(task);
    } else if (kind === kinds.control) {
      const word = contents.toString();
      if (word === "stop") service.stop();
      else if (word !== "status") throw new ProtocolError("an unknown word");
      this.socket.write(frame(kinds.told, service.status()));
      this.end(frame(kinds.done, Buffer.of(0)));
    } else throw new ProtocolError("an unknown question");
  }

  private answer(outcome: Outcome): void {
    this.task = null;
    if (outcome.kind === "cannot") return this.end(frame(kinds.cannot, outcome.why));
    for (const { fd, bytes } of outcome.output)
      for (let at = 0; at < bytes.length; at += outputPart)
        this.socket.write(frame(fd === 1 ? kinds.out : kinds.err, bytes.subarray(at, at + outputPart)));
    this.end(frame(kinds.done, Buffer.of(outcome.code)));
  }

  private end(last: Buffer): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.socket.destroy(), timeToRead);
    this.socket.end(last);
  }

  /** The client has gone, or wants to: what it asked for is taken back before it is let go. */
  private async leave(): Promise<void> {
    clearTimeout(this.timer);
    const { task } = this;
    this.task = null;
    if (task !== null) await this.service.pool.cancel(task);
    this.socket.destroy();
  }
}

/** Takes the same time wherever they differ. */
function isSame(contents: Buffer, text: string): boolean {
  const expected = Buffer.from(text);
  return contents.length === expected.length && timingSafeEqual(contents, expected);
}
