/**
 * What `tsc-lto measure` links: inputs, or a build's own link step. A subject makes a program of what the optimizer wrote,
 * so that the bytes measured are those of a linked file.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import { isRecord, readRecord } from "../host/link-record.js";
import { runChecked, runTool } from "../host/tools.js";
import { ownPackage } from "../package.js";

export interface Subject {
  /** The program's, for people. */
  readonly name: string;
  /** Words for the optimizer. */
  readonly words: readonly string[];
  /**
   * Links what it wrote.
   * @param part assembly, or an object: a file whose name ends with .o
   * @param natives machine code of modules that are not in it
   * @param program to be written
   * @throws InputError
   */
  link(part: string, natives: readonly string[], program: string): Promise<void>;
}

/** Drivers whose link steps `tsc-cc` understands. */
const driver = /^(?:.*\/)?(?:(?:clang|gcc|cc|tsc-cc)(?:-[\d.]+)?|(?:clang|g|c|tsc-c)\+\+(?:-[\d.]+)?)$/;

/**
 * @param words a record, a link step that begins with a driver, or inputs and options of `tsc-lto`
 * @param directory for temporary files
 * @throws InputError
 */
export async function subjectOf(words: readonly string[], directory: string, host: Host): Promise<Subject> {
  const [first, ...rest] = words;
  if (first === undefined) throw new InputError("nothing to measure: no inputs after --");
  const path = resolve(host.cwd, first);
  if (rest.length === 0 && isRecord(path)) return recordedLink(path, host);
  if (driver.test(first) && !existsSync(path))
    return {
      ...recordedLink(await record(first, rest, directory, host), host),
      name: rest.includes("-o") ? basename(rest[rest.lastIndexOf("-o") + 1] ?? "") : "a.out",
    };
  return alone(words, host);
}

/** The object of a part of a program. */
async function assembled(part: string, program: string, host: Host): Promise<string> {
  if (part.endsWith(".o")) return part;
  const object = `${program}.o`;
  await runChecked("as", ["--64", "-o", object, part], host);
  return object;
}

/** Inputs alone: linked as far as they go, so that tables and relocations are what a linker makes of them. */
function alone(words: readonly string[], host: Host): Subject {
  return {
    name: "program",
    words,
    async link(part, natives, program) {
      const object = await assembled(part, program, host);
      const common = [
        "--eh-frame-hdr",
        "--unresolved-symbols=ignore-all",
        "-e",
        "0",
        "-o",
        program,
        object,
        ...natives,
      ];
      // Code for a fixed place cannot be moved.
      const pie = await runTool("ld", ["-pie", "--no-dynamic-linker", "-z", "notext", ...common], host, {
        live: false,
      });
      if (pie.exitCode !== 0) await runChecked("ld", common, host);
    },
  };
}

function recordedLink(path: string, host: Host): Subject {
  const { optimise, linker, link, part, assembled: asObject, output } = readRecord(path);
  return {
    name: basename(output),
    words: optimise,
    async link(file, natives, program) {
      const made = asObject ? await assembled(file, program, host) : file;
      const named = link.includes(output);
      const words = link.flatMap((word) =>
        word === part ? [made, ...natives] : word === output ? program : word,
      );
      await runChecked(linker, named ? words : ["-o", program, ...words], host);
    },
  };
}

/** Does a link step once, with a record of it. */
async function record(
  name: string,
  words: readonly string[],
  directory: string,
  host: Host,
): Promise<string> {
  const folder = mkdtempSync(join(directory, "record-"));
  const start = [join(ownPackage().directory, "dist/bin/start.cjs"), "cc"];
  const mode = /\+\+(?:-[\d.]+)?$/.test(name) ? ["--driver-mode=g++"] : [];
  const compiler = /(?:^|\/)clang/.test(name) ? [`--clang=${name.replace("++", "")}`] : [];
  // The last -o counts: the program that the words name stays as it is.
  const output = ["-o", join(directory, "recorded")];
  const args = [...process.execArgv, ...start, ...mode, ...compiler, ...words, ...output];
  const recording = { ...host, env: { ...host.env, TSC_LTO_RECORD: folder } };
  await runChecked(process.execPath, args, recording);
  const [made] = readdirSync(folder);
  if (made === undefined) throw new InputError(`the link step of ${name} has no inputs for tsc-lto`);
  return join(folder, made);
}

/** Runs a command of the user's, through the shell. @returns milliseconds @throws InputError when it fails */
export function timedRun(command: string, program: string, host: Host): number {
  const begin = process.hrtime.bigint();
  const env = { ...host.env, PROGRAM: program };
  const { status, signal, error } = spawnSync("/bin/sh", ["-c", command], {
    cwd: host.cwd,
    env,
    stdio: "ignore",
  });
  if (error !== undefined) throw new InputError(`cannot run ${command}: ${error.message}`);
  if (status !== 0) throw new InputError(`${command}: exit code ${status ?? signal} with ${program}`);
  return Number(process.hrtime.bigint() - begin) / 1e6;
}
