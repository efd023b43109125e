/**
 * `llvm.eh.sjlj.setjmp` and `longjmp`, the light pair that `__builtin_setjmp` stands for. The buffer holds the frame
 * pointer, the address to resume at and the stack pointer; the front end has stored the first and the last.
 * Everything else is lost on the second return, so the setjmp clobbers every register.
 */

import { MInst, RegOperand } from "../../codegen/mir.js";
import { minus, union } from "../../codegen/register-set.js";
import type { CallInst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { X } from "../isa/ops.js";
import { everyXmmMask, gprMask, maskOf, RAX, RBP, RCX, RSP } from "../isa/registers.js";
import type { Selector } from "./selector.js";

export function selectSjljSetjmp(s: Selector, call: CallInst, buffer: Value): void {
  s.mf.needsFramePointer = true;
  const inst = new MInst(X.Asm, 8);
  const wanted = s.resultOf(call);
  inst.defs = [new RegOperand(wanted >= 0 ? wanted : s.newGpr(4), maskOf(RAX))];
  inst.uses = [new RegOperand(s.reg(buffer), maskOf(RCX))];
  inst.clobbers = minus(union(gprMask, everyXmmMask), maskOf(RSP, RBP));
  inst.extra = {
    kind: "asm",
    template:
      "leaq 1f(%rip), %rax\n\tmovq %rax, 8(%rcx)\n\txorl %eax, %eax\n\tjmp 2f\n1:\tmovl $$1, %eax\n2:",
    intel: false,
    operands: [],
    unwind: null,
  };
  s.emit(inst);
}

/** Does not return. */
export function selectSjljLongjmp(s: Selector, buffer: Value): void {
  const inst = new MInst(X.Asm, 8);
  inst.uses = [new RegOperand(s.reg(buffer), maskOf(RCX))];
  inst.extra = {
    kind: "asm",
    template: "movq (%rcx), %rbp\n\tmovq 8(%rcx), %rax\n\tmovq 16(%rcx), %rsp\n\tjmp *%rax",
    intel: false,
    operands: [],
    unwind: null,
  };
  s.emit(inst);
}
