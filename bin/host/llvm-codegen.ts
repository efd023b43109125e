/**
 * Code generation by LLVM: clang makes an object of the bitcode of a whole program.
 *
 * What clang would know from the command line of a compilation, the module says: its target, for what its functions were
 * compiled, where its code may lie. What users say goes before that.
 *
 * Clang's own passes run on the bitcode, too. For size that is done twice, since their inliner takes what ours left in place for
 * good reasons, and on other programs finds what ours does not see without code: the smaller object counts. On Cortex-M, .text of
 * eight programs without LLVM's inliner is 0.952 (cmark) to 1.001 of that with it, on AArch64 0.993 (expat) to 1.037 (bzip2).
 */
import { readFileSync, renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { newestBitcode, oldestBitcode } from "../../formats/bitcode/versions.js";
import { Image, SectionFlag, SectionType } from "../../formats/program/image.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { goalOf } from "../../lto/codegen/program/options.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import { programLevel } from "../../lto/pipeline/pipelines.js";
import { type CompilerChoice, chooseCompiler } from "../cc/compilers.js";
import type { Host } from "./host.js";
import { runTool, type ToolResult } from "./tools.js";

/** A clang that is installed. */
export interface Llvm {
  readonly path: string;
  /** Of the bitcode that it reads. */
  readonly version: number;
}

/**
 * The clang that generates the code for a target.
 * @param choice one that was made already
 * @param requested value of `--clang=`, if given
 * @throws InputError when there is none
 */
export async function findLlvm(
  choice: CompilerChoice | null,
  requested: string | undefined,
  triple: string,
  host: Host,
): Promise<Llvm> {
  const found = choice?.kind === "system" ? choice : await chooseCompiler(requested, host);
  if (found.kind === "embedded")
    throw new InputError(
      `code for target '${triple}' is LLVM's to generate: no clang is installed (--clang=PATH, TSC_LTO_CLANG)`,
    );
  const major = Number.parseInt(found.version, 10);
  return { path: found.path, version: Math.min(Math.max(major, oldestBitcode), newestBitcode) };
}

/**
 * Makes an object of bitcode.
 * @param words options of the command line that are about code
 */
export async function compileBitcode(
  { path }: Llvm,
  bitcode: string,
  object: string,
  words: readonly string[],
  host: Host,
): Promise<ToolResult> {
  const args = codegenArguments(bitcode, object, words);
  const made = runTool(path, args, host, { live: true, output: object });
  if (!args.some((word) => /^-O[sz]$/.test(word)) || args.some((word) => decidesInlining.test(word)))
    return made;
  const other = `${object}.other`;
  const more = codegenArguments(bitcode, other, [...words, ...withoutInliner]);
  const [result, second] = await Promise.all([
    made,
    runTool(path, more, host, { live: false, output: other }),
  ]);
  if (second.exitCode === 0) {
    if (result.exitCode === 0 && linkedBytes(other) < linkedBytes(object)) renameSync(other, object);
    else rmSync(other, { force: true });
  }
  return result;
}

/**
 * LLVM subtracts 15000 from what it takes a function with one call to cost, at five an instruction, and inlines what costs less
 * than this threshold: of such functions only those of less than two hundred instructions, of others none.
 */
const withoutInliner = ["-mllvm", "-inline-threshold=-14000"];
const decidesInlining = /^-?-inline-threshold|^-disable-llvm-passes$|^-disable-O0-optnone$/;

/** What of an object will be loaded from the program's file; infinite where it is no ELF object. */
function linkedBytes(object: string): number {
  let image: Image;
  try {
    image = new Image(readFileSync(object));
  } catch (e) {
    if (e instanceof InputError) return Number.POSITIVE_INFINITY;
    throw e;
  }
  let sum = 0;
  for (const { type, flags, size, bytes } of image.sections) {
    if ((flags & SectionFlag.Alloc) !== 0 && type !== SectionType.Nobits) sum += size;
    if (type === SectionType.Rela && image.machine === riscv) sum -= relaxedBytes(image, bytes);
  }
  return sum;
}

const riscv = 243;

/** Calls are written with eight bytes, and become half as long where what they call is near. */
function relaxedBytes({ is64 }: Image, entries: Uint8Array): number {
  let calls = 0;
  const size = is64 ? 24 : 12;
  // R_RISCV_CALL and R_RISCV_CALL_PLT; the machine is little-endian.
  for (let at = 0; at + size <= entries.length; at += size) {
    const kind = entries[at + (is64 ? 8 : 4)]!;
    if (kind === 18 || kind === 19) calls++;
  }
  return 4 * calls;
}

/** The words for clang. */
export function codegenArguments(bitcode: string, object: string, words: readonly string[]): string[] {
  const [module] = readBitcode(readFileSync(bitcode), basename(bitcode));
  const has = (pattern: RegExp): boolean => words.some((word) => pattern.test(word));
  const own: string[] = [];
  const { triple } = module!;
  if (triple !== "" && !has(/^--?target/)) own.push(`--target=${triple}`);
  if (!has(/^-O/)) own.push(`-${levelOf(module!)}`);
  if (!has(/^-f(?:no-)?(?:pic|pie)$/i)) own.push(relocation(module!));
  const model = codeModels[Number(module!.flag("Code Model") ?? -1)];
  if (model !== undefined && !has(/^-mcmodel=/)) own.push(`-mcmodel=${model}`);
  const abi = module!.flag("target-abi");
  if (typeof abi === "string" && !has(/^-mabi=/)) own.push(`-mabi=${abi}`);
  // Where processors have names and instruction sets have others, both may be said.
  if (!has(triple.startsWith("riscv") ? /^-march=/ : /^-m(?:cpu|arch)=/)) own.push(...processor(module!));
  return [
    ...own,
    ...words,
    "-Qunused-arguments",
    "-Wno-override-module",
    "-fno-lto",
    "-x",
    "ir",
    "-c",
    bitcode,
    "-o",
    object,
  ];
}

/** In LLVM's order. */
const codeModels = ["tiny", "small", "kernel", "medium", "large"];

function levelOf({ functions }: Module): string {
  const goals = functions.filter((fn) => !fn.isDeclaration).map((fn) => goalOf(fn, null));
  return programLevel(goals, null);
}

function relocation(module: Module): string {
  const level = (key: string): number => Number(module.flag(key) ?? 0);
  const pie = level("PIE Level");
  if (pie > 0) return pie > 1 ? "-fPIE" : "-fpie";
  const pic = level("PIC Level");
  return pic === 0 ? "-fno-pic" : pic > 1 ? "-fPIC" : "-fpic";
}

/** Extensions with one letter, in the order that names of RISC-V's instruction sets have; the base comes first. */
const letters = "mafdqlcbkjtpvnh";

/**
 * The processor that most of the code is for: functions say their own, but what is said of the object as a whole
 * comes from the command line.
 */
function processor({ triple, functions }: Module): string[] {
  const first = functions.find(
    (fn) => !fn.isDeclaration && fn.attributes.fn.string("target-features") !== undefined,
  );
  const strings = first?.attributes.fn;
  const bits = /^riscv(32|64)/.exec(triple)?.[1];
  if (strings === undefined) return [];
  if (bits === undefined) {
    const cpu = strings.string("target-cpu") ?? "generic";
    return /^(?:arm|thumb|aarch64)/.test(triple) && cpu !== "generic" ? [`-mcpu=${cpu}`] : [];
  }
  const features = (strings.string("target-features") ?? "")
    .split(",")
    .flatMap((feature) => (feature.startsWith("+") ? [feature.slice(1)] : []));
  const single = [...letters].filter((letter) => features.includes(letter));
  const long = features.filter(
    (feature) => /^[zsx][a-z]\w*$/.test(feature) && !/^(?:save-restore)$/.test(feature),
  );
  // Clang before 20 does not say the base, unless it is the small one.
  const base = features.includes("e") ? "e" : "i";
  return [`-march=rv${bits}${base}${single.join("")}${long.map((name) => `_${name}`).join("")}`];
}
