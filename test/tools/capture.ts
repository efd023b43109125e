/**
 * Learns how a package is built: runs its own configure and make once, with a compiler wrapper that writes down
 * every command, and turns the record into the list of compilations after each program that was linked.
 *
 * Works for packages whose make calls `$CC -c file.c` and `$CC objects… -o program`, with static libraries made by
 * ar in between. Breaks for builds that move objects after compiling or that preprocess their sources first.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { mustRun } from "./process.js";
import type { Unit } from "./toolchain.js";

export interface CapturedProgram {
  readonly units: readonly Unit[];
  readonly libs: readonly string[];
  /** Native inputs that did not come from C: objects assembled from .s files, archives not made here. */
  readonly objects: readonly string[];
}

interface Command {
  readonly cwd: string;
  readonly args: readonly string[];
}

/** The words that put the recording wrappers in the place of the compiler and the archiver. */
export interface Wrappers {
  readonly cc: string;
  readonly ar: string;
  readonly log: string;
}

/** Writes the recording wrappers into `dir`. They run `cc` and ar. */
export function makeWrappers(dir: string, cc: string): Wrappers {
  mkdirSync(dir, { recursive: true });
  const log = join(dir, "commands");
  rmSync(log, { force: true });
  const script = (kind: string, program: string) => {
    const file = join(dir, kind);
    const record = `{ printf '%s\\036' ${kind} "$PWD" "$@"; printf '\\035'; } >>"${log}"`;
    writeFileSync(file, `#!/bin/sh\n${record}\nexec ${program} "$@"\n`);
    chmodSync(file, 0o755);
    return file;
  };
  return { cc: script("cc", cc), ar: script("ar", "ar"), log };
}

/** The programs among the recorded commands: for each wanted one, its compilations. */
export function readCapture(wrappers: Wrappers, wanted: readonly string[]): Map<string, CapturedProgram> {
  const compiled = new Map<string, Unit>();
  const archives = new Map<string, string[]>();
  const programs = new Map<string, CapturedProgram>();
  for (const record of readFileSync(wrappers.log, "latin1").split("\x1d")) {
    const [kind, cwd, ...args] = record.split("\x1e").slice(0, -1);
    if (kind === undefined || cwd === undefined) continue;
    const command = { cwd, args };
    if (kind === "ar") recordArchive(command, archives);
    else if (args.includes("-c")) recordCompilation(command, compiled);
    else {
      const out = optionValue(args, "-o") ?? "a.out";
      const name = out.split("/").at(-1)!;
      if (wanted.includes(name)) programs.set(name, resolveLink(command, compiled, archives));
    }
  }
  for (const w of wanted) if (!programs.has(w)) throw new Error(`the build did not link ${w}`);
  return programs;
}

function optionValue(args: readonly string[], option: string): string | undefined {
  const at = args.indexOf(option);
  if (at >= 0) return args[at + 1];
  return args.find((a) => a.startsWith(option) && a.length > option.length)?.slice(option.length);
}

function recordArchive(c: Command, archives: Map<string, string[]>): void {
  const [, archive, ...members] = c.args;
  if (archive === undefined) return;
  const key = resolve(c.cwd, archive);
  archives.set(key, [...(archives.get(key) ?? []), ...members.map((m) => resolve(c.cwd, m))]);
}

const optionsWithValue = new Set([
  "-I",
  "-D",
  "-U",
  "-include",
  "-isystem",
  "-idirafter",
  "-iquote",
  "-x",
  "-std",
]);
/** Options that belong to one output file, to levels of optimization, debugging or diagnostics, or to linking. */
const dropped =
  /^-(c|O.*|g.*|W.*|M.*|pipe|pedantic.*|s|fPIC|fpic|fPIE|fpie|fno-pie|flto.*|L.*|l.*|pie|no-pie|rdynamic|fstack-.*|fcf-.*|Q.*)$/;

function recordCompilation(c: Command, compiled: Map<string, Unit>): void {
  const flags: string[] = [];
  let source: string | undefined;
  let object = optionValue(c.args, "-o");
  for (let i = 0; i < c.args.length; i++) {
    const a = c.args[i]!;
    if (a === "-o" || a === "-MF" || a === "-MT" || a === "-MQ") i++;
    else if (optionsWithValue.has(a)) flags.push(a, c.args[++i]!);
    else if (/\.(c|s|S)$/.test(a) && !a.startsWith("-")) source = a;
    else if (a.startsWith("-") && !dropped.test(a)) flags.push(a);
  }
  if (source === undefined) return;
  object ??= source
    .split("/")
    .at(-1)!
    .replace(/\.(c|s|S)$/, ".o");
  compiled.set(resolve(c.cwd, object), {
    source: isAbsolute(source) ? source : resolve(c.cwd, source),
    cwd: c.cwd,
    flags: [...flags, "-w"],
  });
}

function resolveLink(
  c: Command,
  compiled: ReadonlyMap<string, Unit>,
  archives: ReadonlyMap<string, readonly string[]>,
): CapturedProgram {
  const units: Unit[] = [];
  const objects: string[] = [];
  const libs: string[] = [];
  const link = new LazyLink();
  for (let i = 0; i < c.args.length; i++) {
    const a = c.args[i]!;
    const file = resolve(c.cwd, a);
    if (a === "-o") i++;
    else if (/^-l/.test(a)) libs.push(a);
    else if (a === "-pthread")
      libs.push("-lpthread"); // ld knows no other
    else if (/^-L/.test(a)) libs.push(`-L${resolve(c.cwd, a.slice(2))}`);
    else if (/\.(o|lo)$/.test(a)) link.addObject(file);
    else if (archives.has(file)) link.addArchive(archives.get(file)!);
    else if (a.endsWith(".a")) objects.push(file);
    else if (a.endsWith(".c")) units.push(singleStep(c, a));
  }
  for (const object of link.objects) {
    const unit = compiled.get(object);
    if (unit?.source.endsWith(".c")) units.push(unit);
    else if (existsSync(object)) objects.push(object);
  }
  return { units, libs, objects };
}

/**
 * Which members a linker takes from archives: those that define a symbol still undefined. Read from the native
 * objects that the recorded build left, with nm.
 */
class LazyLink {
  readonly objects: string[] = [];
  private readonly defined = new Set<string>();
  private readonly wanted = new Set<string>();

  addObject(file: string): void {
    if (this.objects.includes(file)) return;
    this.objects.push(file);
    const { defined, undefined: wanted } = symbolsOf(file);
    for (const s of defined) this.defined.add(s);
    for (const s of wanted) this.wanted.add(s);
  }

  addArchive(members: readonly string[]): void {
    const tables = members.map((m) => [m, symbolsOf(m).defined] as const);
    for (let changed = true; changed; ) {
      changed = false;
      for (const [member, defined] of tables) {
        if (this.objects.includes(member)) continue;
        if (!defined.some((s) => this.wanted.has(s) && !this.defined.has(s))) continue;
        this.addObject(member);
        changed = true;
      }
    }
  }
}

function symbolsOf(object: string): { defined: string[]; undefined: string[] } {
  const text = execFileSync("nm", ["-g", "--format=posix", object], { encoding: "utf8" });
  const symbols = { defined: [] as string[], undefined: [] as string[] };
  for (const line of text.split("\n")) {
    const [name, kind] = line.split(" ");
    if (name === undefined || kind === undefined) continue;
    if (kind === "U") symbols.undefined.push(name);
    else if (!/[vw]/.test(kind)) symbols.defined.push(name);
  }
  return symbols;
}

/** A source compiled and linked in one command. */
function singleStep(c: Command, source: string): Unit {
  const flags: string[] = [];
  for (let i = 0; i < c.args.length; i++) {
    const a = c.args[i]!;
    if (a === "-o") i++;
    else if (optionsWithValue.has(a)) flags.push(a, c.args[++i]!);
    else if (a.startsWith("-") && !dropped.test(a)) flags.push(a);
  }
  return { source: resolve(c.cwd, source), cwd: c.cwd, flags: [...flags, "-w"] };
}

/** Runs the build in `dir` with shell commands that may use $CC and $AR. */
export async function runBuild(dir: string, script: string, wrappers: Wrappers): Promise<void> {
  // Unpacking leaves time stamps that make automake's rules believe their outputs to be old: those are not remade.
  const tools = "ACLOCAL=: AUTOMAKE=: AUTOCONF=: AUTOHEADER=: MAKEINFO=:";
  await mustRun(["sh", "-e", "-c", script], {
    cwd: dir,
    env: { CC: wrappers.cc, AR: wrappers.ar, CFLAGS: "-O0 -w", LC_ALL: "C", V: "1", MAKEFLAGS: tools },
    timeoutMs: 1_200_000,
  });
}
