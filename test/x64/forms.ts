/** Every opcode in every operand form that its row allows, as machine instructions with physical operands. */

import {
  type JumpTable,
  MBlock,
  type MemOperand,
  MInst,
  RegOperand,
  type SymbolRef,
} from "../../lto/codegen/mir.js";
import { reachesHigh } from "../../lto/x64/isa/high-registers.js";
import { hasSegment, memory } from "../../lto/x64/isa/memory-operand.js";
import { opcodeCount, rowOf } from "../../lto/x64/isa/op-info.js";
import { Format, lanesZeroed, X } from "../../lto/x64/isa/ops.js";
import { XMM0, XMM16 } from "../../lto/x64/isa/registers.js";
import { FlagRead, packed, type Row, Takes, Upper, vector } from "../../lto/x64/isa/row.js";
import { widestForms } from "../../lto/x64/isa/vex.js";
import { V } from "../../lto/x64/isa/vex-ops.js";

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
}

function make(op: X, size: number, parts: Parts): MInst {
  const inst = new MInst(op, size);
  inst.defs = (parts.defs ?? []).map(reg);
  inst.uses = (parts.uses ?? []).map(reg);
  inst.mem = parts.mem ?? null;
  inst.imm = parts.imm ?? null;
  inst.symbol = parts.symbol ?? null;
  return inst;
}

/** Registers that a row names at a width. */
const registersAt = (width: number): readonly number[] => (width === vector || width >= packed ? xmms : gprs);

/** What is in the place of a row's source, one way each: parts of an instruction. */
function sources(row: Row, size: number, mems: readonly MemOperand[]): Parts[] {
  const out: Parts[] = [];
  const { takes } = row;
  if ((takes & Takes.Register) !== 0) for (const r of registersAt(row.argument)) out.push({ uses: [r] });
  if ((takes & Takes.Memory) !== 0) for (const mem of mems) out.push({ mem });
  if ((takes & Takes.Immediate) !== 0) {
    for (const imm of immediates) out.push({ imm });
    if (size >= 4) out.push({ symbol: external });
  }
  if ((takes & Takes.Byte) !== 0) for (const imm of [1, 2, 7]) out.push({ imm });
  return out;
}

/** All forms of one opcode at one size, as its row says. */
function formsOf(row: Row, size: number, memories: readonly MemOperand[]): MInst[] {
  const { op, format } = row;
  // Those in VEX encoding are many, and take memory alike: some of each are enough.
  const mems = op >= V.Zero ? memories.filter((_, i) => (i + op) % 7 === 0) : memories;
  const out: MInst[] = [];
  const condition = row.reads === FlagRead.Condition;
  let turn = 0;
  const add = (parts: Parts): void => {
    const inst = make(op, size, parts);
    if (condition) inst.condition = (turn++ * 5) & 15;
    out.push(inst);
  };
  /** Two registers, each time others. */
  const someOf = (registers: readonly number[]): number[] => {
    turn += 3;
    return [registers[turn % registers.length]!, registers[(turn + 5) % registers.length]!];
  };
  const results = registersAt(row.result);
  const all = sources(row, size, mems);
  /** Every register source with every result; other sources with results in turn. */
  const combine = (use: (result: number, source: Parts) => void): void => {
    all.forEach((source, i) => {
      if (source.uses === undefined && source.imm === undefined) use(results[i % results.length]!, source);
      else for (const result of results) use(result, source);
    });
  };
  const tied = (r: number, source: Parts): Parts => ({
    ...source,
    defs: [r],
    uses: [r, ...(source.uses ?? [])],
  });
  switch (format) {
    case Format.Mov:
    case Format.Extend:
      if (op === X.Copy && size === 16) {
        for (const a of xmms) for (const b of xmms) add({ defs: [a], uses: [b] });
        break;
      }
      if (op === X.Copy) for (const a of xmms) for (const b of xmms) add({ defs: [a], uses: [b] });
      combine((r, source) => add({ ...source, defs: [r] }));
      if (row.memory === op) mems.forEach((mem, i) => void add({ uses: [xmms[i % xmms.length]!], mem }));
      if (op === X.Mov && size === 8) {
        for (const imm of [0x80000000n, 0xffffffffn, 0x100000000n, -0x80000001n, -1n])
          add({ defs: [9], imm });
        add({ defs: [9], symbol: tpoff });
      }
      break;
    case Format.MovM:
    case Format.AluM:
    case Format.CompareM:
    case Format.Atomic:
      // Every memory operand with three sources, so that every source meets several kinds of memory.
      mems.forEach((mem, i) => {
        for (let k = 0; k < 3; k++) add({ ...all[(i * 3 + k) % all.length], mem });
      });
      break;
    case Format.Three:
      combine((r, source) => {
        for (const a of someOf(results)) add({ ...source, defs: [r], uses: [a, ...(source.uses ?? [])] });
      });
      break;
    case Format.ThreeImm:
      combine((r, source) => {
        for (const a of someOf(results))
          add({ ...source, defs: [r], uses: [a, ...(source.uses ?? [])], imm: 3 });
      });
      break;
    case Format.Blend:
      combine((r, source) => {
        for (const [i, a] of someOf(results).entries())
          add({ ...source, defs: [r], uses: [a, ...(source.uses ?? []), someOf(results)[i]!] });
      });
      break;
    case Format.Fused:
      combine((r, source) => {
        for (const a of someOf(results)) add({ ...source, defs: [r], uses: [r, a, ...(source.uses ?? [])] });
      });
      break;
    case Format.FusedImm:
      combine((r, source) => {
        for (const a of someOf(results))
          add({ ...source, defs: [r], uses: [r, a, ...(source.uses ?? [])], imm: 0x96 });
      });
      break;
    case Format.Merge:
      combine((r, source) => add({ ...source, defs: [r] }));
      break;
    case Format.MaskStore:
      for (const a of xmms) mems.forEach((mem, i) => void add({ uses: [a, xmms[i % xmms.length]!], mem }));
      break;
    case Format.MovMImm:
      mems.forEach((mem, i) => void add({ uses: [xmms[i % xmms.length]!], mem, imm: 1 }));
      break;
    case Format.Counted:
      combine((r, source) => {
        for (const count of someOf(gprs))
          add({ ...source, defs: [r], uses: [...(source.uses ?? []), count] });
      });
      break;
    case Format.Alu:
      combine((r, source) => add(tied(r, source)));
      break;
    case Format.AluImm:
      combine((r, source) => add({ ...tied(r, source), imm: 3 }));
      break;
    case Format.MovImm:
      combine((r, source) => add({ ...source, defs: [r], imm: 3 }));
      break;
    case Format.ByXmm0:
      combine((r, source) => add({ ...source, defs: [r], uses: [r, ...(source.uses ?? []), xmms[0]!] }));
      break;
    case Format.CompareImm: {
      const lengths = op === X.Pcmpestri || op === X.Pcmpestrm ? [0, 2] : [];
      all.forEach((source, i) => {
        const first = xmms[i % xmms.length]!;
        const uses = [first, ...(source.uses ?? []), ...lengths];
        add({ ...source, defs: [row.result === vector ? xmms[0]! : 1], uses, imm: 3 });
      });
      break;
    }
    case Format.MulImm:
      for (const imm of immediates)
        all.forEach((source, i) => void add({ ...source, defs: [results[i % results.length]!], imm }));
      break;
    case Format.Compare:
      combine((r, source) => add({ ...source, uses: [r, ...(source.uses ?? [])] }));
      break;
    case Format.Unary:
      for (const r of results) add({ defs: [r], uses: [r] });
      break;
    case Format.Shift:
      for (const r of results) {
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
      for (const a of results)
        for (const b of results) {
          add({ defs: [a], uses: [a, b], imm: 3 });
          add({ defs: [a], uses: [a, b, 1] });
        }
      break;
    case Format.Lea:
      mems.forEach((mem, i) => {
        if (!hasSegment(mem)) add({ defs: [results[i % results.length]!], mem });
      });
      break;
    case Format.Wide: {
      const fixed = size === 1 || op === X.Mul || op === X.IMulWide ? [0] : [0, 2];
      const defs = size === 1 ? [0] : [0, 2];
      for (const source of all) add({ ...source, defs, uses: [...fixed, ...(source.uses ?? [])] });
      break;
    }
    case Format.SetCc:
      for (let i = 0; i < 16; i++) for (const r of results) add({ defs: [r] });
      break;
    case Format.SetCcM:
    case Format.UnaryM:
    case Format.Mem:
    case Format.X87M:
    case Format.AtomicUnary:
      for (const mem of mems) add({ mem });
      break;
    case Format.AtomicPair:
      for (const mem of mems) add({ defs: [0, 2], uses: [0, 2, 3, 1], mem });
      break;
    case Format.AtomicExchange:
      mems.forEach((mem, i) => {
        const r = results[i % results.length]!;
        add(op === X.LockCmpxchg ? { defs: [0], uses: [0, r], mem } : { defs: [r], uses: [r], mem });
      });
      break;
    case Format.Push:
      for (const source of all) add(source);
      break;
    case Format.Pop:
      for (const { uses, mem } of all) add(mem === undefined ? { defs: uses! } : { mem });
      break;
    case Format.Implicit:
    case Format.X87:
      add(fixedOperands[op] ?? {});
      break;
    case Format.Call:
    case Format.Jump:
      for (const source of all) add(source);
      if (op === X.Call) add({ symbol: { kind: "plt", target: { kind: "external", name: "sym" } } });
      if (op === X.TailCall || op === X.Jcc) add({ symbol: external });
      break;
    case Format.Pseudo:
      if (op === X.Xchg)
        for (const a of gprs) for (const b of gprs) if (a !== b) add({ defs: [a, b], uses: [b, a] });
      if (op === X.XorpsZero || op === (V.Zero as number)) for (const r of xmms) add({ defs: [r] });
      if (op === X.TlsGetAddr)
        add({ symbol: { kind: "tls-dynamic", target: { kind: "external", name: "tls_sym" } } });
      if (op === X.TableLoad) out.push(...tableLoads());
      break;
    case Format.Directive:
      break;
  }
  return out;
}

/** Operands of instructions that have them in fixed registers only, as selection gives them. */
const fixedOperands: Readonly<Record<number, Parts>> = {
  [X.SignRax]: { defs: [2], uses: [0] },
  [X.ExtendRax]: { defs: [0], uses: [0] },
  [X.RepMovs]: { defs: [7, 6, 1], uses: [7, 6, 1] },
  [X.RepStos]: { defs: [7, 1], uses: [7, 1, 0] },
  [X.Cpuid]: { defs: [0, 3, 1, 2], uses: [0, 1] },
  [X.Rdtsc]: { defs: [0, 2] },
};

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
    for (const size of rowOf(op).sizes) out.push(...formsOf(rowOf(op), size, mems));
  return out;
}

/** Some forms of every opcode that can name vector registers 16 to 31, with one of them or with nothing else. */
export function highForms(): MInst[] {
  const mems = memories().filter((_, i) => i % 5 === 0);
  const out: MInst[] = [];
  const raised = (operand: RegOperand, raise: boolean): RegOperand =>
    operand.loc < XMM0 || !raise ? operand : reg(operand.loc - XMM0 + XMM16);
  for (let op = V.Zero as number; op < opcodeCount; op++)
    for (const size of rowOf(op).sizes) {
      // Bitwise operations have other names then.
      if (!reachesHigh(op, size, { bw: true, vl: true }) || widestForms.has(op)) continue;
      formsOf(rowOf(op), size, mems).forEach((form, i) => {
        if (i % 3 !== 0) return;
        const { defs, uses } = form;
        const vectors = [...defs, ...uses].filter(({ loc }) => loc >= XMM0).length;
        if (vectors === 0) return;
        const tied = rowOf(op).format === Format.Fused || rowOf(op).format === Format.FusedImm;
        // Which of them: all, or one after the other.
        const which = Math.floor(i / 3) % (vectors + 1);
        let n = 0;
        const raise = (operand: RegOperand): RegOperand =>
          operand.loc < XMM0 ? operand : raised(operand, which === 0 || tied || ++n === which);
        form.defs = defs.map(raise);
        form.uses = uses.map(raise);
        if ([...form.defs, ...form.uses].some(({ loc }) => loc >= XMM16)) out.push(form);
      });
    }
  return out;
}

/** Forms of operations on one lane whose result is zeroed first. */
export function zeroedForms(): MInst[] {
  const insts = allForms().filter(
    ({ op, defs }) => op < V.Zero && rowOf(op).upper === Upper.Lanes && defs.length === 1,
  );
  for (const inst of insts) inst.marks = lanesZeroed;
  return insts.filter(
    ({ op }) => rowOf(op).format === Format.Mov && rowOf(op).name !== "movss" && rowOf(op).name !== "movsd",
  );
}
