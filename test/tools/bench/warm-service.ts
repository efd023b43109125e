/** A service of tsc-lto's for measuring: what its processes have cost, beside what its clients have. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun } from "../process.js";
import { projectRoot } from "../root.js";

/** Of `/proc/PID/stat`; Linux has no other. */
const ticksPerSecond = 100;

export class WarmService {
  private readonly runtime = mkdtempSync(join(tmpdir(), "tsc-lto-service-"));
  /** For clients. */
  readonly env = { XDG_RUNTIME_DIR: this.runtime, TSC_LTO_SERVER: "on" };
  private readonly command = join(projectRoot(), "bin", "tsc-lto");

  async start(): Promise<void> {
    await mustRun([this.command, "serve", "--jobs=1"], { env: this.env });
  }

  /** Seconds of processor time that the service's processes have taken so far, and megabytes that they have now. */
  async cost(): Promise<{ readonly seconds: number; readonly megabytes: number }> {
    const { stdout } = await mustRun([this.command, "serve", "--status"], { env: this.env });
    const supervisor = /^process (\d+)/.exec(stdout.toString())?.[1];
    let seconds = 0;
    let megabytes = 0;
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const [pid, fields] = statOf(name);
      // After the name in parentheses: state, parent; then the times, of children that were waited for, too.
      if (pid !== supervisor && fields[1] !== supervisor) continue;
      seconds += fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
      megabytes +=
        Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "latin1"))?.[1]) / 1024;
    }
    return { seconds, megabytes };
  }

  async stop(): Promise<void> {
    await mustRun([this.command, "serve", "--stop"], { env: this.env });
    rmSync(this.runtime, { recursive: true, force: true });
  }
}

function statOf(pid: string): [string, string[]] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return [pid, text.slice(text.lastIndexOf(")") + 2).split(" ")];
  } catch {
    return [pid, []]; // It has ended.
  }
}
