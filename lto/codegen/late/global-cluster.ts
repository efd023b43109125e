/**
 * Which variables stand together, so that a register that points among them reaches each with one byte (Wall, "Global
 * Register Allocation at Link Time", PLDI 1986, lays the most used ones out likewise).
 *
 * Taken are small variables of the program's own, most mentions for their bytes first, until the reach of a signed
 * byte is full. All of them lie in one section: where some have initial values, those that have none would take room
 * in the file, so that they are only mixed where that pays.
 * Breaks if: something but the linker decides where a variable lies, or another module may define it.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import type { GlobalValue, GlobalVariable } from "../../ir/module.js";
import type { Constant } from "../../ir/values.js";
import { type AddressCosts, nearRange } from "../../target/addresses.js";

/** The symbol that base registers hold. */
export const anchorSymbol = ".Lglobals.base";

export interface GlobalCluster {
  /** In the order in which they lie. */
  readonly variables: readonly GlobalVariable[];
  /** Where each starts, from the anchor. */
  readonly offsets: ReadonlyMap<GlobalValue, number>;
  /** Bytes from the first variable to the anchor. */
  readonly anchor: number;
}

/** Alignment in bytes of a variable's definition. */
export const alignOf = (variable: GlobalVariable, layout: DataLayout): number =>
  variable.align > 0 ? variable.align : layout.preferredAlign(variable.valueType);

/** @param retained variables that have sections of their own */
export function mayCluster(
  global: GlobalValue,
  { nearFrom }: AddressCosts,
  layout: DataLayout,
  retained: ReadonlySet<GlobalValue>,
): global is GlobalVariable {
  if (global.kind !== "variable" || global.initializer === null || !global.isLocal) return false;
  if (global.isConstant || global.threadLocal !== "none" || global.section !== "" || global.comdat !== null)
    return false;
  if (
    global.name.startsWith("llvm.") ||
    global.codeModel !== null ||
    global.externallyInitialized ||
    retained.has(global)
  )
    return false;
  const size = layout.allocSize(global.valueType);
  return size > 0 && size <= -nearFrom && alignOf(global, layout) <= 16;
}

/**
 * @param mentions of each candidate in code that would gain by it
 * @returns null if it takes fewer than two variables
 */
export function chooseCluster(
  mentions: ReadonlyMap<GlobalVariable, number>,
  costs: AddressCosts,
  layout: DataLayout,
): GlobalCluster | null {
  const all = [...mentions.keys()];
  const zero = pick(all.filter(isZero), mentions, costs, layout);
  const mixed = pick(all, mentions, costs, layout);
  const worth = (variables: readonly GlobalVariable[]): number =>
    variables.reduce((sum, v) => sum + 2 * mentions.get(v)!, 0);
  const added = mixed.filter(isZero).reduce((sum, v) => sum + layout.allocSize(v.valueType), 0);
  const isMixed = mixed.length > zero.length && worth(mixed) - added > worth(zero);
  const variables = isMixed ? mixed : zero;
  return variables.length < 2 ? null : arrange(variables, costs, layout);
}

function pick(
  from: readonly GlobalVariable[],
  mentions: ReadonlyMap<GlobalVariable, number>,
  costs: AddressCosts,
  layout: DataLayout,
): GlobalVariable[] {
  const density = (v: GlobalVariable): number => mentions.get(v)! / layout.allocSize(v.valueType);
  const order = new Map(from.map((v) => [v, density(v)]));
  // The sort is stable: equal ones stay in the order of the module.
  const sorted = [...from].sort((a, b) => order.get(b)! - order.get(a)!);
  const out: GlobalVariable[] = [];
  let bytes = 0;
  for (const variable of sorted) {
    const size = layout.allocSize(variable.valueType);
    const align = alignOf(variable, layout);
    const room = Math.ceil(size / align) * align;
    if (bytes + room > nearRange(costs)) continue;
    bytes += room;
    out.push(variable);
  }
  return out;
}

function arrange(
  chosen: readonly GlobalVariable[],
  { nearFrom }: AddressCosts,
  layout: DataLayout,
): GlobalCluster {
  // No padding arises but after sizes that are no multiples of alignments.
  const variables = [...chosen].sort((a, b) => alignOf(b, layout) - alignOf(a, layout));
  const starts = new Map<GlobalValue, number>();
  let end = 0;
  for (const variable of variables) {
    const align = alignOf(variable, layout);
    end = Math.ceil(end / align) * align;
    starts.set(variable, end);
    end += layout.allocSize(variable.valueType);
  }
  const anchor = end > -nearFrom ? -nearFrom : 0;
  for (const [variable, start] of starts) starts.set(variable, start - anchor);
  return { variables, offsets: starts, anchor };
}

/** Takes no room in the file. Only a guess is asked for: the printer sees for itself. */
function isZero({ initializer }: GlobalVariable): boolean {
  const isNull = (constant: Constant): boolean =>
    constant.valueKind === "zero" ||
    constant.valueKind === "undef" ||
    (constant.valueKind === "int" && constant.value === 0n) ||
    (constant.valueKind === "float" && constant.bits === 0n);
  return initializer !== null && isNull(initializer);
}
