/** Worker thread of `tsc-lto`: holds the module and compiles batches of its functions. */
import { workerData } from "node:worker_threads";
import { AsmPrinter } from "../../formats/asm/index.js";
import { readObject } from "../../formats/object/index.js";
import { type CompiledBatch, compileBatch, definedFunctions, type WorkerSetup } from "./codegen.js";

const { object, file, options } = workerData as WorkerSetup;
const module = readObject(new Uint8Array(object), file);
const functions = definedFunctions(module);
const printer = new AsmPrinter(module, { relocation: options.relocation });

/** @param batch positions in `definedFunctions` */
export default function run(batch: readonly number[]): CompiledBatch {
  return compileBatch(
    module,
    batch.map((i) => functions[i]!),
    options,
    printer,
  );
}
