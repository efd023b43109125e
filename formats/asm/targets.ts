/** The printers of instructions, by target. */
import type { Target } from "../../lto/codegen/target.js";
import type { InstructionPrinter } from "./instruction-printer.js";
import { x64Printer } from "./x64/instructions.js";

const printers: ReadonlyMap<string, InstructionPrinter> = new Map([["x64", x64Printer]]);

export function instructionPrinter({ name }: Target): InstructionPrinter {
  const printer = printers.get(name);
  if (printer === undefined) throw new Error(`no printer for ${name}`);
  return printer;
}
