/** `llvm.type.test` and `llvm.type.checked.load`. */
import { i32, ptr } from "../../../lto/ir/types.js";
import type { Value } from "../../../lto/ir/values.js";
import type { Interpreter, Val, World } from "./interpreter.js";
import { Undefined } from "./scalar-ops.js";

export function typeQuery(
  interpreter: Interpreter,
  world: World | null,
  name: string,
  operands: readonly Value[],
): Val {
  const decided = (value: Value): bigint => {
    const result = interpreter.value(value);
    if (typeof result !== "bigint") throw new Undefined("a table that is poison");
    return result;
  };
  const pointer = decided(operands[0]!);
  const type = operands[operands.length - 1]!;
  if (world === null || type.valueKind !== "metadata") throw new Error(`interpreter: ${name}`);
  const holds = world.hasType(pointer, type.text ?? "") ? 1n : 0n;
  if (name.endsWith("type.test")) return holds;
  const place = Number(BigInt.asUintN(64, pointer + BigInt.asIntN(32, decided(operands[1]!))));
  if (place + 8 > interpreter.memory.length) throw new Undefined("a table outside of memory");
  if (!name.endsWith(".relative")) return [interpreter.loadType(ptr, place), holds];
  const displacement = interpreter.loadType(i32, place) as bigint;
  return [BigInt.asUintN(64, pointer + BigInt.asIntN(32, displacement)), holds];
}
