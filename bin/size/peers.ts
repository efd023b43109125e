/**
 * LLVM's link-time optimisation of the same program, to measure ours against: the linked module before our passes, with what is
 * internal in it already, is written as bitcode; lld optimises it and generates the code, and the linker that links ours links
 * that. So what is compared is passes and code generation, nothing else. GCC compiles sources alone, and is a command of the user's.
 */
import { newestBitcode, oldestBitcode } from "../../formats/bitcode/versions.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import { findProgram, foldersOnPath } from "../host/programs.js";
import { runChecked, runTool } from "../host/tools.js";

/** What lld is told, by the name of the setting. */
const peers: ReadonlyMap<string, readonly string[]> = new Map([
  ["lld", []],
  ["lld-ipra", ["-mllvm", "-enable-ipra"]],
  ["lld-outliner", ["-mllvm", "-enable-machine-outliner=always"]],
  ["lld-both", ["-mllvm", "-enable-ipra", "-mllvm", "-enable-machine-outliner=always"]],
]);

export const peerNames = [...peers.keys()];

export interface Lld {
  readonly path: string;
  /** Of the bitcode that it reads. */
  readonly version: number;
}

/** The newest lld. @throws InputError when there is none */
export async function findLld(host: Host): Promise<Lld> {
  const names = Array.from(
    { length: newestBitcode - oldestBitcode + 1 },
    (_, i) => `ld.lld-${newestBitcode - i}`,
  );
  const path = findProgram(foldersOnPath(host), [...names, "ld.lld"]);
  if (path === undefined) throw new InputError("--against lld: there is no ld.lld on PATH");
  const { stdout } = await runTool(path, ["--version"], host, { live: false });
  const major = Number(/LLD (\d+)/.exec(new TextDecoder().decode(stdout))?.[1]);
  if (!(major >= oldestBitcode))
    throw new InputError(`--against lld: ${path} is no LLD from ${oldestBitcode} on`);
  return { path, version: Math.min(major, newestBitcode) };
}

/**
 * Lets lld make an object of a program's bitcode.
 * @param name one of `peerNames`
 * @throws InputError when it fails
 */
export async function compileByLld(
  { path }: Lld,
  name: string,
  bitcode: string,
  object: string,
  host: Host,
): Promise<void> {
  // Relocatable output: names stay, the code model and what may be elsewhere are the module's, and no linker's layout is mixed in.
  const args = ["-r", ...peers.get(name)!, bitcode, "-o", object];
  await runChecked(path, args, host, { what: `--against ${name}`, output: object });
}
