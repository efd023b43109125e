/**
 * Random functions compiled in many ways and run on the machine, against the IR interpreter: modules of them, with
 * a `@main` that calls each on the same inputs and has a native part look at what it left.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { main as runLto } from "../../bin/lto/main.js";
import { parseModule } from "../../formats/text/index.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { generators, randomModule } from "../legalize/random-ir.js";
import { Interpreter, type World } from "../support/interpreter/interpreter.js";
import { codeOf } from "../support/interpreter/program.js";
import { Undefined } from "../support/interpreter/scalar-ops.js";
import { Random } from "../support/random.js";
import { withAssembly } from "./assembly.js";
import { helpers, irregularFunction } from "./irregular.js";

const inputs = 6;
const area = 2048;
const compared = 1900;

/** What is called around each function, in C: the inputs of a file, and a sum of what was written. */
const harness = `
#include <stdio.h>
#include <string.h>
static unsigned char all[${inputs}][${area}];
_Alignas(64) unsigned char in[${area}], out[${area}];
void prepare(int k) {
  static int loaded;
  if (!loaded) { FILE *f = fopen("inputs.bin", "rb"); loaded = f && fread(all, sizeof all, 1, f); fclose(f); }
  memcpy(in, all[k], sizeof in);
  memset(out, 0, sizeof out);
}
void check(int fn, int k) {
  unsigned h = 2166136261u;
  for (int i = 0; i < ${compared}; i++) h = (h ^ out[i]) * 16777619u;
  printf("%d %d %u\\n", fn, k, h);
  fflush(stdout);
}
`;

const layout =
  'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\ntarget triple = "x86_64-unknown-linux-gnu"\n';

export interface Way {
  readonly name: string;
  readonly args: readonly string[];
}

/** Levels, allocators, and what checks. */
export const ways: readonly Way[] = [
  ["-Oz"],
  ["-O0"],
  ["-O2", "--check-ipra"],
  ["-Oz", "--no-ipra", "--verify-each"],
  ["-O2", "--regalloc", "greedy"],
  ["-Oz", "--regalloc", "linear"],
  ["-O2", "--regalloc", "graph"],
  ["-O0", "--regalloc", "linear"],
  ["-Oz", "--check-ipra"],
  ["-O1", "--regalloc", "greedy", "--relocation-model", "pie"],
  ["-Oz", "--regalloc", "graph", "--guard-callees"],
  ["-O2", "--no-shrink-wrap", "--no-ipra"],
  ["-O0", "--regalloc", "graph"],
  ["-Oz", "--coalesce", "none"],
  ["-O2", "--regalloc", "linear", "--relocation-model", "pie"],
  ["-Os", "--spill-cost", "speed"],
].map((args) => ({ name: args.join(" "), args }));

/** Attributes of functions, for what code generation does differently. */
const attributes = [
  "",
  "",
  "",
  "minsize optsize",
  "optnone noinline",
  '"frame-pointer"="all"',
  "uwtable",
  "noredzone",
  '"target-features"="+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt"',
  '"target-features"="+bmi,+bmi2,+lzcnt,+movbe,+cx16"',
  '"no-jump-tables"="true" nounwind',
  "sspstrong",
];

export interface Program {
  readonly module: string;
  /** What the harness prints. */
  readonly expected: string;
  readonly inputs: Uint8Array;
  readonly runs: number;
}

/**
 * A module of `count` functions, by its seed; every function's own is `first` and those that follow.
 * @param features that all functions have, as LLVM writes them; "": each has attributes of its own
 */
export function randomProgram(first: number, count: number, features = ""): Program {
  const functions: string[] = [];
  const declarations = new Set<string>();
  const names = Object.keys(generators);
  for (let i = 0; i < count; i++) {
    const random = new Random(first + i);
    let text: string;
    if (random.oneIn(2)) {
      const { source } = randomModule(random.pick(names), random);
      text = `${/^define.*?^\}\n/ms.exec(source)![0].replace("define void @f(", `define internal void @f${i}(`)}`;
      for (const line of source.match(/^declare.*$/gm) ?? []) declarations.add(line);
    } else {
      const made = irregularFunction(`f${i}`, random);
      text = made.text;
      for (const line of made.declarations) declarations.add(line);
    }
    const own = random.pick(attributes);
    const chosen = features === "" ? own : `"target-features"="${features}"`;
    functions.push(text.replace("ptr %out)", `ptr %out) noinline ${chosen}`.trimEnd()));
  }
  const parts = [layout, ...functions, helpers, ...declarations];
  const module = parseModule(`${parts.join("\n")}\n`, "random.ll");
  const problems = verifyModule(module);
  if (problems.length > 0) throw new Error(`functions from ${first}: ${problems.join("; ")}`);
  const random = new Random(first ^ 0x2545f491);
  const given = Array.from({ length: inputs }, (_, k) => randomInput(random, k));
  const world = new Local(module);
  let main = "";
  let expected = "";
  let runs = 0;
  for (let i = 0; i < count; i++) {
    const fn = module.functions.find((f) => f.name === `f${i}`)!;
    given.forEach((input, k) => {
      const sum = interpreted(module, fn, world, input);
      if (sum === null) return;
      runs++;
      expected += `${i} ${k} ${sum}\n`;
      main += `  call void @prepare(i32 ${k})\n  call void @f${i}(ptr @in, ptr @out)\n  call void @check(i32 ${i}, i32 ${k})\n`;
    });
  }
  const outside =
    "@in = external global [2048 x i8]\n@out = external global [2048 x i8]\ndeclare void @prepare(i32)\ndeclare void @check(i32, i32)\n";
  const whole = [...parts, outside, `define i32 @main() {\n${main}  ret i32 0\n}`];
  return { module: withAssembly(`${whole.join("\n")}\n`), expected, inputs: Buffer.concat(given), runs };
}

/** Calls between functions of a module, and addresses of blocks. */
class Local implements World {
  private readonly code_;
  constructor(module: Module) {
    this.code_ = codeOf(module);
  }
  addressOf(): bigint {
    throw new Error("no variables here");
  }
  code(fn: Func) {
    return this.code_.get(fn.name);
  }
  functionAt(): undefined {
    return undefined;
  }
  hasType(): never {
    throw new Error("no types here");
  }
  callUnknown(fn: Func): never {
    throw new Error(`call of @${fn.name}`);
  }
  addressOfLabel(label: number): bigint {
    return 0x200000n + BigInt(label);
  }
}

/** The harness' sum, or null if the function does something undefined. */
function interpreted(module: Module, fn: Func, world: Local, input: Uint8Array): number | null {
  const interpreter = new Interpreter(module.dataLayout, "exact", world);
  interpreter.memory.set(input, 0);
  const { body, args } = world.code(fn)!;
  try {
    interpreter.run(body, [
      [args[0]!, 0n],
      [args[1]!, BigInt(area)],
    ]);
  } catch (error) {
    if (error instanceof Undefined) return null;
    throw new Error(`@${fn.name}: ${(error as Error).message}`, { cause: error });
  }
  let sum = 2166136261;
  for (let i = 0; i < compared; i++) sum = Math.imul(sum ^ interpreter.memory[area + i]!, 16777619);
  return sum >>> 0;
}

const special = [
  0n,
  1n,
  0xffffffffffffffffn,
  0x8000000000000000n,
  0x7ff0000000000000n,
  0x3ff0000000000000n,
  0x80000000n,
];

function randomInput(random: Random, round: number): Uint8Array {
  const bytes = new Uint8Array(area);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < area; at += 8)
    if (round % 3 === 2) view.setFloat64(at, (random.below(20000) - 10000) / 8, true);
    else {
      const word = (BigInt(random.bits()) << 32n) | BigInt(random.bits());
      view.setBigUint64(at, round % 3 === 1 ? random.pick(special) : word, true);
    }
  return bytes;
}

/** Compiles the native part. @returns its path */
export function buildHarness(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "harness.c"), harness);
  const object = join(folder, "harness.o");
  const { status, stderr } = spawnSync("cc", ["-O1", "-c", join(folder, "harness.c"), "-o", object], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`cc: ${stderr}`);
  return object;
}

/** What is wrong with a program made in one way, or null. The folder keeps what was made. */
export async function tryProgram(
  program: Program,
  way: Way,
  folder: string,
  object: string,
): Promise<string | null> {
  writeFileSync(join(folder, "p.ll"), program.module);
  writeFileSync(join(folder, "inputs.bin"), program.inputs);
  let complaints = "";
  const code = await runLto(
    [
      "-j1",
      "--check-regalloc",
      "--verify",
      ...way.args,
      join(folder, "p.ll"),
      object,
      "-o",
      join(folder, "p.s"),
    ],
    {
      cwd: folder,
      env: process.env,
      colour: false,
      workers: false,
      stdin: () => new Uint8Array(),
      stdout: () => {},
      stderr: (bytes) => (complaints += Buffer.from(bytes).toString("utf8")),
    },
  );
  if (code !== 0) return complaints;
  const flag = way.args.includes("pie") ? "-pie" : "-no-pie";
  const built = spawnSync("cc", [flag, "p.s", object, "-lm", "-o", "p"], { cwd: folder, encoding: "utf8" });
  if (built.status !== 0) return built.stderr.slice(0, 500);
  const { status, signal, stdout } = spawnSync(join(folder, "p"), {
    cwd: folder,
    encoding: "utf8",
    timeout: 60_000,
    maxBuffer: 1 << 26,
  });
  if (stdout === program.expected && status === 0) return null;
  const [wanted, seen] = [program.expected.split("\n"), stdout.split("\n")];
  const at = wanted.findIndex((line, i) => line !== seen[i]);
  const end = signal === null ? `status ${status}` : signal;
  return `expected "${wanted[at]}" (function, input, sum), found "${seen[at]}"; ${end}`;
}
