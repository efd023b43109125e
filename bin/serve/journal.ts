/** What a worker process would leave if it were killed, and its removal when it was. */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { type ProgramOutput, removeIfChanged } from "../host/interrupts.js";
import { type FromWorker, markName } from "./jobs.js";

/** Milliseconds that killed programs need to be gone. */
const patience = 2000;
const look = 5;

interface Program {
  /** Undefined while it is being started. */
  readonly group: number | undefined;
  readonly output: ProgramOutput | undefined;
}

export class Journal {
  private readonly temporaries = new Set<string>();
  private readonly programs = new Map<string, Program>();
  /** The worker is started with it in its environment, and it is in that of all that the worker starts. */
  readonly mark = randomUUID();

  /** Whether the message was one for it. */
  take(message: FromWorker): boolean {
    if (message.kind === "temporary") {
      if (message.exists) this.temporaries.add(message.path);
      else this.temporaries.delete(message.path);
      return true;
    }
    if (message.kind !== "program") return false;
    if (message.runs) this.programs.set(message.id, message);
    else this.programs.delete(message.id);
    return true;
  }

  /**
   * To be called when the worker is gone. Programs are ended first: also one that was being started, of which the worker could
   * not say any more which process it is.
   */
  async clean(): Promise<void> {
    if (this.programs.size > 0) {
      for (const { group } of this.programs.values()) if (group !== undefined) kill(-group);
      const end = Date.now() + patience;
      for (let left = marked(this.mark); left.length > 0 && Date.now() < end; left = marked(this.mark)) {
        for (const pid of left) kill(pid);
        await wait(look);
      }
    }
    for (const path of this.temporaries) remove(path);
    for (const { output } of this.programs.values()) if (output !== undefined) removeIfChanged(output);
  }
}

/** Processes with this mark in their environment; those that are dead have none. */
function marked(mark: string): number[] {
  const word = `${markName}=${mark}`;
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(word))
    .map(Number);
}

function environmentOf(pid: string): readonly string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return []; // It is gone, or somebody else's.
  }
}

/** @param pid negative: of a group */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function remove(path: string): void {
  try {
    fs.rmSync(path, { force: true, recursive: true });
  } catch {
    // Its folder cannot be written any more, say: the service goes on.
  }
}
