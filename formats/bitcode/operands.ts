/** What an instruction mentions besides values that have numbers already: types, constants, metadata. */
import { type Inst, Op } from "../../lto/ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../lto/ir/intrinsics.js";
import { i32, type Type, vectorType } from "../../lto/ir/types.js";
import {
  ConstAggregate,
  type Constant,
  ConstUndef,
  constI32,
  type MetadataOperand,
} from "../../lto/ir/values.js";
import type { MetadataNodes, NodeOperand } from "../metadata.js";
import { isTableValue, type TableValue } from "./constants.js";

/** Of the instruction and of what it names; those of constants have their numbers from these. */
export function typesIn(inst: Inst): Type[] {
  const types = [inst.type];
  switch (inst.op) {
    case Op.Alloca:
      types.push(inst.data.allocatedType);
      break;
    case Op.GetElementPtr:
      types.push(inst.data.elementType);
      break;
    case Op.Call:
    case Op.Invoke:
    case Op.CallBr:
      types.push(inst.data.functionType);
      break;
  }
  for (const operand of inst.operands) types.push(operand.type);
  return types;
}

/** One constant for each mask. */
const masks = new WeakMap<readonly number[], Constant>();

/** The mask of a `shufflevector` as the constant vector that it is in bitcode. */
export function maskOf(lanes: readonly number[]): Constant {
  let mask = masks.get(lanes);
  if (mask === undefined) {
    const elements = lanes.map((lane) => (lane < 0 ? new ConstUndef(i32, true) : constI32(lane)));
    mask = new ConstAggregate(vectorType(lanes.length, i32), elements);
    masks.set(lanes, mask);
  }
  return mask;
}

/** Constants and inline assembly that are operands of a record. */
export function* constantsIn(inst: Inst): Generator<TableValue> {
  for (const operand of inst.operands) if (isTableValue(operand)) yield operand;
  if (inst.op === Op.Switch) yield* inst.data;
  else if (inst.op === Op.ShuffleVector) yield maskOf(inst.data);
}

/** Intrinsics whose metadata operand is a node around the string rather than the string. */
const takesNode: ReadonlySet<Intrinsic | null> = new Set([
  intrinsics.read_register,
  intrinsics.read_volatile_register,
  intrinsics.write_register,
]);

/** A metadata operand of a call of an intrinsic. */
export function metadataOperand({ text }: MetadataOperand, call: Inst, nodes: MetadataNodes): NodeOperand {
  const node = (operands: readonly NodeOperand[]): NodeOperand => ({
    kind: "node",
    node: nodes.node(operands),
  });
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (text !== null) {
    const string: NodeOperand = { kind: "string", text };
    return takesNode.has(intrinsic) ? node([string]) : string;
  }
  if (intrinsic !== intrinsics["experimental.noalias.scope.decl"]) return node([]);
  // LLVM insists on the shape of a scope list even where nothing refers to the scope.
  const name: NodeOperand = { kind: "string", text: "" };
  return node([node([name, node([name])])]);
}
