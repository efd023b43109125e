/**
 * Starts a command: from its bundle, with code that V8 compiled in an earlier run.
 *
 * A link of a small program takes less time than reading and compiling this program would. So the build joins the
 * modules of each command in one file (rolldown.config.ts), and V8's compiled code of it is kept in a cache, taken
 * at the end of a run: that has all functions which the run needed, also those that V8 compiles only when they are
 * first called. Against loading the modules one by one that saves four fifths of what a run costs beyond an empty
 * Node.
 *
 * Reading a cache takes time by the functions in it, of which a small link needs a part. So small runs have caches of
 * their own, told apart by the bytes of their inputs, and leave the engine's settings as they are: setting them loads
 * Node's streams. Of the tiniest program both are a fifth of what it costs beyond an empty Node. Others have caches by
 * their settings, of which V8 takes no other's code.
 *
 * A cache is named after the contents of its bundle, Node's version and the engine's settings; V8 itself refuses
 * what another V8, other settings or another processor made, but not what was damaged: for that the code stands in it
 * twice. Comparing the two costs a sixth of a checksum in code that V8 has not optimised, and zlib's would load Node's
 * streams. It lies beside the bundles, or where that cannot be written in the user's cache directory; it holds
 * code, so it is taken only from the user, the owner of the bundle and root. Several processes may write it, each
 * under a name of its own that is then changed. Whatever is wrong with caches, the run goes on without; whatever is
 * wrong with the bundles (not built, or older than the modules), it goes on with the modules.
 */
import fs = require("node:fs");
import path = require("node:path");
import vm = require("node:vm");
import type engine = require("./engine.cjs");

type Command = "lto" | "cc" | "ld";
type Main = (args: readonly string[], ...more: unknown[]) => Promise<number>;
type Exports = Record<string, unknown>;

/** A file of a bundle in this process. */
interface Unit {
  readonly file: string;
  readonly script: vm.Script;
  readonly module: { exports: Exports };
  /** Names of its cache: usual, and for a processor or settings that the usual name does not tell apart; or none. */
  readonly names: readonly string[];
  /** Processor time, in milliseconds, of the run that made the cache in use; 0 without one. */
  readonly effort: number;
}

const bundles = path.join(__dirname, "../bundle");
/** "tsc2", length of the code, effort: 32 bits each, little-endian; then the code, and the code again. */
const magic = 0x32637374;
const headerSize = 12;
/** Bytes beyond which a file is no cache of ours: ten times the largest. */
const largestCache = 100_000_000;
/** Bytes that are compared at a time, so that what stands twice is not twice in memory. */
const comparedAtOnce = 65_536;
/** A cache is made again when a run did so many times more than the one that made it: more functions are in use. */
const muchMore = 4;
/** Beyond this, in milliseconds, runs hardly use more functions. */
const enoughEffort = 4000;
/** Bytes of source that are compiled faster than a cache of them is looked for. */
const smallFile = 4096;
/** The same of what asks the service, of which each run needs little. */
const client = path.join(bundles, "serve");
/** Bytes of inputs below which a run is a small one. */
const smallRun = 12_000;
/** And below which it is a usual one: larger ones use more functions. */
const usualRun = 1_000_000;
/** In the user's directory, where also other versions of this program leave theirs. */
const keptFiles = 24;

/** What build tools put behind the words of a command that they keep (bin/serve/persistent-worker.ts). */
const persistent = "--persistent_worker";

const units = new Map<string, Unit>();
/** Which caches this run takes and makes. */
let size: "small" | "usual" | "large" = "large";

function key(hash: string, more = ""): string {
  const settings = [process.arch, ...process.execArgv, process.env["NODE_OPTIONS"] ?? "", more].join(" ");
  return `${hash}-${process.version}-${hashOf(settings).toString(36)}-${size}`;
}

/** FNV-1a over UTF-16 units, in 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Directories for caches, first choice first. */
function directories(): string[] {
  const { XDG_CACHE_HOME: cache, HOME: home } = process.env;
  const own = path.join(bundles, "cache");
  if (cache !== undefined && path.isAbsolute(cache)) return [own, path.join(cache, "tsc-lto")];
  return home !== undefined && path.isAbsolute(home) ? [own, path.join(home, ".cache/tsc-lto")] : [own];
}

/** The code in the first file of that name that is whole and whose owner is trusted. */
function readCache(name: string, bundleOwner: number): { code: Buffer; effort: number } | undefined {
  for (const directory of directories()) {
    let fd: number | undefined;
    try {
      const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
      fd = fs.openSync(path.join(directory, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const { uid, mode, size: fileSize } = fs.fstatSync(fd);
      if ((uid !== 0 && uid !== bundleOwner && uid !== process.getuid?.()) || (mode & 0o022) !== 0) continue;
      const header = Buffer.alloc(headerSize);
      if (fs.readSync(fd, header) < headerSize || header.readUInt32LE(0) !== magic) continue;
      const length = header.readUInt32LE(4);
      if (fileSize !== headerSize + 2 * length || fileSize > largestCache) continue;
      const code = Buffer.allocUnsafeSlow(length);
      if (fs.readSync(fd, code) < length || !goesOnWith(fd, code)) continue;
      return { code, effort: header.readUInt32LE(8) };
    } catch {
      // Not here.
    } finally {
      if (fd !== undefined) fs.closeSync(fd);
    }
  }
  return undefined;
}

/** Whether the rest of a file is these bytes. */
function goesOnWith(fd: number, bytes: Buffer): boolean {
  const part = Buffer.allocUnsafeSlow(Math.min(bytes.length, comparedAtOnce));
  for (let at = 0; at < bytes.length; ) {
    const read = fs.readSync(fd, part);
    if (read === 0 || bytes.compare(part, 0, read, at, Math.min(at + read, bytes.length)) !== 0) return false;
    at += read;
  }
  return true;
}

function writeCache(name: string, code: Buffer, effort: number): void {
  const header = Buffer.alloc(headerSize);
  [magic, code.length, effort].forEach((word, i) => {
    header.writeUInt32LE(word, 4 * i);
  });
  for (const directory of directories()) {
    const temporary = path.join(directory, `${name}.${process.pid}.new`);
    try {
      fs.mkdirSync(directory, { recursive: true, mode: directory.startsWith(bundles) ? 0o755 : 0o700 });
      const fd = fs.openSync(temporary, "wx", 0o644);
      try {
        fs.writeSync(fd, header);
        fs.writeSync(fd, code);
        fs.writeSync(fd, code);
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      fs.renameSync(temporary, path.join(directory, name));
      prune(directory);
      return;
    } catch {
      remove(temporary);
    }
  }
}

function remove(file: string): void {
  try {
    fs.unlinkSync(file); // (`rmSync` loads a module of its own.)
  } catch {
    // Not there, or not ours.
  }
}

/** Removes the oldest files of a directory of caches, those of old versions of this program among them. */
function prune(directory: string): void {
  const names = fs.readdirSync(directory);
  if (names.length <= keptFiles) return;
  const files = names.map((name) => path.join(directory, name));
  const age = new Map(
    files.map((file) => [file, fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0]),
  );
  files.sort((a, b) => age.get(b)! - age.get(a)!);
  for (const file of files.slice(keptFiles)) remove(file);
}

/** The exports of a file of a bundle. @throws what the file throws; ENOENT when it is not built */
function evaluate(file: string): Exports {
  const known = units.get(file);
  if (known !== undefined) return known.module.exports;
  const fd = fs.openSync(file, "r");
  let source: string;
  let owner: number;
  try {
    owner = fs.fstatSync(fd).uid;
    source = fs.readFileSync(fd, "latin1"); // The build leaves ASCII only.
  } finally {
    fs.closeSync(fd);
  }
  const hash = /^\/\*(\w+)\*\//.exec(source)?.[1] ?? "";
  const names = source.length < smallFile || path.dirname(file) === client ? [] : [key(hash)];
  let cache = names.length === 0 ? undefined : readCache(names[0]!, owner);
  let script = compile(source, file, cache?.code);
  if (script.cachedDataRejected === true) {
    // Another processor on the same disk, say: both keep theirs.
    names.push(key(hash, String((require("node:v8") as typeof import("node:v8")).cachedDataVersionTag())));
    cache = readCache(names[1]!, owner);
    // Under its own name V8 would give back the script that it has just compiled.
    if (cache !== undefined) script = compile(source, `${file}#`, cache.code);
    if (script.cachedDataRejected === true) cache = undefined;
  }
  const unit = { file, script, names, module: { exports: {} }, effort: cache?.effort ?? 0 };
  units.set(file, unit);
  const from = (id: string): unknown =>
    id.startsWith(".") ? evaluate(path.join(path.dirname(file), id)) : require(id);
  const body = script.runInThisContext() as (...args: unknown[]) => void;
  body.call(unit.module.exports, unit.module.exports, from, unit.module, file, path.dirname(file));
  return unit.module.exports;
}

const compile = (source: string, filename: string, cachedData: Buffer | undefined): vm.Script =>
  new vm.Script(source, cachedData === undefined ? { filename } : { filename, cachedData });

/** Keeps the compiled code of what this process has loaded, where none was there or much has been added since. */
function storeCaches(): void {
  const { user, system } = process.cpuUsage();
  const effort = Math.round((user + system) / 1000);
  for (const { script, names, effort: before } of units.values())
    if (names.length > 0 && (before === 0 || (before < enoughEffort && effort > before * muchMore)))
      writeCache(names.at(-1)!, script.createCachedData(), effort);
}

/** Whether the bundle is there and as new as the modules that a build without bundling would replace. */
function isCurrent(bundle: string, command: Command): boolean {
  if (process.env["TSC_LTO_BUNDLE"] === "no") return false;
  const of = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -1;
  const made = of(bundle);
  return made >= 0 && made >= of(path.join(__dirname, command, "main.js"));
}

/** The exports of a command's bundle (`main`, `worker`), or without one of its modules. */
async function load(command: Command): Promise<Exports> {
  const bundle = path.join(bundles, command, "bundle.cjs");
  if (isCurrent(bundle, command)) return evaluate(bundle);
  switch (command) {
    case "lto":
      return import("./lto/entry.js");
    case "cc":
      return import("./cc/entry.js");
    case "ld":
      return import("./ld/entry.js");
  }
}

/** What a worker thread of a command does with its tasks. */
async function worker(command: Command): Promise<(task: unknown) => unknown> {
  const { worker: find } = await load(command);
  const work = await (find as () => Promise<(task: unknown) => unknown>)();
  let stored = false;
  return async (task) => {
    const result = await work(task);
    if (!stored) storeCaches();
    stored = true;
    return result;
  };
}

/** Bytes of the files among the arguments, counted up to what makes a large run; others read what they do not name. */
function inputBytes(args: readonly string[]): number {
  let bytes = 0;
  for (const arg of args) {
    // Of shared libraries only symbols are read.
    if (arg.startsWith("-") || /\.so(?:\.\d+)*$/.test(arg)) continue;
    // Names of further files.
    if (arg.startsWith("@")) return usualRun;
    bytes += sizeOf(arg);
    if (bytes >= usualRun) return usualRun;
  }
  return bytes;
}

/** 0 for what is no file: an option's value, say. */
function sizeOf(file: string): number {
  try {
    return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0; // Longer than names can be.
  }
}

const mainOf = async (command: Command): Promise<Main> => (await load(command))["main"] as Main;

/** The exit code of a service that has run the command; undefined: this process does (bin/serve). */
async function answerOf(command: Command, args: readonly string[]): Promise<number | undefined> {
  const wanted = process.env["TSC_LTO_SERVER"] ?? "";
  if (wanted === "" || wanted === "off") return undefined;
  // Without bundles there is nothing that could tell one build from another.
  if (!isCurrent(path.join(bundles, command, "bundle.cjs"), command)) return undefined;
  const { ask } = evaluate(path.join(client, "bundle.cjs"));
  return (ask as (...args: unknown[]) => Promise<number | undefined>)(command, args, bundles);
}

/** Runs commands for the service that has started this process. */
async function work(): Promise<void> {
  (require("./engine.cjs") as typeof engine).apply("service");
  const { work: take } = await load("lto");
  const jobs = await (take as () => Promise<(load: typeof mainOf, loaded: () => void) => void>)();
  jobs(mainOf, storeCaches);
}

/** Runs a command for a build tool, again and again. @param args begin all its command lines */
async function persist(command: Command, args: readonly string[]): Promise<number> {
  const { persist: take } = await load("lto");
  const worker = await (take as () => Promise<(...args: unknown[]) => Promise<number>>)();
  return worker(command, args, bundles);
}

/** Runs a command with this process's arguments, and sets its exit code. */
async function run(command: Command, args: readonly string[]): Promise<void> {
  if (args.at(-1) === persistent) {
    process.exitCode = await persist(command, args.slice(0, -1));
    return;
  }
  const answered = await answerOf(command, args);
  if (answered !== undefined) {
    process.exitCode = answered;
    return;
  }
  const bytes = inputBytes(args);
  // Other commands read headers, libraries and what else is not named.
  size = bytes >= usualRun ? "large" : bytes >= smallRun || command !== "lto" ? "usual" : "small";
  if (size !== "small") (require("./engine.cjs") as typeof engine).apply(size);
  // In a small run there is nothing to collect, and looking would load a module; in a large one the engine collects by itself.
  if (size !== "usual") globalThis.gc = undefined;
  process.exitCode = await (await mainOf(command))(args);
  // Without inputs (`--help`) it used little of what small runs use.
  if (process.exitCode === 0 && bytes > 0) storeCaches();
}

if (require.main === module) {
  if (process.argv[2] === "work") void work();
  else void run(process.argv[2] as Command, process.argv.slice(3));
}

export = { run, worker };
