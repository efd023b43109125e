/** Random damage to objects: the verifier answers with messages, whatever a reader or pass has built. */

import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import { Block, type Inst, makeInst, type Op } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import {
  floatType,
  i1,
  i8,
  i32,
  ptr,
  structType,
  type Type,
  vectorType,
  voidType,
} from "../../lto/ir/types.js";
import { ConstUndef, constI32, InlineAsm, MetadataOperand, type Value } from "../../lto/ir/values.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { Random } from "../support/random.js";
import { fixtureNames, readFixture } from "../text/fixtures.js";

/** Bodies of all fixtures, to take parts from. */
const insts: Inst[] = [];
const functions: Func[] = [];
for (const name of fixtureNames)
  for (const fn of parseModule(readFixture(`${name}.tir`), name).functions) {
    functions.push(fn);
    for (const block of fn.isDeclaration ? [] : fn.view().blocks) insts.push(...block.insts);
  }

const types: readonly Type[] = [
  i1,
  i8,
  i32,
  ptr,
  floatType,
  voidType,
  structType([i32, ptr]),
  vectorType(4, i32),
];

function damage(module: Module, random: Random): void {
  const bodies = module.functions.filter((fn) => !fn.isDeclaration);
  if (bodies.length === 0) return;
  const fn = bodies[random.below(bodies.length)]!;
  const { blocks } = fn.rewrite();
  const block = blocks[random.below(blocks.length)]!;
  if (block === undefined || block.insts.length === 0) return;
  const at = random.below(block.insts.length);
  const inst = block.insts[at]!;
  const other = insts[random.below(insts.length)]!;
  const local = raw(blocks[random.below(blocks.length)]!).insts;
  switch (random.below(14)) {
    case 0:
      raw(block).insts.splice(at, 1);
      break;
    case 1:
      (inst as { data: unknown }).data = other.data;
      break;
    case 2:
      (inst as { op: Op }).op = other.op;
      break;
    case 3:
      (inst as { type: Type }).type = types[random.below(types.length)]!;
      break;
    case 4:
      raw(inst).operands[random.below(inst.operands.length + 1)] =
        local[random.below(local.length)] ?? constI32(1);
      break;
    case 5:
      raw(inst).operands = [...other.operands];
      break;
    case 6:
      raw(inst).blocks = inst.blocks.length > 0 ? [blocks[random.below(blocks.length)]!] : [new Block()];
      break;
    case 7:
      inst.flags ^= 1 << random.below(16);
      break;
    case 8:
      raw(inst).operands.splice(random.below(inst.operands.length + 1), 1);
      break;
    case 9: {
      const odd: Value[] = [
        new InlineAsm(fn.valueType, "", "", false, false, false, false),
        new MetadataOperand(null),
        new ConstUndef(types[random.below(types.length)]!, true),
        functions[random.below(functions.length)]!,
        ...fn.args,
      ];
      raw(inst).operands[random.below(inst.operands.length + 1)] = odd[random.below(odd.length)]!;
      break;
    }
    case 10:
      raw(block).insts.splice(
        at,
        0,
        makeInst(other.op, other.type, [...other.operands], other.data as null, [], other.flags) as Inst,
      );
      break;
    case 11:
      blocks.splice(random.below(blocks.length), 1);
      break;
    case 12:
      (inst as { data: unknown }).data = [null, undefined, {}, [], -1, "x", { align: 4 }][random.below(7)];
      break;
    default: {
      const swap = local[random.below(local.length)];
      if (swap !== undefined) [raw(block).insts[at], local[local.indexOf(swap)]] = [swap, inst];
    }
  }
}

describe("damaged modules", () => {
  const texts = fixtureNames.map((name) => readFixture(`${name}.tir`));
  it.each(fixtureNames.map((name, i) => [name, i] as const))("%s", (_, index) => {
    const random = new Random(index + 100);
    let found = 0;
    const rounds = 150;
    for (let round = 0; round < rounds; round++) {
      const module = parseModule(texts[index]!, "x");
      for (let left = 1 + random.below(3); left > 0; left--) damage(module, random);
      const messages = verifyModule(module);
      if (messages.length > 0) found++;
      for (const message of messages) expect(message.length).toBeLessThan(2000);
    }
    // Some damage is harmless, most is not.
    if (texts[index]!.includes("define")) expect(found).toBeGreaterThan(rounds / 3);
  });
});
