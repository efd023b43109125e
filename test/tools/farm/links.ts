/** Links of a program, as the farm's tool does them, and what they say of units. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../process.js";
import { findProgram, projectRoot } from "../root.js";

export interface FarmLink {
  readonly status: number;
  readonly said: string;
  readonly text: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly megabytes: number;
  /** Units of each phase that had some, in order. */
  readonly phases: readonly number[];
  /** Functions that came back, that were known, and that were compiled here. */
  readonly came: number;
  readonly known: number;
  readonly here: number;
  readonly bytes: number;
}

export async function farmLink(
  objects: readonly string[],
  folder: string,
  options: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<FarmLink> {
  const output = join(folder, "out.s");
  const command = [join(projectRoot(), "bin/tsc-lto"), ...objects, "-o", output, "-v", ...options];
  const start = performance.now();
  const result = await run(command, { measure: findProgram("time") !== undefined, timeoutMs: 900_000, env });
  const seconds = (performance.now() - start) / 1000;
  const { status, stderr: said, cpuSeconds, peakKiB } = result;
  const [, , came = 0, known = 0, here = 0, , sent = 0, received = 0] = (
    /units of work: (\d+) with (\d+) functions, (\d+) functions known to others, (\d+) functions here, (\d+) answers refused, (\d+) bytes sent, (\d+) received/.exec(
      said,
    ) ?? []
  ).map(Number);
  return {
    status,
    said,
    text: status === 0 ? readFileSync(output, "latin1") : "",
    seconds,
    cpuSeconds,
    megabytes: peakKiB / 1024,
    phases: [...said.matchAll(/(\d+) units of work with/g)].map(([, units]) => Number(units)),
    came,
    known,
    here,
    bytes: sent + received,
  };
}

/**
 * Assembly of modules with small changes: an instruction more in functions here and there. @param text of a module
 * @param places where in the list of its functions, from 0 to 1
 */
export function edited(text: string, places: readonly number[]): string {
  const bodies = [...text.matchAll(/^define [^\n]*\{\n(?:[\w.$-]+:[^\n]*\n)?/gm)].filter(
    ([head]) => !head.includes("naked"),
  );
  let result = text;
  for (const place of [...places].sort((a, b) => b - a)) {
    const body = bodies[Math.floor(place * bodies.length)]!;
    let at = body.index + body[0].length;
    // Behind what has to come first in a block.
    const first = /^(?:\s+%[\w.$-]+ = (?:phi|alloca|landingpad)[^\n]*\n|\s+#dbg[^\n]*\n)*/.exec(
      result.slice(at),
    );
    at += first?.[0].length ?? 0;
    result = `${result.slice(0, at)}  call void asm sideeffect "nop", ""()\n${result.slice(at)}`;
  }
  return result;
}
