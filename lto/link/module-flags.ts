/**
 * Merging of module flags (LLVM Language Reference, "Module Flags Metadata"). Flags with values that are
 * neither integers nor strings (require, append) do not reach the IR, so their behaviours compare plainly.
 */
import { isIndirectCall } from "../ir/instructions.js";
import type { Module, ModuleFlag } from "../ir/module.js";
import type { Diagnostics } from "./diagnostics.js";

const Behavior = {
  Error: 1,
  Warning: 2,
  Require: 3,
  Override: 4,
  Append: 5,
  AppendUnique: 6,
  Max: 7,
  Min: 8,
} as const;

export interface MergedFlag {
  flag: ModuleFlag;
  /** The file whose value it is. */
  file: string;
  /** In how many modules it was seen. */
  seen: number;
}

/** What older compilers wrote for a flag, in today's terms, so that versions can be mixed. */
function upgrade(flag: ModuleFlag): ModuleFlag {
  if (flag.key === "PIC Level" && (flag.behavior === Behavior.Error || flag.behavior === Behavior.Max))
    return { ...flag, behavior: Behavior.Min };
  if (flag.key === "PIE Level" && flag.behavior === Behavior.Error)
    return { ...flag, behavior: Behavior.Max };
  return flag;
}

/** Flags of the linked module, in order of first appearance; conflicts are reported. */
export function mergeModuleFlags(modules: readonly Module[], diagnostics: Diagnostics): MergedFlag[] {
  const merged = new Map<string, MergedFlag>();
  for (const module of modules)
    for (const original of module.flags) {
      const flag = upgrade(original);
      const known = merged.get(flag.key);
      if (known === undefined) merged.set(flag.key, { flag, file: module.file, seen: 1 });
      else {
        known.seen++;
        combine(known, flag, module.file, diagnostics);
      }
    }
  // A `min` flag that some module lacks counts as 0 there.
  for (const entry of merged.values())
    if (entry.flag.behavior === Behavior.Min && entry.seen < modules.length)
      entry.flag = { ...entry.flag, value: 0 };
  const shown = merged.get(virtualFunctionElim);
  if (shown !== undefined && modules.some((module) => callsUnseen(module)))
    shown.flag = { ...shown.flag, value: 0 };
  return [...merged.values()];
}

/** The program was compiled so that each call of a virtual function says which it is. */
const virtualFunctionElim = "Virtual Function Elim";

/** Whether a module that was compiled without saying so may call virtual functions. */
const callsUnseen = (module: Module): boolean =>
  module.flag(virtualFunctionElim) === undefined &&
  module.functions.some(
    (fn) =>
      !fn.isDeclaration &&
      fn.peek(({ blocks }) => blocks.some(({ insts }) => insts.some((inst) => isIndirectCall(inst)))),
  );

function combine(known: MergedFlag, flag: ModuleFlag, file: string, diagnostics: Diagnostics): void {
  const a = known.flag;
  const take = (): void => {
    known.flag = flag;
    known.file = file;
  };
  const conflict = (): void =>
    diagnostics.error(
      `linking module flags '${flag.key}': IDs have conflicting values: '${a.value}' from ${known.file}, and '${flag.value}' from ${file}`,
    );
  if (a.behavior === Behavior.Override || flag.behavior === Behavior.Override) {
    if (a.behavior !== Behavior.Override) take();
    else if (flag.behavior === Behavior.Override && a.value !== flag.value) conflict();
    return;
  }
  const { behavior } = flag;
  const extreme = behavior === Behavior.Max || behavior === Behavior.Min ? behavior : a.behavior;
  if (a.behavior !== behavior) {
    // Only a warning that meets max or min has a meaning: the extreme, with a warning when they differ.
    const fits = a.behavior === Behavior.Warning || behavior === Behavior.Warning;
    if (!fits || (extreme !== Behavior.Max && extreme !== Behavior.Min)) {
      diagnostics.error(
        `linking module flags '${flag.key}': IDs have conflicting behaviors: '${a.behavior}' from ${known.file}, and '${behavior}' from ${file}`,
      );
      return;
    }
    if (a.value !== flag.value) warnDiffers(known, flag, file, diagnostics);
  }
  switch (extreme) {
    case Behavior.Max:
    case Behavior.Min: {
      const larger = flag.value > a.value;
      if (larger === (extreme === Behavior.Max) && flag.value !== a.value) take();
      if (known.flag.behavior !== extreme) known.flag = { ...known.flag, behavior: extreme };
      break;
    }
    case Behavior.Warning:
      if (a.value !== flag.value) warnDiffers(known, flag, file, diagnostics);
      break;
    case Behavior.Append:
    case Behavior.AppendUnique:
    case Behavior.Require:
      break;
    default:
      if (a.value !== flag.value) conflict();
  }
}

function warnDiffers(known: MergedFlag, flag: ModuleFlag, file: string, diagnostics: Diagnostics): void {
  diagnostics.warn(
    `linking module flags '${flag.key}': IDs have conflicting values: '${known.flag.value}' from ${known.file}, and '${flag.value}' from ${file}`,
  );
}
