/** What code generation is told: by options, and by what the modules say. */
import { codeModelOf, nearDataBytes, stackAlignmentOf } from "../../lto/codegen/code-model.js";
import type { OutlineForm } from "../../lto/codegen/outline/forms.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { unwindTables } from "../../lto/codegen/select/function-attributes.js";
import type { Module } from "../../lto/ir/module.js";
import type { DriverOptions } from "./driver-options.js";
import { type CodeOptionValues, codeOptionNames } from "./option-table.js";

export function codegenOptions(module: Module, options: DriverOptions): CodegenOptions {
  const codeModel = codeModelOf(module);
  // What these make counts on distances, and knows calls by the symbols in them.
  const isLarge = codeModel === "large";
  const told = Object.fromEntries(codeOptionNames.map((name) => [name, options[name]])) as CodeOptionValues;
  const { ipra, baseRegister, sharedEpilogues, functionLayout, sharedUnwind, outline } = told;
  return {
    ...told,
    relocation: options.relocationModel ?? defaultRelocation(module, options),
    codeModel,
    nearData: nearDataBytes(module),
    stackAlignment: stackAlignmentOf(module),
    level: options.level,
    allocator: told.regalloc,
    checkAllocation: options.checkRegalloc,
    ipra: ipra && !isLarge,
    baseRegister: baseRegister && !isLarge && codeModel !== "kernel",
    sharedEpilogues: sharedEpilogues && !isLarge,
    functionLayout: functionLayout && !isLarge,
    sharedUnwind: sharedUnwind && !asksForStarts(module),
    outline:
      outline && !isLarge
        ? { forms: told.outlineForms.split(",") as OutlineForm[], rounds: told.outlineRounds }
        : null,
    checkPacking: options.checkPacking,
    debugInfo: writesDebugInfo(module),
    debugFrames: writesDebugInfo(module) && !hasUnwindTables(module),
    passes: options.passes,
    verify: options.verify,
  };
}

/** What compilers say in modules with debug information that somebody asked for; locations for remarks and counts have none. */
const debugFlag = "Dwarf Version";

/** Some code has source locations, and they are not for the compiler alone. */
const writesDebugInfo = (module: Module): boolean =>
  module.origins !== null && module.flag(debugFlag) !== undefined;

/** Some code has, by what is said of it or by its own assembly. */
const hasUnwindTables = ({ functions, moduleAsm }: Module): boolean =>
  moduleAsm.includes(".cfi_") || functions.some((fn) => !fn.isDeclaration && unwindTables(fn) !== "none");

/** Functions of the unwinder that tell where a function starts, which they take from its description. */
const startsOfFunctions = new Set(["_Unwind_FindEnclosingFunction", "_Unwind_GetRegionStart"]);

const asksForStarts = ({ globals }: Module): boolean =>
  globals.some(({ name }) => startsOfFunctions.has(name));

/** Position-independent if any module is; a program needs no more than PIE, a library needs PIC. */
function defaultRelocation(module: Module, options: DriverOptions): CodegenOptions["relocation"] {
  const pic = Number(module.flag("PIC Level") ?? 0) > 0;
  if (options.shared) return "pic";
  if (options.relocatable)
    return pic ? (Number(module.flag("PIE Level") ?? 0) > 0 ? "pie" : "pic") : "static";
  return pic ? "pie" : "static";
}
