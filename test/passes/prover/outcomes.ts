/**
 * What a function of a few integer operations may return: all outcomes, with undef and poison as LangRef has them.
 *
 * Each use of undef, and of what was computed of it, is a value of its own, so operands are evaluated anew at each
 * use; freeze holds one. Operations are tables, filled by the interpreter's semantics of single operations.
 */
import { type Inst, Op } from "../../../lto/ir/instructions.js";
import type { Func } from "../../../lto/ir/module.js";
import type { Value } from "../../../lto/ir/values.js";
import { breaksFlags } from "../../support/interpreter/flags.js";
import {
  binary,
  cast,
  compare,
  intIntrinsic,
  Undefined,
  withOverflow,
} from "../../support/interpreter/scalar-ops.js";

export const poison = -1;
/** Of an argument: another value at each use. */
export const undef = -3;
const undefinedBehaviour = -2;

/** Values as bits of `values`; what else is possible beside. */
export interface Outcomes {
  values: number;
  poison: boolean;
  undefined: boolean;
}

/** Whether everything that `after` may do, `before` allows: poison and undefined behaviour allow anything. */
export function allows(before: Outcomes, after: Outcomes): boolean {
  if (before.undefined) return true;
  if (after.undefined) return false;
  return before.poison || (!after.poison && (after.values & ~before.values) === 0);
}

interface Node {
  readonly kind: "constant" | "undef" | "argument" | "freeze" | "select" | "table";
  /** The constant, or the number of the argument or freeze. */
  readonly value: number;
  readonly width: number;
  readonly args: readonly Node[];
  readonly table: Int8Array;
  readonly divides: boolean;
}

const none = new Int8Array(0);
const leaf = (kind: Node["kind"], value: number, width: number): Node => ({
  kind,
  value,
  width,
  args: [],
  table: none,
  divides: false,
});

const tables = new Map<string, Int8Array>();

/** All results of an operation: index is the first operand, then the second above its bits, … */
function tableOf(
  key: string,
  widths: readonly number[],
  compute: (args: bigint[]) => bigint | null,
): Int8Array {
  const known = tables.get(key);
  if (known !== undefined) return known;
  const table = new Int8Array(2 ** widths.reduce((sum, width) => sum + width, 0));
  for (let i = 0; i < table.length; i++) {
    let rest = i;
    const args = widths.map((width) => {
      const value = rest % 2 ** width;
      rest >>= width;
      return BigInt(value);
    });
    try {
      const result = compute(args);
      table[i] = result === null ? poison : Number(result);
    } catch (error) {
      if (!(error instanceof Undefined)) throw error;
      table[i] = undefinedBehaviour;
    }
  }
  tables.set(key, table);
  return table;
}

/** A function without branches, ready to be evaluated. */
export class Evaluation {
  private readonly root: Node;
  private freezes = 0;
  private readonly frozen: number[] = [];
  private args: readonly number[] = [];
  private readonly choices: number[] = [];
  private readonly limits: number[] = [];
  private at = 0;

  constructor(private readonly fn: Func) {
    const [block] = fn.view().blocks;
    const result = block!.insts.at(-1)!;
    if (result.op !== Op.Ret) throw new Error("prover: a function with branches");
    this.root = this.compile(result.operands[0]!, new Map());
  }

  private compile(value: Value, seen: Map<Value, Node>): Node {
    const known = seen.get(value);
    if (known !== undefined) return known;
    const node = this.node(value, seen);
    seen.set(value, node);
    return node;
  }

  private node(value: Value, seen: Map<Value, Node>): Node {
    const type = value.type;
    const width = type.kind === "int" ? type.bits : 0;
    switch (value.valueKind) {
      case "int":
        return leaf("constant", Number(BigInt.asUintN(width, value.value)), width);
      case "zero":
        return leaf("constant", 0, width);
      case "undef":
        return value.poison ? leaf("constant", poison, width) : leaf("undef", 0, width);
      case "argument":
        return leaf("argument", this.fn.args.indexOf(value), width);
      case "inst":
        return this.operation(value, width, seen);
      default:
        throw new Error(`prover: operand ${value.valueKind}`);
    }
  }

  private operation(inst: Inst, width: number, seen: Map<Value, Node>): Node {
    const { op, flags } = inst;
    if (op === Op.ExtractValue) {
      const call = inst.operands[0]!;
      if (call.valueKind !== "inst" || call.op !== Op.Call) throw new Error("prover: extractvalue");
      return this.call(call, width, inst.data[0]!, seen);
    }
    if (op === Op.Call) return this.call(inst, width, -1, seen);
    const args = inst.operands.map((operand) => this.compile(operand, seen));
    if (op === Op.Freeze) return { ...leaf("freeze", this.freezes++, width), args };
    if (op === Op.Select) return { ...leaf("select", 0, width), args };
    const widths = args.map((arg) => arg.width);
    const from = inst.operands[0]!.type;
    const predicate = op === Op.ICmp ? inst.data : "";
    const table = tableOf(`${op} ${flags} ${predicate} ${widths} ${width}`, widths, ([a, b]) => {
      let result: bigint | null;
      if (op === Op.ICmp) result = compare(predicate, from, a!, b!);
      else if (op >= Op.Add && op <= Op.Xor) result = binary(op, from, a!, b!);
      else if (op === Op.Trunc || op === Op.ZExt || op === Op.SExt) result = cast(op, from, inst.type, a!);
      else throw new Error(`prover: opcode ${op}`);
      const broken = result !== null && breaksFlags(op, flags, widths[0]!, width, a!, b ?? 0n);
      return broken ? null : result;
    });
    const divides = op === Op.UDiv || op === Op.SDiv || op === Op.URem || op === Op.SRem;
    return { kind: "table", value: 0, width, args, table, divides };
  }

  /** @param member of the result that is asked for, or -1 */
  private call(call: Inst, width: number, member: number, seen: Map<Value, Node>): Node {
    const callee = call.operands[0] as Func;
    const base = /^llvm\.(.*)\.i\d+$/.exec(callee.name)?.[1];
    if (base === undefined) throw new Error(`prover: call of ${callee.name}`);
    const args = call.operands.slice(1).map((operand) => this.compile(operand, seen));
    const widths = args.map((arg) => arg.width);
    const own = widths[0]!;
    const table = tableOf(`${base} ${member} ${widths}`, widths, (values) => {
      if (member >= 0) return withOverflow(base, own, values[0]!, values[1]!)[member]!;
      // The interpreter takes the most negative number for its own absolute value, whatever the flag.
      if (base === "abs" && values[1] === 1n && values[0] === 1n << BigInt(own - 1)) return null;
      const result = intIntrinsic(base, own, values);
      if (result === undefined) throw new Error(`prover: intrinsic ${base}`);
      return result;
    });
    return { kind: "table", value: 0, width, args, table, divides: false };
  }

  private choose(width: number): number {
    const { at } = this;
    if (at === this.choices.length) {
      this.choices.push(0);
      this.limits.push(2 ** width);
    }
    this.at++;
    return this.choices[at]!;
  }

  private evaluate(node: Node): number {
    switch (node.kind) {
      case "constant":
        return node.value;
      case "undef":
        return this.choose(node.width);
      case "argument": {
        const value = this.args[node.value]!;
        return value === undef ? this.choose(node.width) : value;
      }
      case "freeze": {
        const known = this.frozen[node.value];
        if (known !== undefined) return known;
        let value = this.evaluate(node.args[0]!);
        if (value === poison) value = this.choose(node.width);
        this.frozen[node.value] = value;
        return value;
      }
      case "select": {
        const condition = this.evaluate(node.args[0]!);
        const [a, b] = [this.evaluate(node.args[1]!), this.evaluate(node.args[2]!)];
        if (condition === undefinedBehaviour || a === undefinedBehaviour || b === undefinedBehaviour)
          return undefinedBehaviour;
        return condition === poison ? poison : condition === 0 ? b : a;
      }
      case "table":
        return this.lookUp(node);
    }
  }

  private lookUp({ args, table, divides }: Node): number {
    let index = 0;
    let shift = 0;
    let isPoison = false;
    for (let i = 0; i < args.length; i++) {
      const value = this.evaluate(args[i]!);
      if (value === undefinedBehaviour) return value;
      if (value === poison) {
        if (divides && i === 1) return undefinedBehaviour;
        isPoison = true;
      } else index |= value << shift;
      shift += args[i]!.width;
    }
    // A dividend that is poison may be the one of which the division by this divisor is undefined.
    if (isPoison) {
      if (!divides) return poison;
      const width = args[0]!.width;
      const divisor = index >> width;
      const least = 2 ** (width - 1);
      const undefinedOfLeast = table[(divisor << width) | least] === undefinedBehaviour;
      return undefinedOfLeast ? undefinedBehaviour : poison;
    }
    return table[index]!;
  }

  /** All outcomes on these arguments; null: too many choices. */
  outcomes(args: readonly number[]): Outcomes | null {
    this.args = args;
    this.choices.length = 0;
    this.limits.length = 0;
    const out: Outcomes = { values: 0, poison: false, undefined: false };
    for (let runs = 0; runs < 8192; runs++) {
      this.at = 0;
      this.frozen.length = 0;
      const result = this.evaluate(this.root);
      if (result === poison) out.poison = true;
      else if (result === undefinedBehaviour) out.undefined = true;
      else out.values |= 1 << result;
      // Counts on, the last choice first.
      for (;;) {
        const last = this.choices.length - 1;
        if (last < 0) return out;
        if (++this.choices[last]! < this.limits[last]!) break;
        this.choices.pop();
        this.limits.pop();
      }
    }
    return null;
  }
}
