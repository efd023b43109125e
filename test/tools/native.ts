/**
 * From assembly text to an executable, without a compiler driver in between.
 *
 * `cc prog.s` costs four processes. Batches of thousands of small programs run `as` and `ld` directly instead,
 * with the linker's command line that the driver itself reports once (`cc -###`).
 */
import { join } from "node:path";
import type { RunResult } from "./process.js";
import { run } from "./process.js";
import { findProgram } from "./root.js";

interface LinkLine {
  readonly before: readonly string[];
  readonly after: readonly string[];
}
const lines = new Map<string, Promise<LinkLine>>();

/** The linker's arguments around the objects, as the system's compiler driver would call it. */
function linkLine(pie: boolean): Promise<LinkLine> {
  const key = String(pie);
  let line = lines.get(key);
  if (line === undefined) lines.set(key, (line = readLinkLine(pie)));
  return line;
}

async function readLinkLine(pie: boolean): Promise<LinkLine> {
  const cc = findProgram("gcc", "cc", "clang-19", "clang")!;
  const r = await run([cc, "-###", "MARK.o", pie ? "-pie" : "-no-pie", "-o", "OUT"]);
  const found = r.stderr.split("\n").find((l) => l.includes("crt1.o") || l.includes("Scrt1.o"));
  if (found === undefined) throw new Error(`no linker command in the output of ${cc} -###`);
  const words = found.match(/"(?:[^"\\]|\\.)*"|\S+/g)!.map((w) => (w.startsWith('"') ? w.slice(1, -1) : w));
  const args: string[] = [];
  for (let i = 1; i < words.length; i++) {
    if (words[i] === "-plugin" || words[i] === "-o") i++;
    else if (!words[i]!.startsWith("-plugin-opt")) args.push(words[i]!);
  }
  const at = args.indexOf("MARK.o");
  return { before: args.slice(0, at), after: args.slice(at + 1) };
}

/** Assembles `asm` and links it into `exe`; `objects` and `libs` (as -lm) come after it on the link line. */
export async function assembleAndLink(
  asm: string,
  exe: string,
  options: {
    dir: string;
    libs?: readonly string[];
    objects?: readonly string[];
    pie?: boolean;
    timeoutMs?: number;
  },
): Promise<{ stage: "assemble" | "native link"; result: RunResult }> {
  const object = join(options.dir, "native.o");
  const timeoutMs = options.timeoutMs ?? 60_000;
  const assembled = await run(["as", "-o", object, asm], { timeoutMs });
  if (assembled.status !== 0) return { stage: "assemble", result: assembled };
  const inputs = [object, ...(options.objects ?? []), ...(options.libs ?? [])];
  return linkObjects(inputs, exe, { pie: options.pie ?? true, timeoutMs });
}

/** Links objects, archives and libraries (as -lm) into `exe`. */
export async function linkObjects(
  inputs: readonly string[],
  exe: string,
  options: { pie: boolean; timeoutMs?: number },
): Promise<{ stage: "native link"; result: RunResult }> {
  const line = await linkLine(options.pie);
  const command = ["ld", ...line.before, ...inputs, ...line.after, "-o", exe];
  return { stage: "native link", result: await run(command, { timeoutMs: options.timeoutMs ?? 60_000 }) };
}
