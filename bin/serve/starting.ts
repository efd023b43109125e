/** Starting a service that outlives whoever wants it first. */
import * as fs from "node:fs";
import { join } from "node:path";
import { reasonOf } from "../host/system-errors.js";
import { converse, type Failure } from "./client.js";
import { type Place, Unusable } from "./place.js";
import { tokenHalf } from "./protocol.js";

/** Milliseconds after which a start that has not been heard of is taken for failed. */
const longestStart = 10_000;
/** Milliseconds that a start is waited for, and from one look to the next. */
const startPatience = 4000;
const look = 25;

/**
 * Starts a service unless somebody is doing so, and does not wait for it. @throws Unusable
 * @param options of `tsc-lto serve`
 */
export async function start(place: Place, bundles: string, options: readonly string[] = []): Promise<void> {
  if (!reserve(place)) return;
  const { spawn } = await import("node:child_process");
  const { TSC_LTO_SERVER: _, ...env } = process.env;
  const words = [join(bundles, "../bin/start.cjs"), "lto", "serve", "--foreground", ...options];
  const child = spawn(process.execPath, words, { cwd: "/", env, detached: true, stdio: "ignore" });
  child.on("error", () => fs.rmSync(place.starting, { force: true }));
  child.unref();
}

/** Whether this process is the one that starts it. @throws Unusable where no file can be made */
function reserve({ starting }: Place): boolean {
  for (const isFirst of [true, false]) {
    let isMade = false;
    try {
      const fd = fs.openSync(starting, "wx", 0o600);
      isMade = true;
      try {
        // As much as a token: where the disk is full, it is said here.
        fs.writeSync(fd, "-".repeat(2 * tokenHalf));
      } finally {
        fs.closeSync(fd);
      }
      return true;
    } catch (e) {
      if (isMade) fs.rmSync(starting, { force: true });
      if ((e as NodeJS.ErrnoException).code !== "EEXIST")
        throw new Unusable(`cannot write ${starting}: ${reasonOf(e)}`);
      const stat = fs.statSync(starting, { throwIfNoEntry: false });
      if (stat !== undefined && Math.abs(Date.now() - stat.mtimeMs) < longestStart) return false;
      if (isFirst) fs.rmSync(starting, { force: true });
    }
  }
  return false;
}

/** What a service says of itself, as soon as there is one. */
export async function awaitStart(place: Place): Promise<string | Failure> {
  const end = Date.now() + startPatience;
  for (;;) {
    // The service removes it when it listens, or cannot.
    const isStarting = fs.existsSync(place.starting);
    const answer = await converse(place, "status");
    if ("told" in answer) return answer.told;
    if (!answer.isAbsent) return answer;
    if (!isStarting || Date.now() >= end) return { why: "the service does not start", isAbsent: true };
    await new Promise((resolve) => setTimeout(resolve, look));
  }
}
