/**
 * Final code of a function with AVX: what allocation and frames put in gets its VEX form, and the upper halves of vector
 * registers are zeroed before code that may be of SSE is entered or returned to, as clang does it.
 *
 * Changing to SSE instructions while upper halves are in use is slow, or makes them wait for the last one that wrote the
 * register (Intel's optimization manual, 15.3). A call that may change every vector register may be of such code; what other
 * calls reach was compiled here. Every function leaves them zero, unless it returns one, so that callers need not know: that
 * changes all registers as far as callers with wide values are concerned (`select/entry.ts` says so).
 * For speed, conversions wait for no register that they do not need.
 * One walk over the code until what blocks begin with is known; linear but for that.
 */
import { type MBlock, type MFunction, MInst } from "../../codegen/mir.js";
import { includesSet } from "../../codegen/register-set.js";
import { OpFact } from "../../codegen/target.js";
import { opFacts, opFormat } from "../isa/op-info.js";
import { Format, JumpMark, X } from "../isa/ops.js";
import { XMM0, XMM16, xmmMask } from "../isa/registers.js";
import { vectorFeatures } from "../isa/vector-features.js";
import { useVexFinally } from "../isa/vex.js";
import { V } from "../isa/vex-ops.js";
import { breakPartialWrites } from "./partial-writes.js";

const leaves = OpFact.Return | OpFact.TailCall;

/** Rewrites a function after its frame is there. */
export function finishVexCode(mf: MFunction): void {
  const features = mf.fn.kind === "function" ? vectorFeatures(mf.fn.attributes.fn) : null;
  if (features === null || !features.avx) return breakPartialWrites(mf);
  const vl = features.vl || !features.avx512;
  for (const block of mf.blocks) {
    block.insts = block.insts.filter((inst) => !isIdleCopy(inst));
    for (const inst of block.insts) useVexFinally(inst, vl);
  }
  zeroUpperHalves(mf);
  if (mf.goal === "speed") freeOfLanes(mf);
}

/** Of a register to itself: seen as of another size, it is the same to whoever reads it. Peepholes only know copies that are not in VEX form. */
const isIdleCopy = ({ op, defs, uses }: MInst): boolean =>
  op === X.Copy && defs[0]!.loc === uses[0]!.loc && defs[0]!.loc >= XMM0;

const vectorRegisters = 16;

/**
 * Conversions of integers, and of what is in memory, take their upper lanes from a register that nothing has written lately: they
 * wait for it, though nobody looks at those lanes. One that the function never writes, or else the one whose last write in the
 * block is the furthest away.
 */
function freeOfLanes(mf: MFunction): void {
  const isWritten = new Array<boolean>(vectorRegisters).fill(false);
  for (const { insts } of mf.blocks)
    for (const inst of insts)
      for (const { loc } of inst.defs) if (loc >= XMM0 && loc < XMM16) isWritten[loc - XMM0] = true;
  const never = isWritten.lastIndexOf(false);
  for (const { insts } of mf.blocks) {
    // By register: which instruction of the block wrote it last.
    const writtenAt = new Array<number>(vectorRegisters).fill(-1);
    insts.forEach((inst, at) => {
      if (opFormat[inst.op] === Format.Merge && (inst.mem !== null || inst.uses[0]!.loc < XMM0)) {
        const lanes = never >= 0 ? never : writtenAt.lastIndexOf(Math.min(...writtenAt));
        inst.marks = lanes + 1;
      }
      for (const { loc } of inst.defs) if (loc >= XMM0 && loc < XMM16) writtenAt[loc - XMM0] = at;
    });
  }
}

/** Whether upper halves are in use at the end of a block, where they are or not at its start. */
function dirtyAfter(insts: readonly MInst[], start: boolean): boolean {
  let dirty = start;
  for (const inst of insts) dirty = dirtyBehind(inst, dirty);
  return dirty;
}

function dirtyBehind(inst: MInst, dirty: boolean): boolean {
  return isWide(inst) || (dirty && inst.op !== (V.Zeroupper as number) && !mayBeOfSse(inst));
}

/** Inline assembly with an operand that is wider than 16 bytes. */
const isWideAssembly = ({ extra }: MInst): boolean =>
  extra?.kind === "asm" && extra.operands.some((o) => (o.kind === "def" || o.kind === "use") && o.size >= 32);

/** An instruction after which upper halves may be in use. */
const isWide = (inst: MInst): boolean => (inst.op >= V.Zero && inst.size >= 32) || isWideAssembly(inst);

/** A call that may enter SSE code, which leaves no upper half in use unless it returns one. */
const mayBeOfSse = (inst: MInst): boolean =>
  (opFacts[inst.op]! & OpFact.Call) !== 0 && includesSet(inst.clobbers, xmmMask);

function zeroUpperHalves(mf: MFunction): void {
  const { blocks } = mf;
  if (!blocks.some(({ insts }) => insts.some(isWide))) return;
  const atStart = new Map<MBlock, boolean>();
  const queue: MBlock[] = [...blocks];
  for (let block = queue.pop(); block !== undefined; block = queue.pop()) {
    if (!dirtyAfter(block.insts, atStart.get(block) === true)) continue;
    for (const successor of block.succs)
      if (atStart.get(successor) !== true) {
        atStart.set(successor, true);
        queue.push(successor);
      }
  }
  for (const block of blocks) {
    const out: MInst[] = [];
    let dirty = atStart.get(block) === true;
    for (const inst of block.insts) {
      const leavesTo =
        (opFacts[inst.op]! & leaves) !== 0
          ? true
          : (opFacts[inst.op]! & OpFact.Call) !== 0 && mayBeOfSse(inst);
      if (dirty && leavesTo && (inst.marks & JumpMark.Wide) === 0) {
        out.push(new MInst(V.Zeroupper, 8));
        dirty = false;
      }
      dirty = dirtyBehind(inst, dirty);
      out.push(inst);
    }
    block.insts = out;
  }
}
