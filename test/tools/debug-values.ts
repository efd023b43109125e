/**
 * `npm run debug-values -- --count N --seed S`: random programs (variable-programs.ts) under gdb: at each place where they
 * stop, what debug information says of each variable is compared with what the program itself prints of it there, compiled
 * by another compiler without optimisation. A variable may be optimised out; it may not have another value.
 *
 * Levels and options of tsc-lto rotate with the seed. Programs for which something wrong is said are kept.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkObjects } from "./native.js";
import { parseCommandLine, rawOption } from "./options.js";
import { mapLimit, run } from "./process.js";
import { recordsInMemory } from "./recorded-values.js";
import { cacheDir, findProgram, projectRoot } from "./root.js";
import { systemClang, systemCompiler } from "./toolchain.js";
import { outsideSource, type StopPlace, variableProgram } from "./variable-programs.js";
import { compare, type StopCounts, stopScript, stopsOf, type Wrong } from "./variable-stops.js";

const usage = `usage: npm run debug-values -- [--count N] [--seed S] [options]
  --count N      number of programs (default 40)
  --seed S       seed of the first (default 1)
  --stops N      stops of each program (default 300)
  --keep DIR     where programs go for which something wrong is said (default: in the cache directory)
  --tracked      clang tracks assignments
  --tool NAME    ours (default) or clang: what links
  --jobs N, --raw, --flags="…" in place of those that rotate, -v   as for torture`;

const { values } = parseCommandLine(
  {
    count: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    stops: { type: "string", default: "300" },
    keep: { type: "string" },
    tracked: { type: "boolean", default: false },
    ...rawOption,
  },
  usage,
);

/** How programs are compiled and linked, by seed: raw ones leave all passes to the link. */
const ways: readonly (readonly [compiler: string, raw: boolean, link: readonly string[]])[] = [
  ["-Og", false, ["-O2"]],
  ["-O2", false, ["-O2"]],
  ["-Oz", false, ["-Oz"]],
  ["-O2", true, ["-O2"]],
  ["-Oz", true, ["-Oz"]],
  ["-Og", false, ["-Oz"]],
  ["-O1", true, ["-O1"]],
  ["-O2", false, ["-O2", "--regalloc", "greedy"]],
  ["-O2", true, ["-O2", "--no-ipra"]],
  ["-Oz", true, ["-Oz", "--regalloc", "linear"]],
  ["-O0", false, ["-O0"]],
  ["-O2", true, ["-Oz", "--no-shrink-wrap"]],
];

const scratch = mkdtempSync(join(tmpdir(), "debug-values-"));
const keep = String(values["keep"] ?? cacheDir("debug-values-failures"));
const gdb = findProgram("gdb");
if (gdb === undefined) {
  console.error("debug-values: gdb is not there");
  process.exit(2);
}

interface Counts extends StopCounts {
  wrong: number;
  /** Wrong, but clang's code says the same, or something that has no meaning: the compiler's bitcode has it. */
  inherited: number;
}
const total: Counts = { compared: 0, wrong: 0, optimizedOut: 0, unknown: 0, inherited: 0 };
let failed = 0;

/** @throws Error with what the command wrote */
async function succeed(command: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(command, { timeoutMs: 60_000, maxOutput: 1 << 24 });
  if (status !== 0) throw new Error(`${command[0]}: ${stderr.split("\n").slice(0, 4).join(" | ")}`);
  return stdout.toString();
}

async function check(seed: number): Promise<void> {
  const dir = join(scratch, String(seed));
  mkdirSync(dir, { recursive: true });
  const program = variableProgram(seed);
  const source = join(dir, "program.c");
  writeFileSync(source, program.text);
  writeFileSync(join(dir, "outside.c"), outsideSource);
  const [level, isRaw, rotating] = ways[seed % ways.length]!;
  const given = String(values["flags"] ?? "");
  const link = given === "" ? rotating : given.split(" ");
  const raw = isRaw || values["raw"] === true ? ["-Xclang", "-disable-llvm-passes"] : [];
  const how = `${level}${raw.length > 0 ? " raw" : ""} ${link.join(" ")}`;
  try {
    const told = join(dir, "told");
    await succeed([systemCompiler(), "-w", "-O0", "-fwrapv", "-DTELL", source, "-o", told]);
    const lines = (await succeed([told])).split("\n");
    const outside = join(dir, "outside.o");
    await succeed([systemCompiler(), "-w", "-O1", "-c", join(dir, "outside.c"), "-o", outside]);
    const bitcode = join(dir, "program.bc");
    const tracked = ["-Xclang", "-fexperimental-assignment-tracking=forced"];
    const more = values["tracked"] === true ? tracked : [];
    const compile = [systemClang(), "-w", level, ...raw, ...more, "-g", "-flto", "-c", source, "-o", bitcode];
    await succeed(compile);
    const exe = join(dir, "program");
    const byClang = (to: string): Promise<string> =>
      succeed([systemClang(), "-flto", "-fuse-ld=lld", level, bitcode, outside, "-o", to]);
    if (values["tool"] === "clang") await byClang(exe);
    else {
      const assembly = join(dir, "program.s");
      const object = join(dir, "program.o");
      const tool = join(projectRoot(), "bin", "tsc-lto");
      await succeed([tool, bitcode, "-o", assembly, "--verify-each", ...link]);
      await succeed(["as", "-o", object, assembly]);
      const { result } = await linkObjects([object, outside], exe, { pie: true });
      if (result.status !== 0) throw new Error(result.stderr);
    }
    const commands = join(dir, "stops.py");
    writeFileSync(commands, stopScript(program.places, Number(values["stops"])));
    const stops = await stopsOf(gdb!, commands, exe);
    const wrong = judge(stops, lines, program.places);
    if (wrong.every((list) => list.length === 0)) return;
    // What the bitcode itself says: by clang's link, by its code generator with nothing optimised, and with all values kept.
    const theirs: (readonly (readonly string[])[])[] = [];
    if (raw.length === 0 && values["tool"] !== "clang") {
      await byClang(join(dir, "by-clang"));
      const text = join(dir, "recorded.ll");
      const noPasses = ["-Xclang", "-disable-llvm-passes", "-x", "ir"];
      await succeed([systemClang(), "-w", ...noPasses, "-S", "-emit-llvm", bitcode, "-o", text]);
      writeFileSync(text, recordsInMemory(readFileSync(text, "utf8")));
      const native = async (name: string, options: readonly string[]): Promise<void> => {
        await succeed([systemClang(), "-w", ...options, "-c", "-o", join(dir, `${name}.o`)]);
        await succeed([systemCompiler(), join(dir, `${name}.o`), outside, "-o", join(dir, name)]);
      };
      await native("plain", ["-O0", "-x", "ir", bitcode]);
      await native("recorded", ["-O1", ...noPasses, text]);
      for (const name of ["by-clang", "plain", "recorded"])
        theirs.push(await stopsOf(gdb!, commands, join(dir, name)));
    }
    const isTheirs = (n: number, at: number): boolean =>
      theirs.some((all) => all[n]?.[at] === stops[n]![at] || all[n]?.[at]?.startsWith("!") === true);
    const own = new Map<string, number>();
    stops.forEach((_, n) => {
      for (const { at, text } of wrong[n]!) {
        if (isTheirs(n, at)) total.inherited++;
        else own.set(text, (own.get(text) ?? 0) + 1);
      }
    });
    for (const [text, times] of own) {
      total.wrong += times;
      console.log(`WRONG seed ${seed} (${how}), ${text}, ${times} times`);
    }
    if (own.size === 0) return;
  } catch (e) {
    console.log(`seed ${seed} (${how}): ${(e as Error).message}`);
  }
  failed++;
  cpSync(dir, join(keep, String(seed)), { recursive: true });
}

/** What is wrong at each stop; what is said is counted. */
function judge(
  stops: readonly (readonly string[])[],
  lines: readonly string[],
  places: readonly StopPlace[],
): Wrong[][] {
  return stops.map((stop, n) => {
    const { wrong, counts } = compare(stop, lines[n]!.split(" "), places);
    for (const key of ["compared", "optimizedOut", "unknown"] as const) total[key] += counts[key];
    return wrong;
  });
}

const first = Number(values["seed"]);
const seeds = Array.from({ length: Number(values["count"]) }, (_, i) => first + i);
await mapLimit(seeds, Number(values["jobs"]), check);
rmSync(scratch, { recursive: true });
const { compared, wrong, optimizedOut, unknown, inherited } = total;
const all = compared + optimizedOut + unknown;
console.log(
  `${seeds.length} programs, ${failed} with faults: ${compared} values compared, ${wrong} wrong` +
    `${inherited > 0 ? `, ${inherited} wrong in the compiler's bitcode` : ""}; ` +
    `${((100 * compared) / all).toFixed(1)} % of what is in scope is known, ` +
    `${((100 * optimizedOut) / all).toFixed(1)} % optimised out, ${((100 * unknown) / all).toFixed(1)} % unknown`,
);
process.exitCode = failed > 0 ? 1 : 0;
