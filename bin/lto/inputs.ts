/**
 * Reading input files: what each is, and what it contributes to the link.
 *
 * Recognised by content: IR objects, in an ELF shell or bare, LLVM bitcode, archives (GNU and thin) of all kinds, ELF
 * objects and shared libraries (only their symbols matter here; bitcode in them is used instead: formats/elf-ir.ts); by
 * extension: text IR. Anything else is one clear error.
 */
import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { isArchive, readArchive } from "../../formats/archive.js";
import { isElf } from "../../formats/elf.js";
import { defaultEmbeddedIr, type EmbeddedIrPolicy } from "../../formats/elf-ir.js";
import { isObject } from "../../formats/object/container.js";
import { readObjectContents } from "../../formats/object/reader.js";
import { parseModule } from "../../formats/text/index.js";
import { isBitcode, readBitcode } from "../../frontend/llvm/bitcode.js";
import { textOfBytes } from "../../lto/ir/byte-text.js";
import { InputError, InternalError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import {
  type LazyMember,
  type LinkInput,
  lazyDefinitions,
  type ModuleInput,
  type NativeInput,
  nativeDefinitions,
} from "../../lto/link/input.js";
import { elfMachineOf } from "../../lto/targets-by-triple.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { realFiles } from "../host/libraries.js";
import { FileError } from "../host/system-errors.js";
import { readElfInput } from "./elf-inputs.js";
import { findLibrary, type Operand } from "./operands.js";

/**
 * What is linked in the place of a file or member; null: what is in it.
 * @param file as messages name it
 */
export type ReplaceFile = (file: string, bytes: Uint8Array) => readonly NativeInput[] | null;

/** How files are read. */
export interface Reading {
  readonly policy: EmbeddedIrPolicy;
  readonly replace?: ReplaceFile;
}

/** @throws InputError with the system's reason when the file cannot be read */
export type ReadFile = (path: string) => Uint8Array;

/** @throws InputError with the system's reason when the file cannot be read */
export function readInputFile(path: string): Uint8Array {
  try {
    return readFileSync(path === "-" ? 0 : path);
  } catch (e) {
    const { code } = e as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      ENOENT: "No such file or directory",
      EISDIR: "Is a directory",
      EACCES: "Permission denied",
      ENOTDIR: "Not a directory",
    };
    const reason = reasons[code ?? ""] ?? (e as Error).message;
    throw new FileError(`cannot open ${path}: ${reason}`, path);
  }
}

/**
 * Reads an input, or the files after `-l`, as the link inputs it stands for.
 * @throws InputError that names the file
 */
export function readOperand(
  operand: Operand,
  directories: readonly string[],
  read: ReadFile = readInputFile,
  reading: Reading = { policy: defaultEmbeddedIr },
): LinkInput[] {
  const { name, bytes, isLibrary } = operand;
  if (!isLibrary) return readInput(name, bytes ?? read(name), operand, read, reading);
  return realFiles(findLibrary(operand, directories)).flatMap((path) =>
    readInput(path, read(path), operand, read, reading),
  );
}

function readInput(
  path: string,
  bytes: Uint8Array,
  { wholeArchive, lazy }: Operand,
  read: ReadFile,
  reading: Reading,
): LinkInput[] {
  try {
    if (isArchive(bytes)) return readArchiveInput(bytes, path, wholeArchive, read, reading);
    const inputs = readContents(path, bytes, reading);
    return lazy ? [{ kind: "archive", members: inputs.map((input) => lazyMember(input, path)) }] : inputs;
  } catch (e) {
    if (e instanceof InputError) throw e.inFile(path);
    const { message, stack } = e as Error;
    throw new InternalError(message, `while reading ${path}`, stack);
  }
}

/**
 * What a file that is no archive, or a member, contributes.
 * @throws InputError
 */
export function readContents(
  file: string,
  bytes: Uint8Array,
  reading: Reading,
): (ModuleInput | NativeInput)[] {
  const replaced = reading.replace?.(file, bytes) ?? null;
  if (replaced !== null) return [...replaced];
  if (bytes.length === 0) throw new InputError("file is empty", file);
  if (isObject(bytes)) {
    const { module, summary } = readObjectContents(bytes, file);
    return [{ kind: "module", module, summary }];
  }
  if (isBitcode(bytes)) return readBitcode(bytes, file).map((module) => ({ kind: "module", module }));
  if (isElf(bytes)) return readElfInput(bytes, file, reading.policy);
  if (/\.(ll|tir)$/.test(file) || file === "-")
    return [{ kind: "module", module: verified(parseModule(assemblyText(bytes), file)) }];
  const hint = sourceExtension.test(file) ? ": sources are compiled to objects first, by tsc-cc -c" : "";
  throw new InputError(`unknown file type${hint}`, file);
}

/** Of what a compiler takes. */
const sourceExtension = /\.(?:c|i|cc|cp|cxx|cpp|c\+\+|C|ii|m|mm|s|S|rs)$/;

/** Without a byte-order mark. */
function assemblyText(bytes: Uint8Array): string {
  const text = textOfBytes(bytes);
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

function readArchiveInput(
  bytes: Uint8Array,
  path: string,
  wholeArchive: boolean,
  readFile: ReadFile,
  reading: Reading,
): LinkInput[] {
  const { members } = readArchive(bytes, path);
  const seen = new Map<string, number>();
  const read = (
    member: (typeof members)[number],
  ): { file: string; inputs: (ModuleInput | NativeInput)[] } => {
    // What is said and remembered of a file is by its name, and members of different folders may share theirs.
    const count = (seen.get(member.name) ?? 0) + 1;
    seen.set(member.name, count);
    const file = `${path}(${member.name}${count > 1 ? ` #${count}` : ""})`;
    const memberPath =
      member.path === null || isAbsolute(member.path) ? member.path : join(dirname(path), member.path);
    const contents = member.bytes ?? readFile(memberPath!);
    return { file, inputs: readContents(file, contents, reading) };
  };
  if (wholeArchive) return members.flatMap((m) => read(m).inputs);
  const lazy = members.flatMap((member) => {
    const { file, inputs } = read(member);
    return inputs.map((input) => lazyMember(input, file));
  });
  return [{ kind: "archive", members: lazy }];
}

/**
 * Native inputs have to be for the machine that the IR is for.
 * @returns an error for each that is not
 */
export function otherMachines(inputs: readonly LinkInput[]): InputError[] {
  const members = inputs.flatMap((input) =>
    input.kind === "archive" ? input.members.map((member) => member.load()) : [input],
  );
  const triple = members.find((input) => input.kind === "module" && input.module.triple !== "");
  const module = triple?.kind === "module" ? triple.module : { triple: "" };
  const expected = elfMachineOf(module);
  if (expected === null) return [];
  return members.flatMap((input) =>
    input.kind === "native" && input.machine !== undefined && input.machine !== expected.number
      ? [new InputError(`not for ${expected.name} (ELF machine ${input.machine})`, input.file)]
      : [],
  );
}

const lazyMember = (input: ModuleInput | NativeInput, file: string): LazyMember => ({
  file,
  defines:
    input.kind === "module"
      ? lazyDefinitions(input.summary?.symbols ?? input.module.globals)
      : nativeDefinitions(input.symbols),
  isNative: input.kind === "native",
  load: () => input,
});

/** People write text, so it may say anything that the grammar allows. @throws InputError with the first complaint */
function verified(module: Module): Module {
  const [first, ...more] = verifyModule(module);
  if (first === undefined) return module;
  throw new InputError(more.length === 0 ? first : `${first} (and ${more.length} more)`, module.file);
}
