/**
 * `npm run reduce -- FILE.c [-Oz]`: makes a failing C program smaller while it keeps failing in the same way.
 *
 * Method: delta debugging over lines and over brace-balanced chunks (a function, a block, an initialiser), then over
 * call arguments and statements inside lines; each candidate has to compile with clang without warnings that betray
 * undefined behaviour, behave the same at clang -O0, -O1 and -O2 and under the undefined-behaviour sanitizer, and
 * differ with the tool under test. O(n log n) candidates in good cases; a candidate costs about half a second.
 * Random programs are preprocessed first, so that the headers' macros shrink with the rest.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fastToolchain } from "./in-process.js";
import { parseCommandLine, rawOption } from "./options.js";
import { mapLimit, mustRun, run } from "./process.js";
import type { Toolchain } from "./toolchain.js";
import { systemClang, toolchain } from "./toolchain.js";

const usage = `usage: npm run reduce -- FILE.c [-Oz] [options]
  --message S    keep a failure of the tool whose message has this text, instead of a wrong output
  --include DIR  for headers (default /usr/include/csmith)
  --out FILE     where the result goes (default: FILE.reduced.c)
  --no-check     do not require that the program is free of undefined behaviour
  --tool NAME, --jobs N, --raw, --no-pie, --flags="…" as for the other tools`;

const { values, words, levels, ltoFlags } = parseCommandLine(
  {
    message: { type: "string" },
    include: { type: "string", default: "/usr/include/csmith" },
    "no-check": { type: "boolean", default: false },
    levels: { type: "string", default: "Oz" },
    ...rawOption,
  },
  usage,
);
const file = words[0];
if (file === undefined) {
  console.error(usage);
  process.exit(2);
}
const level = levels[0]!;
const jobs = Number(values["jobs"]);
const pie = !values["no-pie"];
const message = values["message"] === undefined ? undefined : String(values["message"]);
const tool = await fastToolchain(String(values["tool"]), jobs, ltoFlags, values["raw"] === true);
const clang = toolchain("clang");
const scratch = mkdtempSync(join(tmpdir(), "reduce-"));
/** Warnings that accompany the commonest ways in which deleting lines makes behaviour undefined. */
const strict = [
  "-w",
  "-Werror=uninitialized",
  "-Werror=return-type",
  "-Werror=int-conversion",
  "-Werror=implicit-function-declaration",
  "-Werror=incompatible-pointer-types",
  "-Werror=array-bounds",
];
let counter = 0;

async function output(
  source: string,
  with_: Toolchain,
  at: string,
  dir: string,
  flags: readonly string[],
): Promise<string> {
  const exe = join(dir, `${with_.name}-${at}`.replace(/\W+/g, "_"));
  const job = {
    units: [{ source, flags }],
    level: at,
    libs: ["-lm"],
    exe,
    dir: `${exe}.build`,
    pie,
    timeoutMs: 30_000,
  };
  const build = await with_.build(job);
  if (build.failed !== undefined) return `!${build.message}`;
  const r = await run([exe], { cwd: dir, timeoutMs: 3000, sandbox: true });
  return r.timedOut ? "!timed out" : `${r.status} ${r.stdout.toString("latin1")}`;
}

/** Whether the text still shows the failure. */
async function interesting(text: string): Promise<boolean> {
  const dir = join(scratch, String(counter++));
  mkdirSync(dir);
  const source = join(dir, "t.c");
  writeFileSync(source, text);
  try {
    if (message !== undefined) {
      const got = await output(source, tool, level, dir, ["-w"]);
      return got.startsWith("!") && got.includes(message);
    }
    const expected = await output(source, clang, "O0", dir, strict);
    if (expected.startsWith("!") || Number(expected.split(" ")[0]) >= 128) return false;
    const got = await output(source, tool, level, dir, ["-w"]);
    if (got === expected || got.startsWith("!/")) return false;
    if (values["no-check"]) return true;
    for (const at of ["O1", "O2"]) {
      if ((await output(source, clang, at, dir, ["-w", "-Wno-everything"])) !== expected) return false;
    }
    const sanitizer = [
      "-w",
      "-fsanitize=undefined,bounds",
      "-fno-sanitize=alignment",
      "-fno-sanitize-recover=all",
    ];
    const exe = join(dir, "sanitized");
    const built = await run([systemClang(), "-O0", ...sanitizer, source, "-o", exe, "-lm"]);
    if (built.status !== 0) return true; // no sanitizer runtime here
    const r = await run([exe], { cwd: dir, timeoutMs: 5000 });
    return `${r.status} ${r.stdout.toString("latin1")}` === expected;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Tries the candidates in turn, `jobs` at a time; the first interesting one, or undefined. */
async function firstInteresting(candidates: readonly string[]): Promise<string | undefined> {
  for (let at = 0; at < candidates.length; at += jobs) {
    const group = candidates.slice(at, at + jobs);
    const results = await mapLimit(group, jobs, interesting);
    const hit = results.indexOf(true);
    if (hit >= 0) return group[hit];
  }
  return undefined;
}

/** Removes runs of lines, long ones first. */
async function reduceLines(text: string): Promise<string> {
  let lines = text.split("\n");
  let shown = lines.length;
  for (let size = Math.floor(lines.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < lines.length; ) {
      const starts = Array.from({ length: jobs }, (_, k) => at + k * size).filter((s) => s < lines.length);
      const results = await mapLimit(starts, jobs, (s) =>
        interesting([...lines.slice(0, s), ...lines.slice(s + size)].join("\n")),
      );
      const hit = results.indexOf(true);
      if (hit < 0) at += jobs * size;
      else {
        at = starts[hit]!;
        lines = [...lines.slice(0, at), ...lines.slice(at + size)];
        if (lines.length < shown * 0.8) console.error(`${(shown = lines.length)} lines`);
      }
    }
  }
  return lines.join("\n");
}

/** For each `{`: candidates without the whole chunk from its line on, and with the braces' content alone. */
async function reduceBraces(text: string): Promise<string> {
  for (let from = 0; ; ) {
    const open = text.indexOf("{", from);
    if (open < 0) return text;
    const close = matching(text, open);
    from = open + 1;
    if (close < 0) continue;
    const line = text.lastIndexOf("\n", open) + 1;
    const semicolon = text[close + 1] === ";" ? 1 : 0;
    const candidates = [
      text.slice(0, line) + text.slice(close + 1 + semicolon),
      text.slice(0, line) + text.slice(open + 1, close) + text.slice(close + 1),
      `${text.slice(0, open)};${text.slice(close + 1)}`,
      `${text.slice(0, open + 1)}${text.slice(close)}`,
    ].filter((c) => c.length < text.length);
    const better = await firstInteresting(candidates);
    if (better !== undefined) {
      text = better;
      from = line;
    }
  }
}

/** For each `(`: candidates with the parenthesised expression replaced by something smaller. */
async function reduceExpressions(text: string): Promise<string> {
  for (let from = 0; ; ) {
    const open = text.indexOf("(", from);
    if (open < 0) return text;
    from = open + 1;
    const close = matching(text, open);
    if (close < 0 || close === open + 1) continue;
    const [before, inner, after] = [text.slice(0, open), text.slice(open + 1, close), text.slice(close + 1)];
    const callee = /[A-Za-z_]\w*\s*$/.exec(before)?.[0] ?? "";
    const short = before.slice(0, before.length - callee.length);
    const parts = splitTop(inner);
    const candidates = [`${short}0${after}`, `${short}1${after}`, `${before}(0)${after}`];
    if (callee !== "") candidates.push(...parts.map((p) => `${short}(${p})${after}`));
    for (const operand of operands(inner)) candidates.push(`${before}(${operand})${after}`);
    const better = await firstInteresting(candidates.filter((c) => c.length < text.length));
    if (better !== undefined) {
      text = better;
      from = short.length;
    }
  }
}

function matching(text: string, open: number): number {
  const pairs: Record<string, string> = { "(": ")", "{": "}", "[": "]" };
  const [a, b] = [text[open]!, pairs[text[open]!]!];
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === a) depth++;
    else if (text[i] === b && --depth === 0) return i;
  }
  return -1;
}

/** The parts of an argument list. */
function splitTop(text: string): string[] {
  return splitAt(text, (c) => c === ",");
}

/** The operands of the outermost operators of an expression. */
function operands(text: string): string[] {
  const parts = splitAt(text, (c) => "+-*/%&|^<>=?:,!".includes(c)).map((p) => p.trim());
  return parts.length < 2 ? [] : parts.filter((p) => p !== "");
}

function splitAt(text: string, separates: (c: string) => boolean): string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if ("([{".includes(c)) depth++;
    else if (")]}".includes(c)) depth--;
    else if (depth === 0 && separates(c)) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

let text = readFileSync(file, "utf8");
if (!(await interesting(text))) {
  const preprocessed = await mustRun([
    systemClang(),
    "-E",
    "-P",
    "-w",
    `-I${String(values["include"])}`,
    file,
  ]);
  text = preprocessed.stdout.toString("utf8");
  if (!(await interesting(text))) {
    console.error("the program does not fail, or is not well defined");
    process.exit(1);
  }
}
for (let before = ""; before !== text; ) {
  before = text;
  for (const pass of [reduceLines, reduceBraces, reduceExpressions]) {
    text = await pass(text);
    console.error(`${pass.name}: ${text.length} bytes`);
  }
}
const out = String(values["out"] ?? file.replace(/(\.c)?$/, ".reduced.c"));
writeFileSync(out, text);
rmSync(scratch, { recursive: true, force: true });
console.log(out);
await tool.close();
