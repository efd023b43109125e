/** Makes the pointers that fields of tables stand for. */
import { onlyPredecessors } from "../../analysis/cfg.js";
import { Builder } from "../../ir/builder.js";
import type { Editor } from "../../ir/editor.js";
import { type Block, type Inst, Op } from "../../ir/instructions.js";
import { isNullTest } from "../../ir/move-pointers.js";
import { i32, i64, ptr } from "../../ir/types.js";
import { type Value, zeroOf } from "../../ir/values.js";
import type { Extension } from "./narrowing.js";

/** So many blocks back a test is looked for. */
const farthestTest = 32;

/** Of one body. */
export class PointerMaker {
  /** Of each block the only one before it, once somebody asks. */
  private before: readonly (Block | null)[] | null = null;

  constructor(private readonly editor: Editor) {}

  /** Puts what the field stands for, which is at the address, in place of a pointer that was loaded. */
  replace(pointer: Inst, field: Inst, address: Value, extension: Extension): void {
    const { editor } = this;
    const builder = new Builder(editor).before(pointer);
    if (extension === "distance") {
      editor.replace(pointer, behind(address, field, builder));
      return;
    }
    const tests = this.testField(pointer, field);
    if (!editor.hasUses(pointer)) editor.erase(pointer);
    else if (extension === "low")
      editor.replace(pointer, builder.cast(Op.IntToPtr, builder.cast(Op.ZExt, field, i64), ptr));
    else {
      const there = behind(address, field, builder);
      editor.replaceUsesIf(pointer, there, (user, slot) => this.isGuarded(user, slot, tests));
      if (editor.hasUses(pointer))
        editor.replace(pointer, builder.select(builder.icmp("eq", field, zeroOf(i32)), zeroOf(ptr), there));
      else editor.erase(pointer);
    }
  }

  /** Null is 0 in the field, too. @returns the tests for that */
  private testField(pointer: Inst, field: Inst): ReadonlySet<Value> {
    const tests = new Set<Value>();
    for (const user of this.editor.users(pointer))
      if (isNullTest(user)) {
        const test = new Builder(this.editor).before(user).icmp(user.data as "eq", field, zeroOf(i32));
        tests.add(test);
        this.editor.replace(user, test);
      }
    return tests;
  }

  /** Whether control gets to a use only where one of the tests has found the pointer not to be null. */
  private isGuarded(user: Inst, slot: number, tests: ReadonlySet<Value>): boolean {
    if (tests.size === 0) return false;
    if (this.before === null) {
      this.editor.body.renumber();
      this.before = onlyPredecessors(this.editor.body.blocks);
    }
    let block = user.op === Op.Phi ? user.blocks[slot]! : user.parent!;
    for (let steps = 0; steps < farthestTest; steps++) {
      const from: Block | null = this.before[block.id]!;
      if (from === null) return false;
      const { op, operands, blocks } = from.terminator;
      const test = operands[0];
      if (op === Op.CondBr && tests.has(test!) && blocks[(test as Inst).data === "eq" ? 1 : 0] === block)
        return true;
      block = from;
    }
    return false;
  }
}

/** An integer made a pointer: one computed from the field's address would lead into the table, for all who look at it. */
const behind = (address: Value, field: Value, builder: Builder): Value => {
  const place = builder.cast(Op.PtrToInt, address, i64);
  return builder.cast(Op.IntToPtr, builder.add(place, builder.cast(Op.SExt, field, i64)), ptr);
};
