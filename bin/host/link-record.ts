/**
 * Records of link steps, so that `tsc-lto measure` can do a build's own link again with other settings. With
 * TSC_LTO_RECORD=DIR in the environment, `tsc-cc` and `ld.tsc-lto` leave a folder in DIR for each program that they link:
 * `record.json`, and copies of the files that do not outlive the link.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "./host.js";
import { reasonOf } from "./system-errors.js";

const recordVersion = 1;
const recordName = "record.json";

export interface LinkRecord {
  readonly version: number;
  /** Words for `tsc-lto` without an output; paths are absolute. */
  readonly optimise: readonly string[];
  /**
   * The program that links what is native, and its words; paths are absolute but for what is looked up. Without machine code of
   * modules that `tsc-lto` does not compile: that is made again.
   */
  readonly linker: string;
  readonly link: readonly string[];
  /** How these words name the program's part that `tsc-lto` made: assembly, or if `assembled` an object. */
  readonly part: string;
  readonly assembled: boolean;
  /** How they name the output. */
  readonly output: string;
}

/** What a link step knows of itself. */
export interface LinkStep extends Omit<LinkRecord, "version"> {
  /** Those words of `link` that are machine code of modules which `tsc-lto` does not compile. */
  readonly nativeModules: readonly string[];
}

/** Records a link where the environment asks for it. @throws InputError when it cannot be written */
export function recordLink(step: LinkStep, host: Host): void {
  const directory = host.env["TSC_LTO_RECORD"] ?? "";
  if (directory === "") return;
  try {
    const folder = newFolder(resolve(host.cwd, directory), basename(step.output));
    const keeper = new Keeper(folder, host.cwd, step.part, step.output);
    const record: LinkRecord = {
      version: recordVersion,
      optimise: step.optimise.map((word) => keeper.word(word)),
      linker: step.linker,
      link: step.link.filter((word) => !step.nativeModules.includes(word)).map((word) => keeper.word(word)),
      part: step.part,
      assembled: step.assembled,
      output: step.output,
    };
    writeFileSync(join(folder, recordName), `${JSON.stringify(record, null, 1)}\n`);
  } catch (e) {
    throw new InputError(`cannot record the link in ${directory}: ${reasonOf(e)}`);
  }
}

function newFolder(directory: string, name: string): string {
  for (let n = 1; ; n++) {
    const folder = join(directory, n === 1 ? name : `${name}-${n}`);
    if (existsSync(folder)) continue;
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

/** Makes words last: paths become absolute, files in the system's folder for temporary ones are copied. */
class Keeper {
  private readonly copies = new Map<string, string>();
  private readonly temporary = [tmpdir(), "/tmp"].map((path) => `${realpathSync(path)}/`);

  constructor(
    private readonly folder: string,
    private readonly cwd: string,
    private readonly part: string,
    private readonly output: string,
  ) {}

  word(word: string): string {
    if (word === this.part || word === this.output) return word;
    const [, option, value] = /^(--?[A-Za-z][\w-]*=|-L)(.+)$/s.exec(word) ?? [];
    if (option !== undefined) return `${option}${this.path(value!)}`;
    return word.startsWith("-") ? word : this.path(word);
  }

  private path(path: string): string {
    const absolute = resolve(this.cwd, path);
    if (!existsSync(absolute)) return path;
    const isPassing =
      statSync(absolute).isFile() &&
      this.temporary.some((prefix) => realpathSync(absolute).startsWith(prefix));
    if (!isPassing || !isOfDriver(absolute)) return absolute;
    let copy = this.copies.get(absolute);
    if (copy === undefined) {
      copy = join(this.folder, `${this.copies.size}-${basename(absolute)}`);
      copyFileSync(absolute, copy);
      this.copies.set(absolute, copy);
    }
    return copy;
  }
}

/** Names of files that drivers make for a single link: their own folders of tsc-cc, and `x-1a2b3c.o` of clang, `ccAbC123.o` of gcc. */
const isOfDriver = (path: string): boolean =>
  /\/(?:tsc-cc|ld\.tsc-lto)-[^/]*\//.test(path) || /\/(?:[^/]*-[\da-f]{6}|cc\w{6})\.(?:o|res)$/.test(path);

/** @param path a record, or the folder that has it @throws InputError */
export function readRecord(path: string): LinkRecord {
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, recordName) : path;
  let record: Partial<LinkRecord>;
  try {
    record = JSON.parse(readFileSync(file, "utf8")) as Partial<LinkRecord>;
  } catch (e) {
    throw new InputError(`cannot read the record of a link: ${(e as Error).message}`, file);
  }
  const { version, optimise, link, linker, part, output } = record;
  if (version !== recordVersion) throw new InputError(`record of version ${version}; this is for 1`, file);
  if (!Array.isArray(optimise) || !Array.isArray(link) || linker === undefined)
    throw new InputError("malformed record of a link", file);
  if (part === undefined || output === undefined) throw new InputError("malformed record of a link", file);
  return record as LinkRecord;
}

/** Whether a word names a record. */
export const isRecord = (path: string): boolean =>
  existsSync(path) && (basename(path) === recordName || existsSync(join(path, recordName)));
