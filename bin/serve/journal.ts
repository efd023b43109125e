/** What a worker process would leave if it were killed, and its removal when it was. */
import * as fs from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { type ProgramOutput, removeIfChanged } from "../host/interrupts.js";
import type { FromWorker } from "./jobs.js";

/** Milliseconds that killed programs need to be gone; dead ones that nobody waits for look alive. */
const patience = 100;
const look = 5;

export class Journal {
  private readonly temporaries = new Set<string>();
  private readonly programs = new Map<number, ProgramOutput | undefined>();

  /** Whether the message was one for it. */
  take(message: FromWorker): boolean {
    if (message.kind === "temporary") {
      if (message.exists) this.temporaries.add(message.path);
      else this.temporaries.delete(message.path);
      return true;
    }
    if (message.kind !== "program") return false;
    if (message.runs) this.programs.set(message.group, message.output);
    else this.programs.delete(message.group);
    return true;
  }

  /** To be called when the worker is gone. */
  async clean(): Promise<void> {
    const end = Date.now() + patience;
    const groups = [...this.programs.keys()];
    for (const group of groups) send(group, "SIGKILL");
    while (groups.some((group) => send(group, 0)) && Date.now() < end) await wait(look);
    for (const path of this.temporaries) fs.rmSync(path, { force: true, recursive: true });
    for (const output of this.programs.values()) if (output !== undefined) removeIfChanged(output);
  }
}

/** Whether there is such a group of processes. */
function send(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
