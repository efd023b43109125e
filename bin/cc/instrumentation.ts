/**
 * Sanitizers, profiles, coverage and OpenMP: what clang adds to a link for them. Their options mean other libraries to
 * the driver that links here (`cc`), so clang's own driver is asked twice what it would run (`-###`), with the
 * options and without; the linker's words that only the first answer has go to the link, before the inputs or after them
 * as in clang's. So the words are right for whatever version of clang compiled. The embedded clang has no libraries:
 * those of an installed one of its major version are used, whose format of profiles and interface of sanitizers
 * are the same.
 */
import { existsSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { type CommandLine, cxxMode, type Input, type LinkItem } from "../../frontend/clang/command-line.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Invocation } from "./compile.js";

/** Options of clang's that may add libraries to a link, and those that say which ones. */
const instrumenting =
  /^-(?:f(?:no-)?sanitize|f(?:no-)?(?:cs-)?profile-(?:instr-)?(?:generate|arcs)|-?coverage$|ftest-coverage|f(?:no-)?memory-profile|f(?:no-)?openmp|f(?:no-)?profile-(?:update|continuous)|fcreate-profile|fcoverage-|(?:shared|static)-lib(?:a|l|t|ub)?san$|static-openmp)/;

const coverage = /^(?:--?coverage|-fprofile-arcs|-ftest-coverage)$/;

/** A word for clang alone, not for the driver that links. */
const isInstrumenting = (word: string): boolean => instrumenting.test(word);

const linkOptions = (command: CommandLine): string[] =>
  command.link.flatMap((item) => ("words" in item ? item.words : []));

/** Whether clang has to be asked. */
export function needsRuntime(command: CommandLine): boolean {
  return [...command.compile, ...linkOptions(command)].some(isInstrumenting);
}

/** The items of the link step: without the options that are clang's, with what they stand for. */
export async function withRuntime(invocation: Invocation): Promise<readonly LinkItem[]> {
  const { command } = invocation;
  if (!needsRuntime(command)) return command.link;
  const options = [...command.compile, ...linkOptions(command)].filter((word) => word !== "-v");
  const [{ words: all, major }, { words: without }] = await Promise.all([
    linkLine(invocation, options),
    linkLine(
      invocation,
      options.filter((word) => !isInstrumenting(word)),
    ),
  ]);
  const added = addedWords(all, without);
  const at = added.indexOf(mark);
  const kept = command.link.filter((item) => !("words" in item && isInstrumenting(item.words[0]!)));
  const find = (words: readonly string[]) => words.map((word) => itemOf(word, invocation, major));
  const behind = added.slice(at + 1);
  // Clang has libraries of its own where it alone looks.
  const folders = behind.some((word) => word.startsWith("-l"))
    ? all.filter((word) => word.startsWith("-L"))
    : [];
  return [...find(added.slice(0, at)), ...kept, ...find([...folders, ...behind])];
}

/** Stands for the inputs. */
const mark = "-ltsc-lto-inputs";

interface LinkLine {
  readonly words: readonly string[];
  /** Clang's major version. */
  readonly major: string;
}

/** What clang's linker would be given. @throws InputError with what clang says to the options */
async function linkLine(
  { command, compiler, host }: Invocation,
  options: readonly string[],
): Promise<LinkLine> {
  const { exitCode, stderr, error } = await compiler.run({
    args: [...(command.cxx ? [cxxMode] : []), ...options, "-Qunused-arguments", mark, "-o", "out", "-###"],
    cwd: host.cwd,
    env: host.env,
    stdin: undefined,
    bitcodeIn: undefined,
    source: "clang",
    dependencies: undefined,
    printsDependencies: false,
    captured: true,
  });
  const lines = Buffer.from(stderr).toString("utf8").split("\n");
  const line = lines.findLast((text) => text.startsWith(' "') && text.includes(`"${mark}"`));
  if (exitCode !== 0 || line === undefined)
    throw new InputError(
      error ??
        lines.find((text) => text.includes("error: "))?.replace(/^.*error: /, "") ??
        "clang tells no link line",
    );
  const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].slice(1);
  return {
    words: words.map(([, word]) => word!.replace(/\\(.)/g, "$1")),
    major:
      lines.map((text) => /clang version (\d+)/.exec(text)?.[1]).find((found) => found !== undefined) ?? "",
  };
}

/** The words of `all` that are not in the longest common subsequence with `without`, but for `mark`, which stays. */
export function addedWords(all: readonly string[], without: readonly string[]): string[] {
  const width = without.length + 1;
  const lengths = new Int32Array((all.length + 1) * width);
  for (let i = all.length - 1; i >= 0; i--)
    for (let j = without.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        all[i] === without[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  const result: string[] = [];
  for (let i = 0, j = 0; i < all.length; ) {
    if (j < without.length && all[i] === without[j]) {
      if (all[i] === mark) result.push(mark);
      i++;
      j++;
    } else if (j < without.length && lengths[i * width + j + 1]! > lengths[(i + 1) * width + j]!) j++;
    else result.push(all[i++]!);
  }
  return result;
}

/** A linker's word as an item for `cc`. @throws InputError when a library is not there */
function itemOf(word: string, invocation: Invocation, major: string): LinkItem {
  if (word.startsWith("-l") || word.startsWith("-L")) return { words: [word] };
  const symbols = /^--dynamic-list=(.*)$/.exec(word);
  if (symbols !== null)
    return { words: [`-Wl,--dynamic-list=${runtimeFile(symbols[1]!, invocation, major)}`] };
  if (word.startsWith("-")) return { words: [`-Wl,${word}`] };
  const library = runtimeFile(word, invocation, major);
  if (!word.endsWith(".so")) return { words: [library], library };
  // The inputs that need it stand after it, and `cc` may take only what is needed before.
  return { words: ["-Wl,--push-state,--no-as-needed", library, "-Wl,--pop-state"], library };
}

/** The file itself; or for the embedded clang, and one that has lost it, that of an installed clang of the same version. */
function runtimeFile(path: string, { host, choice }: Invocation, major: string): string {
  if (choice.kind === "system" && existsSync(resolve(host.cwd, path))) return path;
  const name = basename(path);
  const extension = name.endsWith(".a.syms") ? ".a.syms" : extname(name);
  const stem = name.slice(0, -extension.length).replace(/-x86_64$/, "");
  for (const root of installations(major))
    for (const file of [
      `linux/${stem}-x86_64${extension}`,
      `x86_64-unknown-linux-gnu/${stem}${extension}`,
      `x86_64-pc-linux-gnu/${stem}${extension}`,
    ]) {
      const found = join(root, file);
      if (existsSync(found)) return found;
    }
  throw new InputError(
    `cannot find ${stem}${extension} of clang ${major}'s run-time libraries (compiler-rt); ` +
      `install them (Debian and Ubuntu: libclang-rt-${major}-dev)`,
  );
}

/** Where distributions and LLVM's own packages put the libraries of clang. */
const installations = (major: string): string[] =>
  [`/usr/lib/llvm-${major}`, "/usr", "/usr/local", `/usr/lib/llvm/${major}`].flatMap((prefix) =>
    ["lib", "lib64"].map((lib) => `${prefix}/${lib}/clang/${major}/lib`),
  );

/**
 * Where gcov's notes and counts go, for the compilation of one input: clang names them after its output, which is
 * a temporary file here.
 * @param namedAfter the object of `-c`; else the program, undefined when it has no name
 */
export function coverageOptions(
  command: CommandLine,
  input: Input,
  namedAfter: string,
  cwd: string,
): string[] {
  if (!command.compile.some((word) => coverage.test(word)) || input.path === "-") return [];
  const base = basename(input.path, extname(input.path));
  const stem =
    command.mode === "link" ? `${command.output ?? "a"}-${base}` : namedAfter.replace(/\.[^./]*$/, "");
  const path = resolve(cwd, stem);
  return ["-Xclang", `-coverage-notes-file=${path}.gcno`, "-Xclang", `-coverage-data-file=${path}.gcda`];
}
