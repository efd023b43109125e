/**
 * Modules that cannot be compiled here: the system's clang makes machine code of them, which is linked beside the output
 * (`--native-modules`). So a link with an unsupported construct in one module still optimises the others.
 *
 * The link is tried again with the symbols of that machine code in the place of the module. Nothing of it is then known:
 * what it mentions is open, and what it defines is somebody else's. Each try has at least one module less, so tries end.
 *
 * Where an error names a module that has nothing unsupported by itself, its function got the construct by inlining; then all
 * modules are looked at for who has it.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { newestBitcode, oldestBitcode, writeBitcode } from "../../formats/bitcode/index.js";
import { isElf, readElf } from "../../formats/elf.js";
import { irOf } from "../../formats/elf-ir.js";
import { isObject, splitObjects } from "../../formats/object/container.js";
import { readObject } from "../../formats/object/reader.js";
import { isBitcode } from "../../frontend/llvm/magic.js";
import { attributed, InputError, UnsupportedError } from "../../lto/ir/errors.js";
import type { NativeInput } from "../../lto/link/input.js";
import { chooseCompiler } from "../cc/compilers.js";
import { codegenArguments } from "../host/llvm-codegen.js";
import { isSystemError, reasonOf } from "../host/system-errors.js";
import { runTool } from "../host/tools.js";
import { type DriverOptions, embeddedIrPolicy } from "./driver-options.js";
import { nativeInput } from "./elf-inputs.js";
import { InputErrors } from "./errors.js";
import { type ReplaceFile, readContents, readOperand } from "./inputs.js";
import type { LinkServices } from "./job.js";
import { unsupportedIn } from "./unsupported.js";

/** Tries the link until no module is refused, or nothing can be done about it. @throws what the link throws */
export async function withNativeModules<Result>(
  directory: string,
  options: DriverOptions,
  services: LinkServices,
  attempt: (natives: NativeModules) => Promise<Result>,
): Promise<Result> {
  const natives = new NativeModules(resolve(services.host.cwd, directory), options, services);
  for (;;) {
    try {
      return await attempt(natives);
    } catch (e) {
      if (!(await natives.resolve(e))) throw e;
    }
  }
}

/** Machine code, and what it says. */
interface NativeObject {
  readonly path: string;
  readonly input: NativeInput;
}

/** A form that clang reads, or machine code already. */
interface Source {
  readonly kind: "bc" | "ll" | "o";
  /** @param version of clang's LLVM */
  bytes(version: number): Uint8Array;
}

export class NativeModules {
  private readonly objects = new Map<string, readonly NativeObject[]>();
  private count = 0;

  constructor(
    private readonly directory: string,
    private readonly options: DriverOptions,
    private readonly services: LinkServices,
  ) {}

  readonly replace: ReplaceFile = (file) => this.objects.get(file)?.map(({ input }) => input) ?? null;

  /** Removes the machine code of files that do not take part. */
  keepOnly(loaded: (file: string) => boolean): void {
    for (const [file, objects] of this.objects)
      if (!loaded(file)) for (const { path } of objects) rmSync(path);
  }

  /** Whether another try may succeed: what an error is about has become machine code. */
  async resolve(e: unknown): Promise<boolean> {
    const refusals = e instanceof InputErrors ? e.errors : [e];
    const named = new Map<string, string[]>();
    for (const refusal of refusals) {
      if (!(refusal instanceof UnsupportedError) || refusal.file === undefined) return false;
      if (this.objects.has(refusal.file)) return false;
      named.set(refusal.file, [...(named.get(refusal.file) ?? []), constructOf(refusal)]);
    }
    const files = this.files();
    const culprits = await this.culprits(named, files);
    if ([...culprits.keys()].some((file) => !files.has(file))) return false;
    try {
      for (const [file, constructs] of culprits)
        if (!(await this.make(file, files.get(file)!, constructs))) return false;
    } catch (error) {
      if (isSystemError(error))
        throw new InputError(`cannot write objects to ${this.directory}: ${reasonOf(error)}`);
      throw error;
    }
    return true;
  }

  /** All inputs and members, by name, but those that are replaced already. */
  private files(): Map<string, Uint8Array> {
    const files = new Map<string, Uint8Array>();
    const replace: ReplaceFile = (file, bytes) => {
      if (!this.objects.has(file)) files.set(file, bytes);
      return [];
    };
    const { inputs, libraryPath } = this.options;
    const reading = { policy: embeddedIrPolicy(this.options), replace };
    for (const operand of inputs) readOperand(operand, libraryPath, undefined, reading);
    return files;
  }

  /** The modules that have something unsupported, and what that is. */
  private async culprits(
    named: ReadonlyMap<string, readonly string[]>,
    files: ReadonlyMap<string, Uint8Array>,
  ): Promise<Map<string, readonly string[]>> {
    const culprits = new Map<string, readonly string[]>();
    const innocent: string[] = [];
    for (const [file, constructs] of named) {
      const found = await this.survey(file, files.get(file));
      if (found.length === 0) innocent.push(file);
      culprits.set(file, [...new Set([...found, ...constructs])]);
    }
    if (innocent.length === 0) return culprits;
    const others = new Map<string, readonly string[]>();
    for (const [file, bytes] of files) {
      if (named.has(file)) continue;
      const found = await this.survey(file, bytes);
      if (found.length > 0) others.set(file, found);
    }
    if (others.size === 0) return culprits;
    for (const file of innocent) culprits.delete(file);
    return new Map([...culprits, ...others]);
  }

  private async survey(file: string, bytes: Uint8Array | undefined): Promise<string[]> {
    if (bytes === undefined) return [];
    try {
      const inputs = readContents(file, bytes, { policy: embeddedIrPolicy(this.options) });
      const modules = inputs.filter((input) => input.kind === "module");
      return (await unsupportedIn(modules, this.options, this.services)).map(constructOf);
    } catch (e) {
      if (e instanceof UnsupportedError) return [constructOf(e)];
      if (e instanceof InputError) return [];
      throw e;
    }
  }

  /** Makes machine code of a file. @returns whether that worked */
  private async make(file: string, bytes: Uint8Array, constructs: readonly string[]): Promise<boolean> {
    const { host, diagnose } = this.services;
    const sources = this.sources(file, bytes);
    const own = sources.every(({ kind }) => kind === "o");
    const choice = own ? null : await chooseCompiler(undefined, host);
    if (choice?.kind === "embedded") return false;
    mkdirSync(this.directory, { recursive: true });
    const objects: NativeObject[] = [];
    const version = Number.parseInt(choice?.version ?? "", 10);
    for (const { kind, bytes: contents } of sources) {
      const path = join(this.directory, `${this.count++}.o`);
      if (kind === "o") writeFileSync(path, contents(version));
      else {
        const source = `${path}.${kind}`;
        writeFileSync(source, contents(version));
        const args = clangArguments(source, path, this.clangOptions());
        const { exitCode, stderr, error } = await runTool(choice!.path, args, host, {
          live: false,
          output: path,
        });
        rmSync(source);
        if (exitCode !== 0) {
          const [reason] = (error ?? Buffer.from(stderr).toString("utf8")).split("\n");
          diagnose({ severity: "warning", message: `${file}: ${choice!.path} cannot compile it: ${reason}` });
          return false;
        }
      }
      const made = readFileSync(path);
      objects.push({ path, input: nativeInput(readElf(made, file), file) });
    }
    this.objects.set(file, objects);
    const by = choice === null ? "its machine code is linked" : `${choice.path} compiles it`;
    const message = `${file}: ${by}, without link-time optimisation; unsupported: ${constructs.join("; ")}`;
    diagnose({ severity: "warning", message });
    return true;
  }

  /** What the module does not say. */
  private clangOptions(): string[] {
    const { relocationModel, shared, relocatable, level, functionSections, dataSections } = this.options;
    const model = relocationModel ?? (shared || relocatable ? "pic" : "pie");
    return [
      ...(level === null ? [] : [`-${level}`]),
      ...(model === "pic" ? ["-fPIC"] : model === "pie" ? ["-fPIE"] : ["-fno-pie", "-fno-pic"]),
      ...(functionSections ? ["-ffunction-sections"] : []),
      ...(dataSections ? ["-fdata-sections"] : []),
    ];
  }

  private sources(file: string, bytes: Uint8Array): Source[] {
    const asItIs = () => bytes;
    if (isBitcode(bytes)) return [{ kind: "bc", bytes: asItIs }];
    if (isObject(bytes)) return [bitcodeOf(bytes, file)];
    if (!isElf(bytes)) return [{ kind: "ll", bytes: asItIs }];
    const ir = irOf(readElf(bytes, file), file, embeddedIrPolicy(this.options));
    if (ir === null || ir.optional) return [{ kind: "o", bytes: asItIs }];
    return attributed(file, () => splitObjects(ir.bytes)).map((object) => bitcodeOf(object, file));
  }
}

/** @param words what the module does not say: the rest it does, if it can be read */
function clangArguments(source: string, object: string, words: readonly string[]): string[] {
  try {
    return codegenArguments(source, object, words);
  } catch (e) {
    if (!(e instanceof InputError)) throw e;
    const level = words.some((word) => word.startsWith("-O")) ? [] : ["-O2"];
    return [...level, ...words, "-Wno-override-module", "-x", "ir", "-c", source, "-o", object];
  }
}

const bitcodeOf = (object: Uint8Array, file: string): Source => ({
  kind: "bc",
  bytes: (version) => {
    const module = readObject(object, file);
    module.loadDebug();
    return writeBitcode(module, Math.max(oldestBitcode, Math.min(newestBitcode, version)));
  },
});

const constructOf = ({ construct, where }: UnsupportedError): string =>
  where === undefined ? construct : `${construct} (in ${where})`;
