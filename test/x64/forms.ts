/** Every opcode in every operand form, as machine instructions with physical operands. */

import {
  type JumpTable,
  MBlock,
  type MemOperand,
  MInst,
  RegOperand,
  type SymbolRef,
} from "../../lto/codegen/mir.js";
import { hasSegment, memory } from "../../lto/x64/isa/memory-operand.js";
import { opcodeCount, opFormat } from "../../lto/x64/isa/op-info.js";
import { Format, X } from "../../lto/x64/isa/ops.js";

const reg = (r: number): RegOperand => RegOperand.physical(r);
const external: SymbolRef = { kind: "direct", target: { kind: "external", name: "sym" } };
const tpoff: SymbolRef = { kind: "tls-offset", target: { kind: "external", name: "tls_sym" } };
const got: SymbolRef = { kind: "got", target: { kind: "external", name: "sym" } };

const gprs = [0, 1, 3, 5, 6, 7, 8, 12, 13, 15];
const xmms = [16, 17, 23, 24, 31];

/** Memory operands that differ in how they encode. */
export function memories(): MemOperand[] {
  const out: MemOperand[] = [];
  const disps = [0, 8, -128, 127, 128, -129, 100000];
  for (const base of [0, 3, 4, 5, 8, 12, 13])
    for (const disp of disps) {
      out.push(memory(reg(base), null, 1, disp));
      if (disp < 9) out.push(memory(reg(base), reg(disp === 0 ? 1 : 9), disp === 8 ? 4 : 1, disp));
    }
  for (const index of [1, 5, 12, 13])
    for (const scale of [2, 8] as const) {
      out.push(memory(null, reg(index), scale, 16));
      out.push(memory(reg(13), reg(index), scale, 0));
      out.push(memory(null, reg(index), scale, 4, external));
    }
  out.push(memory(null, null, 1, 0, external, true));
  out.push(memory(null, null, 1, 4, external, true));
  out.push(memory(null, null, 1, 0, got, true));
  out.push(memory(null, null, 1, 0, external));
  out.push(memory(reg(0), null, 1, 4, external));
  out.push(memory(reg(12), reg(9), 2, 4, external));
  out.push(memory(null, null, 1, 40, null, false, -1, "fs"));
  out.push(memory(null, null, 1, 0, tpoff, false, -1, "fs"));
  out.push(memory(reg(0), null, 1, 8, null, false, -1, "gs"));
  out.push(memory(null, null, 1, 4096));
  return out;
}

const immediates = [0, 1, -1, 2, 127, -128, 128, -129, 200, 255, 256, 32767, -32768, 0x7fffffff, -0x80000000];

/** Builder of one instruction. */
interface Parts {
  defs?: number[];
  uses?: number[];
  mem?: MemOperand | null;
  imm?: number | bigint | null;
  symbol?: SymbolRef | null;
  cc?: number;
}

function make(op: X, size: number, parts: Parts): MInst {
  const inst = new MInst(op, size);
  inst.defs = (parts.defs ?? []).map(reg);
  inst.uses = (parts.uses ?? []).map(reg);
  inst.mem = parts.mem ?? null;
  inst.imm = parts.imm ?? null;
  inst.symbol = parts.symbol ?? null;
  inst.condition = parts.cc ?? -1;
  return inst;
}

const isSse = (op: X): boolean => op >= X.Movss && op <= X.StmxcsrM;
const generalResult = new Set([
  X.MovdFrom,
  X.MovqFrom,
  X.Cvttss2si,
  X.Cvttsd2si,
  X.Cvtss2si,
  X.Cvtsd2si,
  X.Pextrw,
  X.Movmskps,
  X.Movmskpd,
  X.Pmovmskb,
]);
const generalSource = new Set([X.MovdTo, X.MovqTo, X.Cvtsi2ss, X.Cvtsi2sd, X.Pinsrw]);
const registerOnly = new Set([
  X.MovssMerge,
  X.MovsdMerge,
  X.Movmskps,
  X.Movmskpd,
  X.Pmovmskb,
  X.Pextrw,
  X.MovdFrom,
  X.MovqFrom,
]);

/** Widths at which an opcode exists. */
function sizesOf(op: X): number[] {
  if (isSse(op)) return op >= X.Cvtsi2ss && op <= X.Cvtsd2si ? [4, 8] : [16];
  switch (op) {
    case X.Copy:
      return [4, 8];
    case X.Movzx8:
    case X.Movsx8:
    case X.Imul:
    case X.ImulImm:
    case X.Bt:
    case X.Bts:
    case X.Btr:
    case X.Btc:
    case X.Bsf:
    case X.Bsr:
    case X.Tzcnt:
    case X.Lzcnt:
    case X.Popcnt:
    case X.Cmov:
    case X.Shld:
    case X.Shrd:
    case X.SignRax:
    case X.ExtendRax:
      return [2, 4, 8];
    case X.Movzx16:
    case X.Movsx16:
    case X.Lea:
    case X.Bswap:
      return [4, 8];
    case X.Movsxd:
      return [8];
    case X.Setcc:
    case X.SetccM:
      return [1];
    case X.LockCmpxchg16b:
      return [16];
    case X.Fld:
    case X.FstpM:
      return [4, 8, 10];
    case X.Fild:
    case X.FistpM:
    case X.FisttpM:
      return [2, 4, 8];
    case X.Push:
    case X.Pop:
    case X.PushSaved:
    case X.PopSaved:
      return [8];
    default:
      return [1, 2, 4, 8];
  }
}

/** Calls `use` with every pair of neighbouring registers of a list, both ways. */
function pairs(list: readonly number[], use: (a: number, b: number) => void): void {
  for (let i = 0; i < list.length; i++) {
    use(list[i]!, list[(i + 1) % list.length]!);
    use(list[(i + 3) % list.length]!, list[i]!);
  }
}

/** All forms of one opcode at one size. */
function formsOf(op: X, size: number, mems: readonly MemOperand[]): MInst[] {
  const out: MInst[] = [];
  const add = (parts: Parts): void => void out.push(make(op, size, parts));
  const sse = isSse(op);
  const to = sse && !generalResult.has(op) ? xmms : gprs;
  const from = sse && !generalSource.has(op) ? xmms : gprs;
  const each = (use: (r: number, m: MemOperand) => void, list: readonly number[] = to): void => {
    mems.forEach((m, i) => void use(list[i % list.length]!, m));
  };
  const format = opFormat[op]!;
  switch (format) {
    case Format.Mov:
    case Format.Extend:
      if (op === X.Copy) {
        pairs(gprs, (a, b) => add({ defs: [a], uses: [b] }));
        pairs(xmms, (a, b) => add({ defs: [a], uses: [b] }));
        break;
      }
      for (const a of to) for (const b of from) add({ defs: [a], uses: [b] });
      if (!registerOnly.has(op)) each((r, mem) => add({ defs: [r], mem }));
      if (op === X.MovdFrom || op === X.MovqFrom) each((r, mem) => add({ uses: [r], mem }), xmms);
      if (op === X.Mov) {
        for (const r of gprs) for (const imm of immediates) add({ defs: [r], imm });
        if (size === 8)
          for (const imm of [0x80000000n, 0xffffffffn, 0x100000000n, -0x80000001n, -1n])
            add({ defs: [9], imm });
        if (size >= 4) for (const r of [0, 9]) add({ defs: [r], symbol: external, imm: 4 });
        if (size === 8) add({ defs: [9], symbol: tpoff });
      }
      break;
    case Format.MovM:
      each((r, mem) => add({ uses: [r], mem }), from);
      if (op === X.MovM) {
        mems.forEach((mem, i) => void add({ mem, imm: immediates[i % immediates.length]! }));
        if (size >= 4) add({ mem: mems[0]!, symbol: external });
      }
      break;
    case Format.Alu: {
      const cc = op === X.Cmov ? 4 : -1;
      if (op !== X.Pslldq && op !== X.Psrldq)
        for (const a of to) for (const b of from) add({ defs: [a], uses: [a, b], cc });
      const bits = op === X.Bts || op === X.Btr || op === X.Btc;
      if (!registerOnly.has(op) && !bits && op !== X.Pslldq && op !== X.Psrldq)
        each((r, mem) => add({ defs: [r], uses: [r], mem, cc }));
      if (op >= X.Psllw && op <= X.Psrldq) for (const r of xmms) add({ defs: [r], uses: [r], imm: 4 });
      if (bits) for (const r of gprs) add({ defs: [r], uses: [r], imm: 7 });
      if (op <= X.Xor) {
        for (const r of gprs) for (const imm of immediates) add({ defs: [r], uses: [r], imm });
        if (size >= 4) for (const r of [0, 3, 9]) add({ defs: [r], uses: [r], symbol: external });
      }
      break;
    }
    case Format.AluM:
    case Format.CompareM:
      each((r, mem) => add({ uses: [r], mem }));
      mems.forEach((mem, i) => void add({ mem, imm: immediates[i % immediates.length]! }));
      break;
    case Format.Compare:
      for (const a of to) for (const b of from) add({ uses: [a, b] });
      if (op !== X.Bt) each((r, mem) => add({ uses: [r], mem }));
      if (!sse)
        for (const r of gprs) for (const imm of op === X.Bt ? [0, 31] : immediates) add({ uses: [r], imm });
      break;
    case Format.Unary:
      for (const r of gprs) if (op !== X.Bswap || size >= 4) add({ defs: [r], uses: [r] });
      break;
    case Format.UnaryM:
      for (const mem of mems) add({ mem });
      break;
    case Format.Shift:
      for (const r of gprs) {
        for (const imm of [1, 2, 7]) add({ defs: [r], uses: [r], imm });
        add({ defs: [r], uses: [r, 1] });
      }
      break;
    case Format.ShiftM:
      for (const mem of mems) {
        add({ mem, imm: 1 });
        add({ mem, imm: 3 });
        add({ mem, uses: [1] });
      }
      break;
    case Format.DoubleShift:
      pairs(gprs, (a, b) => {
        add({ defs: [a], uses: [a, b], imm: 3 });
        add({ defs: [a], uses: [a, b, 1] });
      });
      break;
    case Format.Lea:
      each((r, mem) => {
        if (!hasSegment(mem)) add({ defs: [r], mem });
      });
      break;
    case Format.MulImm:
      for (const imm of immediates) {
        pairs(gprs, (a, b) => add({ defs: [a], uses: [b], imm }));
        add({ defs: [9], mem: mems[0]!, imm });
      }
      each((r, mem) => add({ defs: [r], mem, imm: 100 }));
      break;
    case Format.Wide:
      for (const r of gprs) add({ defs: [0, 2], uses: size === 1 ? [0, r] : [0, 2, r] });
      for (const mem of mems) add({ defs: [0, 2], uses: [0, 2], mem });
      break;
    case Format.SetCc:
      for (const r of gprs) for (const cc of [0, 4, 15]) add({ defs: [r], cc });
      break;
    case Format.SetCcM:
      for (const mem of mems) add({ mem, cc: 5 });
      break;
    case Format.AluImm:
      for (const a of to) for (const b of from) add({ defs: [a], uses: [a, b], imm: 3 });
      each((r, mem) => add({ defs: [r], uses: [r], mem, imm: 3 }));
      break;
    case Format.MovImm:
      for (const a of to) for (const b of xmms) add({ defs: [a], uses: [b], imm: 3 });
      if (op !== X.Pextrw) each((r, mem) => add({ defs: [r], mem, imm: 3 }));
      break;
    case Format.Push:
      for (const r of gprs) add({ uses: [r] });
      if (op === X.PushSaved) break;
      for (const mem of mems) add({ mem });
      for (const imm of immediates) add({ imm });
      add({ symbol: external });
      break;
    case Format.Pop:
      for (const r of gprs) add({ defs: [r] });
      if (op === X.Pop) for (const mem of mems) add({ mem });
      break;
    case Format.Implicit:
    case Format.X87:
      add({});
      break;
    case Format.Mem:
    case Format.X87M:
      for (const mem of mems) add({ mem });
      break;
    case Format.Atomic:
      if (op === X.LockCmpxchg16b) {
        for (const mem of mems) add({ mem });
        break;
      }
      if (op === X.LockCmpxchg) {
        each((r, mem) => add({ defs: [0], uses: [0, r], mem }));
        break;
      }
      if (op >= X.LockInc && op <= X.LockNot) {
        for (const mem of mems) add({ mem });
        break;
      }
      if (op === X.XchgM || op === X.LockXadd) {
        each((r, mem) => add({ defs: [r], uses: [r], mem }));
        break;
      }
      each((r, mem) => add({ uses: [r], mem }));
      mems.forEach((mem, i) => void add({ mem, imm: immediates[i % immediates.length]! }));
      break;
    case Format.Call:
      if (op === X.Call) add({ symbol: { kind: "plt", target: { kind: "external", name: "sym" } } });
      else {
        for (const r of gprs) add({ uses: [r] });
        for (const mem of mems) add({ mem });
      }
      break;
    case Format.Jump:
      if (op === X.JmpIndirect || op === X.TailCallIndirect) {
        for (const r of gprs) add({ uses: [r] });
        for (const mem of mems) add({ mem });
      } else if (op === X.TailCall) add({ symbol: external });
      else if (op === X.Jcc) add({ symbol: external, cc: 4 });
      break;
    case Format.Pseudo:
      if (op === X.Xchg) pairs(gprs, (a, b) => add({ defs: [a, b], uses: [b, a] }));
      if (op === X.XorpsZero) for (const r of xmms) add({ defs: [r] });
      if (op === X.TlsGetAddr)
        add({ symbol: { kind: "tls-dynamic", target: { kind: "external", name: "tls_sym" } } });
      if (op === X.TableLoad) out.push(...tableLoads());
      break;
  }
  return out;
}

function tableLoads(): MInst[] {
  const block = new MBlock(0);
  const out: MInst[] = [];
  const load = (defs: number[], index: number, entryBytes: JumpTable["entryBytes"]): void => {
    const inst = make(X.TableLoad, 8, { defs, uses: [index] });
    const wide = defs.length === 1 ? "zero" : "table";
    inst.extra = {
      kind: "jump-table",
      table: { targets: [block], entryBytes, origin: entryBytes < 4 ? block : wide },
    };
    out.push(inst);
  };
  for (const entryBytes of [1, 2, 4] as const)
    for (const target of gprs)
      for (const index of gprs) {
        load([target], index, entryBytes);
        for (const base of [2, 5, 10, 12, 13])
          if (base !== target && base !== index) load([target, base], index, entryBytes);
      }
  return out;
}

/** Every form of every opcode. */
export function allForms(): MInst[] {
  const mems = memories();
  const out: MInst[] = [];
  for (let op = 0; op < opcodeCount; op++)
    for (const size of sizesOf(op)) out.push(...formsOf(op, size, mems));
  return out;
}
