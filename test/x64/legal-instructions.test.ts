/** What is printed of programs is what the rows of the table of instructions allow. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { x64Printer } from "../../formats/asm/x64/instructions.js";
import type { MInst } from "../../lto/codegen/mir.js";
import { OpFact } from "../../lto/codegen/target.js";
import { rowOf } from "../../lto/x64/isa/op-info.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { Format, lanesZeroed, X } from "../../lto/x64/isa/ops.js";
import { FlagRead, type Row, Takes, Upper, vector } from "../../lto/x64/isa/row.js";
import { isByteMove } from "../../lto/x64/isa/upper-bits.js";
import { randomProgram } from "../random/functions.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { withRegisters } from "./insts.js";

const isVector = (loc: number): boolean => loc >= 16;

/** Formats of which operands are somebody else's business. */
const free = new Set([Format.Pseudo, Format.Directive, Format.Jump, Format.Call, Format.Implicit]);

/** Index in `uses` of the source where it is a register, by format. */
const sourceIndex: Partial<Record<Format, number>> = {
  [Format.Mov]: 0,
  [Format.MovM]: 0,
  [Format.MovImm]: 0,
  [Format.Extend]: 0,
  [Format.MulImm]: 0,
  [Format.Alu]: 1,
  [Format.AluM]: 0,
  [Format.AluImm]: 1,
  [Format.ByXmm0]: 1,
  [Format.CompareImm]: 1,
  [Format.Three]: 1,
  [Format.Counted]: 0,
  [Format.Compare]: 1,
  [Format.CompareM]: 0,
  [Format.Atomic]: 0,
};

/** Formats with memory besides the source: it is the result, or compared. */
const storing = new Set([Format.MovM, Format.AluM, Format.CompareM, Format.Atomic]);
/** Formats with an immediate besides the source. */
const immediate = new Set([Format.MovImm, Format.MulImm, Format.AluImm, Format.CompareImm]);

function sourceComplaint(inst: MInst, row: Row): string | null {
  const index = sourceIndex[row.format];
  if (index === undefined) return null;
  const { takes } = row;
  const hasMemory = inst.mem !== null && !storing.has(row.format);
  // A store by the opcode that moves the other way.
  if (hasMemory && inst.defs.length === 0 && row.format === Format.Mov)
    return row.memory === row.op ? null : "no result";
  if (row.format === Format.Counted)
    return inst.uses.length === (hasMemory ? 1 : 2) ? null : "operands of a count";
  const hasRegister = inst.uses.length > index;
  const hasImmediate = !immediate.has(row.format) && (inst.imm !== null || inst.symbol !== null);
  const kinds = Number(hasMemory) + Number(hasRegister) + Number(hasImmediate);
  if (kinds !== 1) return `${kinds} sources`;
  if (hasMemory && (takes & Takes.Memory) === 0) return "memory as source";
  if (hasImmediate && (takes & (Takes.Immediate | Takes.Byte)) === 0) return "an immediate as source";
  if (!hasRegister) return null;
  if ((takes & Takes.Register) === 0) return "a register as source";
  const { loc } = inst.uses[index]!;
  return inst.op === X.Copy || isVector(loc) === (row.argument === vector)
    ? null
    : "a source of the other file";
}

/** What of the instruction its row does not allow; null if all is well. */
function complaint(inst: MInst): string | null {
  if (isByteMove(inst)) return null;
  const row = rowOf(inst.op);
  const { format, sizes, reads, result, facts } = row;
  if (inst.condition >= 0 !== (reads === FlagRead.Condition)) return `condition ${inst.condition}`;
  const control = (facts & (OpFact.Call | OpFact.TailCall | OpFact.IndirectJump | OpFact.Return)) !== 0;
  const isLane = row.upper === Upper.Lanes && inst.marks === lanesZeroed;
  if (inst.marks !== 0 && !control && !isLane && inst.op !== X.Mov && inst.op !== X.MovM)
    return `marks ${inst.marks}`;
  if (free.has(format)) return null;
  if (!sizes.includes(inst.size)) return `size ${inst.size}`;
  const [first] = inst.defs;
  if (first !== undefined && inst.op !== X.Copy && isVector(first.loc) !== (result === vector))
    return "a result of the other file";
  const tied =
    format === Format.Alu || format === Format.AluImm || format === Format.Unary || format === Format.Shift;
  if (tied && first?.loc !== inst.uses[0]?.loc) return "result and first source apart";
  return sourceComplaint(inst, row);
}

const seen = new Set<number>();
const wrong = new Map<string, string>();
const print = x64Printer.text.bind(x64Printer);
vi.spyOn(x64Printer, "text").mockImplementation((inst, names) => {
  seen.add(inst.op);
  const text = complaint(inst);
  if (text !== null) wrong.set(`${opcodeNames[inst.op]}: ${text}`, print(inst, names).trim());
  return print(inst, names);
});
afterAll(() => void vi.restoreAllMocks());

const folder = temporaryFolder();

test.each(["O2", "Oz"])("instructions of programs at -%s", async (level) => {
  seen.clear();
  const [input, output] = [join(folder, "a.ll"), join(folder, "a.s")];
  writeFileSync(input, randomProgram(1, 16).module);
  const { err } = await tscLto([input, "-r", `-${level}`, "-j1", "-o", output], { cwd: folder });
  expect(err).toBe("");
  expect([...wrong]).toEqual([]);
  expect(seen.size).toBeGreaterThan(80);
});

test("what is none of these is found", () => {
  const bad = (op: X, size: number, change: (inst: MInst) => void): string | null => {
    const inst = withRegisters(op, size, [0], [0, 1]);
    change(inst);
    return complaint(inst);
  };
  expect(bad(X.Add, 4, () => {})).toBeNull();
  expect(bad(X.Add, 16, () => {})).toBe("size 16");
  expect(bad(X.Add, 4, (inst) => void (inst.condition = 4))).toBe("condition 4");
  expect(bad(X.Cmov, 4, () => {})).toBe("condition -1");
  expect(bad(X.Add, 4, (inst) => void (inst.marks = 1))).toBe("marks 1");
  expect(bad(X.Add, 4, (inst) => void (inst.imm = 1))).toBe("2 sources");
  expect(bad(X.Imul, 4, (inst) => void (inst.imm = Number(inst.uses.pop()!.loc)))).toBe(
    "an immediate as source",
  );
  expect(bad(X.Add, 4, (inst) => void (inst.uses[0]!.loc = 3))).toBe("result and first source apart");
  expect(bad(X.Add, 4, (inst) => void (inst.uses[1]!.loc = 16))).toBe("a source of the other file");
  expect(bad(X.Addps, 16, () => {})).toBe("a result of the other file");
});
