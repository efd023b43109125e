/** A client's side of the protocol: one conversation. Nothing the service does is taken on trust, and silence ends it. */
import { connect } from "node:net";
import { type Place, readToken } from "./place.js";
import { FrameReader, frame, heartbeat, kinds, largestAnswer, patience, type Request } from "./protocol.js";

export interface Answer {
  readonly code: number;
  /** What the command wrote, in this order. */
  readonly output: readonly { readonly fd: 1 | 2; readonly bytes: Buffer }[];
  /** What `control` was answered. */
  readonly told: string;
}

export interface Failure {
  /** In words for the user. */
  readonly why: string;
  /** Nobody was there. */
  readonly isAbsent: boolean;
}

/** Milliseconds that the workers of a service that has died need to see that, and to end. */
const timeToEnd = 250;

const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/**
 * Asks a service. A signal that comes meanwhile takes the work back and ends this process, when nothing is left of it.
 * @param question a request, or a word of control
 */
export function converse(place: Place, question: Request | "status" | "stop"): Promise<Answer | Failure> {
  let halves: readonly [string, string];
  try {
    halves = readToken(place);
  } catch (e) {
    const { code, message } = e as NodeJS.ErrnoException;
    return Promise.resolve({ why: message, isAbsent: code === "ENOENT" });
  }
  return new Promise((resolve) => {
    const socket = connect(place.socket);
    const reader = new FrameReader(largestAnswer);
    const output: { fd: 1 | 2; bytes: Buffer }[] = [];
    let told = "";
    let isWelcome = false;
    let ended: NodeJS.Signals | undefined;

    const cancel = (signal: NodeJS.Signals): void => {
      ended ??= signal;
      // The service ends the work, cleans up and closes its end, too.
      socket.end();
      setTimeout(() => socket.destroy(), heartbeat);
    };
    for (const signal of signals) process.on(signal, cancel);

    let isOver = false;
    const finish = (result: Answer | Failure, later = 0): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(silence);
      socket.destroy();
      for (const signal of signals) process.off(signal, cancel);
      if (ended !== undefined) process.kill(process.pid, ended);
      else if (later === 0) resolve(result);
      else setTimeout(() => resolve(result), later);
    };
    const fail = (why: string, isAbsent = false): void =>
      finish({ why, isAbsent }, isWelcome ? timeToEnd : 0);
    const silence = setTimeout(() => fail("the service does not answer"), patience);

    socket.on("error", (e: NodeJS.ErrnoException) =>
      fail(e.message, e.code === "ENOENT" || e.code === "ECONNREFUSED"),
    );
    socket.on("close", () => fail("the service has ended the connection"));
    socket.on("data", (chunk) => {
      silence.refresh();
      try {
        for (const { kind, contents } of reader.push(chunk)) take(kind, contents);
      } catch {
        fail("the service does not keep to the protocol");
      }
    });
    socket.write(frame(kinds.hello, `${place.name} ${halves[0]}`));
    socket.write(
      typeof question === "string"
        ? frame(kinds.control, question)
        : frame(kinds.request, JSON.stringify(question)),
    );

    function take(kind: number, contents: Buffer): void {
      if (!isWelcome) {
        if (kind === kinds.welcome && contents.toString("latin1") === halves[1]) isWelcome = true;
        else fail("the service does not know its token");
        return;
      }
      if (kind === kinds.out) output.push({ fd: 1, bytes: contents });
      else if (kind === kinds.err) output.push({ fd: 2, bytes: contents });
      else if (kind === kinds.told) told = contents.toString();
      else if (kind === kinds.done && contents.length === 1) finish({ code: contents[0]!, output, told });
      else if (kind === kinds.cannot) finish({ why: contents.toString(), isAbsent: false });
      else if (kind !== kinds.alive) fail("the service does not keep to the protocol");
    }
  });
}
