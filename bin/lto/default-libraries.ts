/**
 * The libraries that `cc` and `c++` link programs with although nobody names them. The command does not see that link,
 * so it looks at what these libraries mention, as a linker would, and leaves that open.
 *
 * They are looked for where linkers and the dynamic linker look, without asking a compiler, whose start takes longer
 * than many a link; and where nothing is there (a system that keeps its libraries elsewhere), those that this process
 * runs with are taken. Without any, the standards say which names they have. Tables are read when the first name is
 * asked for.
 */
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { archiveIndex } from "../../formats/archive.js";
import { DynamicSymbols, type HashedName, hashedName, type ReadAt } from "../../formats/dynamic-symbols.js";
import { InputError } from "../../lto/ir/errors.js";
import { isReplaceable, type Mention, standardMention } from "../../lto/link/index.js";
import type { Operand } from "./operands.js";

/** In the order of GNU ld and ld.so; a file for another machine is passed over. */
const directories = [
  "/lib/x86_64-linux-gnu",
  "/usr/lib/x86_64-linux-gnu",
  "/lib64",
  "/usr/lib64",
  "/lib",
  "/usr/lib",
];

/** Shared libraries by their run-time names, of which the first that is there counts. */
const shared = {
  c: ["libc.so.6", "libc.musl-x86_64.so.1"],
  m: ["libm.so.6"],
  gcc: ["libgcc_s.so.1"],
  stdcxx: ["libstdc++.so.6"],
  libcxx: ["libc++.so.1"],
  libcxxabi: ["libc++abi.so.1"],
} as const;
/** Parts of the C library before glibc 2.34, and since then empty. */
const formerParts = ["libpthread.so.0", "libdl.so.2", "librt.so.1"];
const staticC = "libc.a";

export interface LibraryParts {
  readonly c: boolean;
  readonly cxx: boolean;
}

/** What a program is linked with besides its inputs. */
export class DefaultLibraries {
  private readonly tables = new Map<string, DynamicSymbols | null>();
  private former: readonly (DynamicSymbols | null)[] | null = null;
  private index: string | null = null;

  /**
   * @param parts which of them a program is linked with; the compiler's own library always is
   * @param folders where they are looked for
   */
  constructor(
    private readonly parts: LibraryParts = { c: true, cxx: true },
    private readonly folders: readonly string[] = directories,
  ) {}

  /** How one of them, or any other of their kind, mentions a name. */
  mention(name: string): Mention {
    if (isReplaceable(name)) return "undefined";
    return name.startsWith("_Z") ? this.cxxMention(name) : this.cMention(name);
  }

  /** Tells apart what questions may be answered from: paths, sizes and times of change. */
  identity(): string {
    const names = [...Object.values(shared).flat(), ...formerParts, staticC];
    return names
      .map((name) => {
        const path = this.find(name, () => true);
        const stat = path === null ? undefined : fs.statSync(path, { throwIfNoEntry: false });
        return stat === undefined ? "" : `${path} ${stat.size} ${stat.mtimeMs}`;
      })
      .join("\n");
  }

  private cMention(name: string): Mention {
    const hashed = hashedName(name);
    const isReserved = name.startsWith("_");
    if (!this.parts.c) return this.mentionBeside(hashed);
    const c = this.table(shared.c);
    const asked = [c, this.table(shared.m), ...this.formerParts(c)];
    if (isReserved) asked.push(this.table(shared.gcc));
    for (const library of asked) {
      const how = library?.mention(hashed) ?? null;
      if (how !== null) return how;
    }
    // A static C library has a shared one's names, and besides reserved ones.
    if ((isReserved || c === null) && this.staticIndex().includes(`\0${name}\0`)) return "defined";
    return c === null ? standardMention(name) : null;
  }

  /** What the compiler's library, and that of C++, want of a C library that is another's. */
  private mentionBeside(hashed: HashedName): Mention {
    const asked = [this.table(shared.gcc), ...(this.parts.cxx ? [this.table(shared.stdcxx)] : [])];
    return asked.map((library) => library?.mention(hashed) ?? null).find((how) => how !== null) ?? null;
  }

  private cxxMention(name: string): Mention {
    if (!this.parts.cxx) return null;
    const isLibcxx = name.includes("St3__1");
    const libraries = [this.table(isLibcxx ? shared.libcxx : shared.stdcxx)];
    if (isLibcxx) libraries.push(this.table(shared.libcxxabi));
    if (libraries.every((library) => library === null)) return standardMention(name);
    const hashed = hashedName(name);
    return libraries.map((library) => library?.mention(hashed) ?? null).find((how) => how !== null) ?? null;
  }

  private formerParts(c: DynamicSymbols | null): readonly (DynamicSymbols | null)[] {
    const isWhole = (): boolean => c === null || c.mention(threads) !== null;
    this.former ??= isWhole() ? [] : formerParts.map((name) => this.table([name]));
    return this.former;
  }

  private table(names: readonly string[]): DynamicSymbols | null {
    let table = this.tables.get(names[0]!);
    if (table === undefined) {
      table = null;
      for (const name of names) {
        this.find(name, (path) => {
          table = readTable(path);
          return table !== null;
        });
        if (table !== null) break;
      }
      this.tables.set(names[0]!, table);
    }
    return table;
  }

  /** The names that the static C library defines, each between zero bytes. */
  private staticIndex(): string {
    if (this.index === null) {
      let index: string | null = null;
      this.find(staticC, (path) => {
        index = withFile(path, archiveIndex);
        return index !== null;
      });
      this.index = `\0${index ?? ""}\0`;
    }
    return this.index;
  }

  /** The path of a library that suits. */
  private find(name: string, suits: (path: string) => boolean): string | null {
    for (const folder of this.folders) {
      const path = join(folder, name);
      if (fs.existsSync(path) && suits(path)) return path;
    }
    const path = this.folders === directories ? ownLibrary(name) : undefined;
    return path !== undefined && suits(path) ? path : null;
  }
}

const threads: HashedName = hashedName("pthread_create");

/** Whether the C library is among the inputs: then whoever made the command line has named all libraries. */
export function namesLibraries(inputs: readonly Operand[]): boolean {
  return inputs.some(({ name, isLibrary }) =>
    isLibrary
      ? name === "c"
      : /^libc(?:\.so(?:\.\d+)?|-[\d.]+\.so|\.musl-[^.]*\.so\.1|\.a)$/.test(basename(name)),
  );
}

/** Whether the library of a compiler's own routines is among the inputs. */
export function namesCompilersLibrary(inputs: readonly Operand[]): boolean {
  return inputs.some(({ name, isLibrary }) =>
    isLibrary ? name === "gcc" : /^(?:libgcc|libclang_rt\.builtins[-\w]*)\.a$/.test(basename(name)),
  );
}

let ownLibraries: readonly string[] | null = null;

/** A library that this process has loaded. */
function ownLibrary(name: string): string | undefined {
  if (ownLibraries === null) {
    try {
      const maps = fs.readFileSync("/proc/self/maps", "latin1");
      ownLibraries = [...new Set(maps.match(/\/\S+$/gm) ?? [])];
    } catch {
      ownLibraries = [];
    }
  }
  return ownLibraries.find((path) => basename(path) === name);
}

const readTable = (path: string): DynamicSymbols | null => withFile(path, (read) => new DynamicSymbols(read));

/** What `use` makes of the file; null where it cannot be read, or is not what it is named. */
function withFile<T>(path: string, use: (read: ReadAt) => T): T | null {
  let fd: number;
  try {
    fd = fs.openSync(path, "r");
  } catch {
    return null;
  }
  try {
    return use((offset, size) => {
      const bytes = new Uint8Array(size);
      return bytes.subarray(0, fs.readSync(fd, bytes, 0, size, offset));
    });
  } catch (e) {
    if (e instanceof InputError || (e as NodeJS.ErrnoException).code !== undefined) return null;
    throw e;
  } finally {
    fs.closeSync(fd);
  }
}
