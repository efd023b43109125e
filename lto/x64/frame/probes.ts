/**
 * Stack probes (attribute `probe-stack`="inline-asm"): the stack pointer goes down page by page, and each page is
 * touched before the next, so that it cannot jump over the guard page below a stack.
 *
 *     subq $4096, %rsp; movq $0, (%rsp)        for each page of few
 *     leaq -N(%rbp), %rbp; 1: subq $4096, %rsp; movq $0, (%rsp); cmpq %rbp, %rsp; jne 1b; leaq N(%rbp), %rbp
 *
 * A copy after the loop changes nothing: who follows the stack pointer through the code need not count rounds.
 * The loop has no register of its own: it borrows the frame pointer, which functions with so many pages have, and the
 * unwinder is told. What is left below the last page is touched by the next call or page, as in LLVM.
 */
import { type MFunction, MInst } from "../../codegen/mir.js";
import { UnsupportedError } from "../../ir/errors.js";
import { aluImm, aluReg, baseDisp, copy, lea, physical } from "../isa/build.js";
import { X } from "../isa/ops.js";
import { RBP, RSP } from "../isa/registers.js";

/** Pages that are touched one after the other; for more there is a loop. */
const unrolledPages = 8;

/** Bytes that the stack may go down without a probe; 0: as many as it likes. */
export function probeSize({ fn, name }: MFunction): number {
  if (fn.kind !== "function" || fn.attributes.fn.string("probe-stack") !== "inline-asm") return 0;
  const size = Number(fn.attributes.fn.string("stack-probe-size") ?? 4096);
  if (!(size >= 64) || size % 16 !== 0) throw new UnsupportedError("stack-probe-size", name);
  return size;
}

/** Frames of that many bytes want a frame pointer. */
export const loopBytes = (probe: number): number => (unrolledPages + 1) * probe;

/** Lowers rsp by whole pages, as long as more than a page is to come. @returns the bytes that are left */
export function lowerByPages(out: MInst[], bytes: number, probe: number, flagsFree: boolean): number {
  let rest = bytes;
  for (; rest > probe; rest -= probe) {
    out.push(flagsFree ? aluImm(X.Sub, 8, RSP, probe) : lea(8, RSP, baseDisp(RSP, -probe)));
    out.push(new MInst(X.Probe, 8));
  }
  return rest;
}

/**
 * The same by a loop where that is shorter. Flags are free.
 * @param distance of rsp below what the frame pointer points at
 */
export function lowerByLoop(out: MInst[], bytes: number, probe: number, distance: number): number {
  const pages = Math.ceil(bytes / probe) - 1;
  if (pages <= unrolledPages) return lowerByPages(out, bytes, probe, true);
  const goal = distance + pages * probe;
  out.push(lea(8, RBP, baseDisp(RBP, -goal)));
  const loop = new MInst(X.ProbeLoop, 8);
  loop.imm = pages * probe;
  loop.extra = { kind: "number", value: probe };
  out.push(loop);
  out.push(lea(8, RBP, baseDisp(RBP, goal)));
  return bytes - pages * probe;
}

/** `to` = rsp = (rsp - size) & -align, page by page. */
export function allocateByPages(out: MInst[], to: number, size: number, align: number, probe: number): void {
  if (to === size) {
    const negate = new MInst(X.Neg, 8);
    const def = physical(to);
    def.tiedTo = 0;
    negate.defs = [def];
    negate.uses = [physical(to)];
    out.push(negate, aluReg(X.Add, 8, to, RSP));
  } else out.push(copy(8, to, RSP), aluReg(X.Sub, 8, to, size));
  out.push(aluImm(X.And, 8, to, -align));
  const loop = new MInst(X.ProbeTo, 8);
  loop.uses = [physical(to)];
  loop.imm = probe;
  out.push(loop);
}
