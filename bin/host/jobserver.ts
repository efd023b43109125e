/**
 * GNU Make's jobserver (make's manual, "POSIX Jobserver Interaction"): Make, and whatever else has one, lends its jobs what they do at
 * the same time beyond one thing each. A token is a byte in a pipe that all share: taken before, put back after.
 *
 * `MAKEFLAGS` names the pipe, by the numbers of its two ends or as `fifo:PATH`. For recipes that are not marked as calls of make,
 * older versions close the ends and name them still; then a number may be a pipe of Node's own, from which nobody may read.
 * So such a pipe has to be one that a process further up has, too. The ends are opened anew, since a pipe that does not wait
 * would not do so for the others either.
 */
import * as fs from "node:fs";
import { holdForOthers } from "./interrupts.js";

/** Processes above this one that are looked at. */
const mostAncestors = 100;

export class Jobserver {
  /** Tokens that are held; each goes back as it was. */
  private readonly tokens: Buffer[] = [];
  private release: () => void = () => {};

  private constructor(
    private readonly from: number,
    private readonly to: number,
  ) {}

  /** Null: there is none, or it cannot be reached. */
  static open(env: Readonly<Record<string, string | undefined>>): Jobserver | null {
    const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = fs.constants;
    const place = placeIn(env);
    if (place === null) return null;
    try {
      if (typeof place === "string") {
        const fd = fs.openSync(place, O_RDWR | O_NONBLOCK);
        if (fs.fstatSync(fd).isFIFO()) return new Jobserver(fd, fd);
        fs.closeSync(fd);
        return null;
      }
      const [from, to] = place;
      if (!isShared(from) || linkOf("self", from) !== linkOf("self", to)) return null;
      const reads = fs.openSync(`/proc/self/fd/${from}`, O_RDONLY | O_NONBLOCK);
      return new Jobserver(reads, fs.openSync(`/proc/self/fd/${to}`, O_WRONLY | O_NONBLOCK));
    } catch {
      return null;
    }
  }

  get held(): number {
    return this.tokens.length;
  }

  /** Takes a token if one is there now. */
  take(): boolean {
    const token = Buffer.alloc(1);
    try {
      if (fs.readSync(this.from, token) !== 1) return false;
    } catch {
      return false;
    }
    if (this.tokens.length === 0) this.release = holdForOthers(() => this.giveAll());
    this.tokens.push(token);
    return true;
  }

  /** Gives back one that is held. */
  give(): void {
    const token = this.tokens.pop();
    if (token !== undefined) fs.writeSync(this.to, token);
    if (this.tokens.length === 0) this.release();
  }

  private giveAll(): void {
    for (const token of this.tokens.splice(0)) fs.writeSync(this.to, token);
  }

  close(): void {
    while (this.held > 0) this.give();
    for (const fd of new Set([this.from, this.to])) fs.closeSync(fd);
  }
}

/** Where `MAKEFLAGS` says the jobserver is: a path, or the numbers of a pipe's ends. Null: nowhere. */
export function placeIn({
  MAKEFLAGS: flags = "",
}: Readonly<Record<string, string | undefined>>): string | readonly [from: number, to: number] | null {
  // The last counts; before version 4.2 it had another name.
  const last = [...flags.matchAll(/(?:^|\s)--jobserver-(?:auth|fds)=(\S+)/g)].at(-1)?.[1] ?? "";
  if (last.startsWith("fifo:")) return last.slice("fifo:".length);
  const ends = /^(\d{1,6}),(\d{1,6})$/.exec(last);
  return ends === null ? null : [Number(ends[1]), Number(ends[2])];
}

/** Streams for a program that may need the jobserver, beside its own three. */
export function withJobserver<T>(
  streams: readonly [T, T, T],
  env: Readonly<Record<string, string | undefined>>,
): (T | number | "ignore")[] {
  const place = placeIn(env);
  if (place === null || typeof place === "string" || !place.every(isShared)) return [...streams];
  const all: (T | number | "ignore")[] = [...streams];
  for (const fd of place) {
    while (all.length <= fd) all.push("ignore");
    all[fd] = fd;
  }
  return all;
}

/** Whether a process further up has this pipe, too. */
function isShared(fd: number): boolean {
  const pipe = linkOf("self", fd);
  if (!pipe.startsWith("pipe:")) return false;
  let pid = process.ppid;
  for (let i = 0; i < mostAncestors && pid > 1; i++) {
    try {
      if (fs.readdirSync(`/proc/${pid}/fd`).some((name) => linkOf(pid, name) === pipe)) return true;
      pid = Number(/^PPid:\s*(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
    } catch {
      return false;
    }
  }
  return false;
}

function linkOf(pid: number | "self", fd: number | string): string {
  try {
    return fs.readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return "";
  }
}
