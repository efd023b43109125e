/**
 * Vectors: arithmetic on legal types, and the `tsc.x64.*` internal intrinsics, which stand one for
 * one for SSE instructions (see lower-vectors).
 */
import { MInst, RegOperand } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { type CallInst, callArguments, type Inst, Op, opNames } from "../../ir/instructions.js";
import { isConstant, type Value } from "../../ir/values.js";
import { Format, X } from "../isa/ops.js";
import { withoutExtension } from "./bit-manipulation.js";
import type { Selector } from "./selector.js";
import { foldScalar, setVectorSource, vectorOperands } from "./source.js";

const addOps: Readonly<Record<number, X>> = { 8: X.Paddb, 16: X.Paddw, 32: X.Paddd, 64: X.Paddq };
const subOps: Readonly<Record<number, X>> = { 8: X.Psubb, 16: X.Psubw, 32: X.Psubd, 64: X.Psubq };

/** Integer arithmetic on vectors. Bitwise operations use the single-precision forms: a byte shorter. */
export function selectVectorBinary(s: Selector, inst: Inst): void {
  const bits = inst.type.element.bits;
  let op: number | undefined;
  switch (inst.op) {
    case Op.Add:
      op = addOps[bits];
      break;
    case Op.Sub:
      op = subOps[bits];
      break;
    case Op.Mul:
      op = bits === 16 ? X.Pmullw : bits === 32 && s.vectorFeatures.sse41 ? X.Pmulld : undefined;
      break;
    case Op.And:
      op = X.Andps;
      break;
    case Op.Or:
      op = X.Orps;
      break;
    case Op.Xor:
      op = X.Xorps;
      break;
  }
  if (op === undefined) return s.unsupported(`vector operation ${opNames[inst.op]} on ${inst.type}`);
  const size = s.layout.storeSize(inst.type);
  const machine = new MInst(op, size);
  machine.defs = [RegOperand.tied(s.resultOf(inst))];
  const [a, b] = vectorOperands(s, op, inst.operands[0]!, inst.operands[1]!, size);
  machine.uses = [s.use(a)];
  setVectorSource(s, machine, b, size);
  s.emit(machine);
}

const alu = (op: X) => ({ op, format: Format.Alu });
const aluImm = (op: X) => ({ op, format: Format.AluImm });
const shiftImm = (op: X) => ({ op, format: Format.Shift });
const move = (op: X) => ({ op, format: Format.Mov });
const moveImm = (op: X) => ({ op, format: Format.MovImm });
/** Scalar SSE operations on vectors: the second source is a register, memory would be read too narrowly. */
const scalar = (op: X) => ({ op, format: Format.Compare });

/** By name after `tsc.x64.`. */
const table: Readonly<Record<string, { readonly op: X; readonly format: Format }>> = {
  paddusb: alu(X.Paddusb),
  paddusw: alu(X.Paddusw),
  psubusb: alu(X.Psubusb),
  psubusw: alu(X.Psubusw),
  paddsb: alu(X.Paddsb),
  paddsw: alu(X.Paddsw),
  psubsb: alu(X.Psubsb),
  psubsw: alu(X.Psubsw),
  pmulhw: alu(X.Pmulhw),
  pmulhuw: alu(X.Pmulhuw),
  pmullw: alu(X.Pmullw),
  pmuludq: alu(X.Pmuludq),
  pmaddwd: alu(X.Pmaddwd),
  pavgb: alu(X.Pavgb),
  pavgw: alu(X.Pavgw),
  pminub: alu(X.Pminub),
  pmaxub: alu(X.Pmaxub),
  pminsw: alu(X.Pminsw),
  pmaxsw: alu(X.Pmaxsw),
  psadbw: alu(X.Psadbw),
  pcmpeqb: alu(X.Pcmpeqb),
  pcmpeqw: alu(X.Pcmpeqw),
  pcmpeqd: alu(X.Pcmpeqd),
  pcmpgtb: alu(X.Pcmpgtb),
  pcmpgtw: alu(X.Pcmpgtw),
  pcmpgtd: alu(X.Pcmpgtd),
  psllw: alu(X.Psllw),
  pslld: alu(X.Pslld),
  psllq: alu(X.Psllq),
  psrlw: alu(X.Psrlw),
  psrld: alu(X.Psrld),
  psrlq: alu(X.Psrlq),
  psraw: alu(X.Psraw),
  psrad: alu(X.Psrad),
  psllwi: shiftImm(X.Psllw),
  pslldi: shiftImm(X.Pslld),
  psllqi: shiftImm(X.Psllq),
  psrlwi: shiftImm(X.Psrlw),
  psrldi: shiftImm(X.Psrld),
  psrlqi: shiftImm(X.Psrlq),
  psrawi: shiftImm(X.Psraw),
  psradi: shiftImm(X.Psrad),
  pslldq: shiftImm(X.Pslldq),
  psrldq: shiftImm(X.Psrldq),
  packsswb: alu(X.Packsswb),
  packssdw: alu(X.Packssdw),
  packuswb: alu(X.Packuswb),
  punpcklbw: alu(X.Punpcklbw),
  punpcklwd: alu(X.Punpcklwd),
  punpckldq: alu(X.Punpckldq),
  punpcklqdq: alu(X.Punpcklqdq),
  punpckhbw: alu(X.Punpckhbw),
  punpckhwd: alu(X.Punpckhwd),
  punpckhdq: alu(X.Punpckhdq),
  punpckhqdq: alu(X.Punpckhqdq),
  pshufd: moveImm(X.Pshufd),
  pshuflw: moveImm(X.Pshuflw),
  pshufhw: moveImm(X.Pshufhw),
  shufps: aluImm(X.Shufps),
  shufpd: aluImm(X.Shufpd),
  cmpps: aluImm(X.Cmpps),
  cmppd: aluImm(X.Cmppd),
  unpcklps: alu(X.Unpcklps),
  unpckhps: alu(X.Unpckhps),
  unpcklpd: alu(X.Unpcklpd),
  unpckhpd: alu(X.Unpckhpd),
  movss: scalar(X.MovssMerge),
  movsd: scalar(X.MovsdMerge),
  pandn: alu(X.Andnps),
  andnps: alu(X.Andnps),
  andnpd: alu(X.Andnps),
  andps: alu(X.Andps),
  orps: alu(X.Orps),
  xorps: alu(X.Xorps),
  minps: alu(X.Minps),
  minpd: alu(X.Minpd),
  maxps: alu(X.Maxps),
  maxpd: alu(X.Maxpd),
  minss: scalar(X.Minss),
  minsd: scalar(X.Minsd),
  maxss: scalar(X.Maxss),
  maxsd: scalar(X.Maxsd),
  addss: scalar(X.Addss),
  addsd: scalar(X.Addsd),
  subss: scalar(X.Subss),
  subsd: scalar(X.Subsd),
  mulss: scalar(X.Mulss),
  mulsd: scalar(X.Mulsd),
  divss: scalar(X.Divss),
  divsd: scalar(X.Divsd),
  cmpss: { op: X.Cmpss, format: Format.DoubleShift },
  cmpsd: { op: X.Cmpsd, format: Format.DoubleShift },
  sqrtps: move(X.Sqrtps),
  sqrtpd: move(X.Sqrtpd),
  rcpps: move(X.Rcpps),
  rsqrtps: move(X.Rsqrtps),
  cvtdq2ps: move(X.Cvtdq2ps),
  cvtps2dq: move(X.Cvtps2dq),
  cvttps2dq: move(X.Cvttps2dq),
  cvtdq2pd: move(X.Cvtdq2pd),
  cvtpd2dq: move(X.Cvtpd2dq),
  cvttpd2dq: move(X.Cvttpd2dq),
  cvtps2pd: move(X.Cvtps2pd),
  cvtpd2ps: move(X.Cvtpd2ps),
};

/** Register moves between the files and masks: name → [op, operation size]. */
const transfers: Readonly<Record<string, readonly [X, number]>> = {
  "movd.to": [X.MovdTo, 4],
  "movd.from": [X.MovdFrom, 4],
  "movq.to": [X.MovqTo, 8],
  "movq.from": [X.MovqFrom, 8],
  movmskps: [X.Movmskps, 4],
  movmskpd: [X.Movmskpd, 4],
  pmovmskb: [X.Pmovmskb, 4],
  cvtss2si: [X.Cvtss2si, 4],
  cvttss2si: [X.Cvttss2si, 4],
  cvtsd2si: [X.Cvtsd2si, 4],
  cvttsd2si: [X.Cvttsd2si, 4],
  cvtss2si64: [X.Cvtss2si, 8],
  cvttss2si64: [X.Cvttss2si, 8],
  cvtsd2si64: [X.Cvtsd2si, 8],
  cvttsd2si64: [X.Cvttsd2si, 8],
};

/** Lowers a call of `tsc.x64.<name>`; false when there is no such instruction. */
export function selectVectorIntrinsic(s: Selector, call: CallInst, name: string): boolean {
  const args = callArguments(call);
  const result = s.resultOf(call);
  const transfer = transfers[name];
  if (transfer !== undefined) {
    const mem = name.endsWith(".to") ? foldScalar(s, args[0]!, transfer[1]) : null;
    if (mem !== null) {
      const load = new MInst(transfer[0], transfer[1], [new RegOperand(result)]);
      load.mem = mem;
      s.emit(load);
      return true;
    }
    s.unary(transfer[0], transfer[1], result, s.reg(args[0]!));
    return true;
  }
  if (selectSpecial(s, name, args, result)) return true;
  const entry = table[name];
  if (entry === undefined) return false;
  const machine = new MInst(entry.op, 16);
  const tied = entry.format !== Format.Mov && entry.format !== Format.MovImm;
  machine.defs = [tied ? RegOperand.tied(result) : new RegOperand(result)];
  switch (entry.format) {
    case Format.Alu:
    case Format.AluImm: {
      const [a, b] = vectorOperands(s, entry.op, args[0]!, args[1]!, 16);
      machine.uses.push(s.use(a));
      // Of one value in both places the result overwrites the copy.
      setVectorSource(s, machine, a === b ? b : lowLane(s, b), 16);
      if (entry.format === Format.AluImm) machine.imm = constantNumber(args[2]!)! & 0xff;
      break;
    }
    case Format.Compare:
    case Format.DoubleShift:
      machine.uses.push(s.use(args[0]!), s.use(args[1]!));
      if (entry.format === Format.DoubleShift) machine.imm = constantNumber(args[2]!)! & 0xff;
      machine.size = name.endsWith("ss") ? 4 : 8;
      break;
    case Format.Shift:
      machine.uses.push(s.use(args[0]!));
      machine.imm = constantNumber(args[1]!)! & 0xff;
      break;
    default:
      setVectorSource(s, machine, lowLane(s, args[0]!), 16);
      // These read only the low 8 bytes of a memory source; fold registers alone.
      if (machine.mem !== null && (entry.op === X.Cvtdq2pd || entry.op === X.Cvtps2pd)) {
        machine.mem = null;
        machine.uses.push(s.use(args[0]!));
      }
      for (const use of machine.uses)
        if (entry.op === X.Cvtdq2pd || entry.op === X.Cvtps2pd) use.mayBeSlot = false;
      if (entry.format === Format.MovImm) machine.imm = constantNumber(args[1]!)! & 0xff;
  }
  s.emit(machine);
  return true;
}

/** A number in place of the vector that it is the low lane of, if its other lanes are anything: it is in the same register. */
function lowLane(s: Selector, value: Value): Value {
  const vector = s.resolve(value);
  if (vector.valueKind !== "inst" || vector.op !== Op.Call) return value;
  const [callee, lane] = vector.operands as [Value, Value];
  const isOfLane = callee.valueKind === "global" && /^tsc\.x64\.s[sd]\.to$/.test(callee.name);
  return isOfLane && !isConstant(lane) ? lane : value;
}

function selectSpecial(s: Selector, name: string, args: Value[], result: number): boolean {
  switch (name) {
    case "ss.to":
    case "sd.to":
    case "ss.from":
    case "sd.from": {
      const source = s.reg(args[0]!);
      s.copy(result, source, Math.min(s.mf.vregs[result]!.size, s.mf.vregs[source]!.size));
      return true;
    }
    case "pinsrw": {
      const word = withoutExtension(s, args[1]!, 16);
      const inst = s.binary(X.Pinsrw, 16, result, s.reg(args[0]!), s.reg(word));
      inst.imm = constantNumber(args[2]!)! & 7;
      return true;
    }
    case "pextrw": {
      const inst = s.unary(X.Pextrw, 4, result, s.reg(args[0]!));
      inst.imm = constantNumber(args[1]!)! & 7;
      return true;
    }
    case "sqrtss":
    case "sqrtsd":
    case "rcpss":
    case "rsqrtss": {
      // The upper lanes come from the source: copy it, then replace the low lane.
      const op = { sqrtss: X.Sqrtss, sqrtsd: X.Sqrtsd, rcpss: X.Rcpss, rsqrtss: X.Rsqrtss }[name];
      const size = name === "sqrtsd" ? 8 : 4;
      const low = s.newXmm();
      s.unary(op, size, low, s.reg(args[0]!));
      s.binary(size === 8 ? X.MovsdMerge : X.MovssMerge, size, result, s.reg(args[0]!), low);
      return true;
    }
    default:
      return false;
  }
}
