/** LLVM bitcode. */
import type { Module } from "../../lto/ir/module.js";
export const oldestBitcode = 15;
export const newestBitcode = 22;
export function writeBitcode(module: Module, version: number): Uint8Array {
  throw new Error(`${module.file} ${version}`);
}
