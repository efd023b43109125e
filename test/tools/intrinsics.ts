/**
 * `npm run intrinsics -- [header.h …]`: compiles every function of clang's headers of x86 intrinsics, each alone, and tells which are
 * refused, and why. `--run`: those of the headers that are named are also run, and compared with clang's. `--compare`: the instructions
 * of their code and the operands of these are compared with clang's, where no machine is there to run them.
 *
 * clang makes IR of a program with a function for each (`header-functions.ts`); what it rejects itself is left out. Each function of
 * that IR is then a module of its own for tsc-lto.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type Caller, callersOf, headerFunctions, programHead, programMain } from "./header-functions.js";
import { type ThreadPool, threadPool } from "./in-process.js";
import { mapLimit, run } from "./process.js";
import { storesOf } from "./symbolic.js";

/** A function that may use more features. */
const withFeatures = (text: string, features: string): string =>
  text.startsWith("__attribute__")
    ? text.replace('target("', `target("${features},`)
    : `__attribute__((target("${features}"))) ${text}`;

/** Where clang has its headers. */
export async function headerFolder(clang: string): Promise<string> {
  const { stdout } = await run([clang, "-print-resource-dir"]);
  return join(stdout.toString("utf8").trim(), "include");
}

/** Headers of x86 that a program may include, by way of others. */
const headersOf = (folder: string): string[] =>
  readdirSync(folder).filter(
    (name) =>
      name.endsWith("intrin.h") &&
      !/^(?:arm|amdgpu|gpu|nvptx|spirv|s390|htm|htmxl|lasx|lsx|vec|larch|hexagon|riscv)/.test(name) &&
      readFileSync(join(folder, name), "utf8").includes("__inline"),
  );

const heads = new Map<string, Promise<readonly string[]>>();

/** Options with which clang has read the program's head before: that takes most of the time that a program does. */
function withHead(clang: string, flags: readonly string[], dir: string): Promise<readonly string[]> {
  const key = [clang, dir, ...flags].join(" ");
  let options = heads.get(key);
  if (options === undefined)
    heads.set(key, (options = readHead(clang, flags, join(dir, `head${heads.size}`))));
  return options;
}

async function readHead(clang: string, flags: readonly string[], name: string): Promise<readonly string[]> {
  writeFileSync(`${name}.h`, programHead);
  const options = ["-w", "-O1", ...flags];
  const { status, stderr } = await run([
    clang,
    ...options,
    "-x",
    "c-header",
    `${name}.h`,
    "-o",
    `${name}.pch`,
  ]);
  if (status !== 0) throw new Error(stderr);
  return [...options, "-include-pch", `${name}.pch`];
}

/** The callers that clang accepts, and their program without `main`. */
export async function accepted(
  clang: string,
  callers: readonly Caller[],
  flags: readonly string[],
  dir: string,
): Promise<readonly Caller[]> {
  let left = [...callers];
  const given = new Set<string>();
  const options = await withHead(clang, flags, dir);
  // Of those of one kind clang tells one a turn; each turn leaves fewer, or gives one its features.
  for (let turn = 0; turn < 500; turn++) {
    const file = join(dir, "all.c");
    writeFileSync(file, left.map((c) => `${c.text}\n`).join(""));
    const command = [
      clang,
      ...options,
      "-ferror-limit=0",
      // Its pictures of macros are longer than what is read of its messages.
      "-fno-caret-diagnostics",
      "-fmacro-backtrace-limit=1",
      "-S",
      "-emit-llvm",
      file,
      "-o",
      join(dir, "all.ll"),
    ];
    const { status, stderr } = await run(command);
    if (status === 0) return left;
    const wrong = new Set(
      [...stderr.matchAll(/all\.c:(\d+):\d+: error: ([^\n]*)/g)].map((m) => Number(m[1]) - 1),
    );
    const asVoid = new Set(
      [
        ...stderr.matchAll(
          /all\.c:(\d+):\d+: error: [^\n]*(?:incomplete type 'void'|with an expression of incompatible type 'void')/g,
        ),
      ].map((m) => Number(m[1]) - 1),
    );
    const needs = new Map(
      [...stderr.matchAll(/all\.c:(\d+):\d+: error: '\w+' needs target feature ([\w.,-]+)/g)].map((m) => [
        Number(m[1]) - 1,
        m[2]!,
      ]),
    );
    left = left.flatMap((caller, i) => {
      const features = needs.get(i);
      // Macros have no features of their own in headers.
      if (features !== undefined && !given.has(caller.symbol)) {
        given.add(caller.symbol);
        return [{ ...caller, text: withFeatures(caller.text, features) }];
      }
      if (asVoid.has(i) && !caller.isVoid)
        return [
          { ...caller, isVoid: true, text: caller.text.replace(/__typeof__\((.*)\) r = \1;.*$/, "$1; }") },
        ];
      return wrong.has(i) ? [] : [caller];
    });
    if (wrong.size === 0) throw new Error(stderr);
  }
  throw new Error("clang goes on to reject the program");
}

/** Each function of a module in LLVM assembly as a module of its own. */
function alone(text: string): Map<string, string> {
  const bodies = new Map<string, string>();
  const rest = text
    .replace(/^; Function Attrs.*\n/gm, "")
    .replace(/^define [^@]*@(\w+)\([\s\S]*?^}\n/gm, (body, name: string) => {
      bodies.set(name, body);
      return "";
    });
  const lines = rest.split("\n").filter((line) => line !== "" && !line.startsWith("; "));
  const declarations = lines.filter((line) => line.startsWith("declare"));
  const globals = lines.filter((line) => line.startsWith("@"));
  const others = lines.filter((line) => !line.startsWith("declare") && !line.startsWith("@"));
  const uses = (body: string) => (line: string) => {
    const name = /@[\w.$]+/.exec(line)![0];
    return body.includes(`${name}(`) || body.includes(`${name},`) || body.includes(`${name} `);
  };
  const modules = new Map<string, string>();
  for (const [name, body] of bodies)
    modules.set(
      name,
      [...others, ...globals.filter(uses(body)), ...declarations.filter(uses(body)), body].join("\n"),
    );
  return modules;
}

/** Why a module is refused; null if it is not. */
async function refusal(
  pool: Pick<ThreadPool, "execute">,
  text: string,
  dir: string,
  name: string,
): Promise<string | null> {
  const file = join(dir, `${name}.ll`);
  writeFileSync(file, text);
  const { status, stderr } = await pool.execute(
    ["tsc-lto", "-r", "-j1", file, "-o", join(dir, `${name}.s`)],
    { cwd: dir },
  );
  if (status === 0) {
    const made = await run(["as", join(dir, `${name}.s`), "-o", "/dev/null"]);
    return made.status === 0 ? null : `assembler: ${made.stderr.split("\n")[1] ?? ""}`;
  }
  return (
    /error: (?:[^\n]*?: )?(?:unsupported: )?([^\n]*)/.exec(stderr)?.[1]?.replace(/ \(in .*/, "") ??
    stderr.slice(0, 200)
  );
}

/**
 * Which functions of a module are refused, each alone, and why; none where the whole is accepted.
 * @param symbols all that are looked at
 */
export async function refusals(
  pool: Pick<ThreadPool, "execute">,
  text: string,
  dir: string,
  symbols: readonly string[],
): Promise<string[]> {
  const whole = await refusal(pool, text, dir, "whole");
  if (whole === null) return [];
  const modules = alone(text);
  const refused: string[] = [];
  for (const symbol of symbols) {
    const why = await refusal(pool, modules.get(symbol)!, dir, symbol);
    if (why !== null) refused.push(`${symbol}: ${why}`);
  }
  return refused.length > 0 ? refused : [`together: ${whole}`];
}

/** Lines in which two outputs differ, by function. */
function differing(ours: string, theirs: string): Map<string, string> {
  const found = new Map<string, string>();
  const [a, b] = [ours.split("\n"), theirs.split("\n")];
  for (let i = 0; i < Math.max(a.length, b.length); i++)
    if (a[i] !== b[i]) found.set(/^\S*/.exec(b[i] ?? a[i]!)![0], `ours ${a[i]}\nclang's ${b[i]}`);
  return found;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      clang: { type: "string", default: process.env["CLANG"] ?? "clang-22" },
      flags: { type: "string", default: "" },
      level: { type: "string", default: "O2" },
      run: { type: "boolean", default: false },
      compare: { type: "boolean", default: false },
      all: { type: "boolean", default: false },
      jobs: { type: "string", short: "j", default: "2" },
    },
    allowPositionals: true,
  });
  const { clang } = values;
  const folder = await headerFolder(clang);
  const flags = values.flags.split(" ").filter((flag) => flag !== "");
  const pool = threadPool(Number(values.jobs));
  const reasons = new Map<string, Set<string>>();
  let tried = 0;
  let refused = 0;
  for (const header of positionals.length > 0 ? positionals : headersOf(folder)) {
    const dir = mkdtempSync(join(tmpdir(), "intrinsics-"));
    const functions = headerFunctions(folder, header);
    const callers = await accepted(clang, functions.flatMap(callersOf), flags, dir);
    const bad = new Map<string, string>();
    // The immediate seldom matters: one of each function, unless all are asked for.
    const chosen = callers.filter((c, i) => values.all || callers[i - 1]?.of.name !== c.of.name);
    const text = readFileSync(join(dir, "all.ll"), "utf8");
    const modules = alone(text);
    // What is accepted together is accepted alone.
    if ((await refusal(pool, text, dir, "whole")) !== null)
      await mapLimit(chosen, Number(values.jobs), async ({ symbol, of }) => {
        const why = await refusal(pool, modules.get(symbol)!, dir, symbol);
        if (why !== null) bad.set(of.name, why);
      });
    const names = new Set(chosen.map(({ of }) => of.name));
    tried += names.size;
    refused += bad.size;
    console.log(`${header}: ${functions.length} functions, ${names.size} tried, ${bad.size} refused`);
    for (const [name, why] of bad) reasons.set(why, (reasons.get(why) ?? new Set()).add(name));
    if (values.run) {
      const good = callers.filter(({ of }) => !bad.has(of.name));
      for (const [name, how] of await compareWithClang(clang, good, flags, values.level, pool, dir))
        console.log(`  DIFFERS ${name}\n${how}`);
    }
    if (values.compare)
      for (const [name, how] of await otherInstructions(clang, pool, dir))
        console.log(`  OTHER ${name}\n${how}`);
    rmSync(dir, { recursive: true });
  }
  for (const [why, names] of [...reasons].sort()) console.log(`${why}: ${[...names].slice(0, 6).join(" ")}`);
  console.log(`${tried} functions, ${refused} refused`);
  await pool.close();
}

/**
 * Functions of the IR that `accepted` left whose stores are others than those of clang's code, and both; those that call an
 * intrinsic of the machine. `all`: what was said where one of them is refused.
 */
export async function otherInstructions(
  clang: string,
  pool: Pick<ThreadPool, "execute">,
  dir: string,
): Promise<Map<string, string>> {
  const [ir, assembly, ours, theirs] = ["all.ll", "ours.s", "ours.o", "theirs.o"].map((name) =>
    join(dir, name),
  ) as [string, string, string, string];
  const bodies = alone(readFileSync(ir, "utf8"));
  const found = new Map<string, string>();
  const made = await pool.execute(["tsc-lto", "-r", "-j1", ir, "-o", assembly], { cwd: dir });
  if (made.status !== 0) return found.set("all", made.stderr);
  for (const command of [
    ["as", assembly, "-o", ours],
    [clang, "-w", "-O2", "-c", ir, "-o", theirs],
  ]) {
    const { status, stderr } = await run(command);
    if (status !== 0) throw new Error(stderr);
  }
  const objdump = clang.replace(/clang(?=[^/]*$)/, "llvm-objdump");
  const [mine, others] = await Promise.all([storesOf(ours, objdump), storesOf(theirs, objdump)]);
  for (const [name, stores] of others) {
    // What is IR that each compiler lowers as it likes has no single form.
    if (!bodies.get(name)?.includes("@llvm.x86.")) continue;
    const own = mine.get(name)?.join("\n");
    if (own !== stores.join("\n")) found.set(name, `ours ${own}\nclang's ${stores.join("\n")}`);
  }
  return found;
}

/** Runs the callers as compiled by clang and by us, and tells which differ. */
export async function compareWithClang(
  clang: string,
  callers: readonly Caller[],
  flags: readonly string[],
  level: string,
  pool: Pick<ThreadPool, "execute">,
  dir: string,
): Promise<Map<string, string>> {
  const source = join(dir, "run.c");
  const options = await withHead(clang, flags, dir);
  writeFileSync(
    source,
    callers.map((c) => `__attribute__((noinline)) ${c.text}\n`).join("") + programMain(callers, 8),
  );
  const exe = join(dir, "theirs");
  // Of what clang does with the same IR, instructions alone.
  const made = await run([clang, ...options, source, "-o", exe]);
  if (made.status !== 0) throw new Error(made.stderr);
  const bitcode = join(dir, "run.bc");
  const compiled = await run([clang, ...options, "-c", "-emit-llvm", source, "-o", bitcode]);
  if (compiled.status !== 0) throw new Error(compiled.stderr);
  const assembly = join(dir, "run.s");
  const ours = await pool.execute(
    ["tsc-lto", `-${level}`, "-j1", "--check-regalloc", "--verify", bitcode, "-o", assembly],
    { cwd: dir },
  );
  if (ours.status !== 0) throw new Error(ours.stderr);
  const linked = await run(["cc", assembly, "-o", join(dir, "ours")]);
  if (linked.status !== 0) throw new Error(linked.stderr);
  const [a, b] = await Promise.all([run([join(dir, "ours")]), run([exe])]);
  const found = differing(a.stdout.toString(), b.stdout.toString());
  if (a.status !== b.status) found.set("status", `ours ${a.status}, clang's ${b.status}`);
  return found;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
