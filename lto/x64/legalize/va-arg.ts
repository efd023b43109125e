/** The next variable argument (System V AMD64 ABI 3.5.7). */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { loadParts } from "../../codegen/legalize/memory-parts.js";
import { type Inst, Op } from "../../ir/instructions.js";
import { i32, i64, ptr, type Type } from "../../ir/types.js";
import { constI64, constInt, type Value } from "../../ir/values.js";

/**
 * va_arg by the register save area: gp_offset at 0, fp_offset at 4,
 * overflow_arg_area at 8, reg_save_area at 16. Types that do not go in one or two registers of one class
 * come from the overflow area.
 */
export function lowerVAArg(l: Lowering, inst: Inst): Parts {
  const list = l.value(inst.operands[0]!);
  const type = inst.type;
  const size = l.layout.allocSize(type);
  const isWords = (type.kind === "int" && type.bits <= 128) || type.kind === "ptr";
  const isVectorClass =
    type.kind === "float" ||
    type.kind === "double" ||
    type.kind === "half" ||
    type.kind === "bfloat" ||
    type.kind === "fp128" ||
    (type.kind === "vector" && size <= 16);
  if (!isWords && !isVectorClass)
    return loadParts(l, type, fromOverflow(l, list, type), l.layout.abiAlign(type));

  const step = isWords ? Math.ceil(size / 8) * 8 : 16;
  const limit = isWords ? 48 : 176;
  const offsetAt = l.offset(list, isWords ? 0 : 4);
  const offset = l.load(i32, offsetAt, 4);
  const inRegisters = l.newBlock();
  const inMemory = l.newBlock();
  const join = l.newBlock();
  l.branch(l.icmp("ule", offset, constInt(i32, limit - step)), inRegisters, inMemory);

  l.continueIn(inRegisters);
  const area = l.load(ptr, l.offset(list, 16), 8);
  const saved = l.offsetBy(area, l.cast(Op.ZExt, offset, i64));
  l.store(l.add(offset, constInt(i32, step)), offsetAt, 4);
  l.jump(join);

  l.continueIn(inMemory);
  const overflow = fromOverflow(l, list, type);
  l.jump(join);

  l.continueIn(join);
  const address = l.phi(ptr, [
    [saved, inRegisters],
    [overflow, inMemory],
  ]);
  return loadParts(l, type, address, isWords ? 8 : Math.min(16, l.layout.abiAlign(type)));
}

/** Takes the next argument from the overflow area; its address. */
function fromOverflow(l: Lowering, list: Value, type: Type): Value {
  const field = l.offset(list, 8);
  let area = l.load(ptr, field, 8);
  const align = l.layout.abiAlign(type);
  if (align > 8) {
    const bumped = l.cast(Op.PtrToInt, l.offset(area, align - 1), i64);
    area = l.cast(Op.IntToPtr, l.and(bumped, constI64(-align)), ptr);
  }
  l.store(l.offset(area, Math.ceil(l.layout.allocSize(type) / 8) * 8), field, 8);
  return area;
}
