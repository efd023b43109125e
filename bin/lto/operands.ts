/**
 * The part of the command line where order matters: input files and libraries, and the flags that hold for what
 * comes after them. The words are linkers' own (lld's manual, "--whole-archive", "--start-lib", "-l", …), with one
 * dash or two. All other options are left to the option parser.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../lto/ir/errors.js";

export interface Operand {
  /** A path, or for `-l` the name after it; with `bytes` what messages call them. */
  readonly name: string;
  /** Contents that are in no file. */
  readonly bytes?: Uint8Array;
  readonly isLibrary: boolean;
  /** Take every member of an archive. */
  readonly wholeArchive: boolean;
  /** Between --start-lib and --end-lib: linked only when it is needed, like a member of an archive. */
  readonly lazy: boolean;
  /** `-l` finds archives only. */
  readonly static: boolean;
}

export interface Words {
  readonly operands: readonly Operand[];
  /** Folders of `-L`; they hold for every `-l`, wherever they stand. */
  readonly directories: readonly string[];
  /** Everything else, in order. */
  readonly options: readonly string[];
}

type State = Pick<Operand, "wholeArchive" | "lazy" | "static">;

const changes: Readonly<Record<string, Partial<State>>> = {
  "whole-archive": { wholeArchive: true },
  "no-whole-archive": { wholeArchive: false },
  "start-lib": { lazy: true },
  "end-lib": { lazy: false },
  Bstatic: { static: true },
  Bdynamic: { static: false },
  // A lazy member is looked up whichever comes first, and what `as-needed` leaves out is no code.
  "start-group": {},
  "end-group": {},
  "as-needed": {},
  "no-as-needed": {},
};

/**
 * Separates inputs from options.
 * @param takesValue whether the value of an option is the word after it
 * @throws InputError when `-l` or `-L` lacks its value
 */
export function splitOperands(words: readonly string[], takesValue: (word: string) => boolean): Words {
  const operands: Operand[] = [];
  const directories: string[] = [];
  const options: string[] = [];
  let state: State = { wholeArchive: false, lazy: false, static: false };
  const saved: State[] = [];
  let onlyInputs = false;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const value = (joined: string): string => {
      if (joined !== "") return joined;
      if (i + 1 === words.length) throw new InputError(`argument to '${word}' is missing`);
      return words[++i]!;
    };
    const name = word.replace(/^--?/, "");
    const change = onlyInputs || name === word ? undefined : changes[name];
    if (onlyInputs || word === "-" || !word.startsWith("-"))
      operands.push({ ...state, name: word, isLibrary: false });
    else if (word === "--") onlyInputs = true;
    else if (change !== undefined) state = { ...state, ...change };
    else if (name === "push-state") saved.push(state);
    else if (name === "pop-state") state = saved.pop() ?? state;
    else if (word.startsWith("--library=") || word.startsWith("-l"))
      operands.push({ ...state, name: value(word.replace(/^-l|^--library=/, "")), isLibrary: true });
    else if (word.startsWith("--library-path=") || word.startsWith("-L"))
      directories.push(value(word.replace(/^-L|^--library-path=/, "")));
    else if (word === "-(" || word === "-)") continue;
    else {
      options.push(word);
      if (takesValue(word) && i + 1 < words.length) options.push(words[++i]!);
    }
  }
  return { operands, directories, options };
}

/** The file that `-l` stands for. @throws InputError in lld's words when there is none */
export function findLibrary({ name, static: archivesOnly }: Operand, directories: readonly string[]): string {
  const suffixes = archivesOnly ? [".a"] : [".so", ".a"];
  const names = name.startsWith(":") ? [name.slice(1)] : suffixes.map((suffix) => `lib${name}${suffix}`);
  for (const directory of directories)
    for (const file of names) {
      const path = join(directory, file);
      if (existsSync(path)) return path;
    }
  throw new InputError(`unable to find library -l${name}`);
}
