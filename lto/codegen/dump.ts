/** Machine IR as text, for people: `--print-machine` and the messages of checkers. Not parsed back. */

import {
  isSlot,
  type MBlock,
  type MemOperand,
  type MFunction,
  type MInst,
  noLocation,
  type RegOperand,
  type SymbolRef,
  slotOf,
} from "./mir.js";
import { isEmptySet, type RegisterSet, registersIn } from "./register-set.js";

/** Names of opcodes and registers. */
interface DumpNames {
  readonly op: (op: number) => string;
  readonly register: (register: number) => string;
  readonly mode: (mode: number) => string;
}

export function dumpFunction(mf: MFunction): string {
  const { instructions, registers } = mf.target;
  const names: DumpNames = {
    op: (op) => instructions.names[op]!,
    register: (register) => registers.names[register]!,
    mode: instructions.modeText,
  };
  const lines = [`machine function ${mf.name} (${mf.goal})`];
  mf.slots.forEach((slot, i) => {
    lines.push(`  slot ${i}: ${slot.kind} size ${slot.size} align ${slot.align} offset ${slot.offset}`);
  });
  for (const block of mf.blocks) lines.push(...dumpBlock(block, names));
  return lines.join("\n") + "\n";
}

function dumpBlock(block: MBlock, names: DumpNames): string[] {
  const params = block.params.map((p) => dumpRegister(p, names)).join(", ");
  const succs = block.succs
    .map((succ, i) => {
      const args = block.succArgs[i] ?? [];
      return `b${succ.id}${args.length > 0 ? `(${args.map((a) => dumpRegister(a, names)).join(", ")})` : ""}`;
    })
    .join(" ");
  const lines = [`b${block.id}(${params}):  freq ${block.frequency}  → ${succs}`];
  for (const inst of block.insts) lines.push(`    ${dumpInst(inst, names)}`);
  return lines;
}

function dumpInst(inst: MInst, names: DumpNames): string {
  const defs = inst.defs.map(
    (d) => dumpRegister(d, names) + (d.tiedTo >= 0 ? `=u${d.tiedTo}` : "") + (d.early ? "!" : ""),
  );
  const parts = inst.uses.map((u) => dumpRegister(u, names));
  if (inst.mem !== null) parts.push(dumpMemory(inst.mem, names));
  if (inst.symbol !== null) parts.push(dumpSymbol(inst.symbol));
  if (inst.imm !== null) parts.push(`$${inst.imm}`);
  if (inst.targets.length > 0) parts.push(inst.targets.map((t) => `b${t.id}`).join("/"));
  if (inst.extra?.kind === "asm") parts.push(JSON.stringify(inst.extra.template));
  const condition = inst.condition >= 0 ? `.cc${inst.condition}` : "";
  const head = `${names.op(inst.op)}.${inst.size}${condition}${inst.marks !== 0 ? `.m${inst.marks}` : ""}`;
  const clobbers = isEmptySet(inst.clobbers) ? "" : `  clobbers ${dumpSet(inst.clobbers, names)}`;
  return `${defs.length > 0 ? `${defs.join(", ")} = ` : ""}${head} ${parts.join(", ")}${clobbers}`;
}

const dumpSet = (set: RegisterSet, names: DumpNames): string =>
  registersIn(set).map(names.register).join(" ");

function dumpRegister(operand: RegOperand, names: DumpNames): string {
  const value = operand.vreg >= 0 ? `v${operand.vreg}` : "";
  const place =
    operand.loc === noLocation
      ? ""
      : isSlot(operand.loc)
        ? `[slot ${slotOf(operand.loc)}]`
        : names.register(operand.loc);
  const allowed = isEmptySet(operand.allowed) ? "" : `{${dumpSet(operand.allowed, names)}}`;
  return value === "" ? place : place === "" ? value + allowed : `${value}:${place}`;
}

function dumpMemory(mem: MemOperand, names: DumpNames): string {
  const parts: string[] = [];
  if (mem.symbol !== null) parts.push(dumpSymbol(mem.symbol));
  if (mem.slot >= 0) parts.push(`slot ${mem.slot}`);
  if (mem.base !== null) parts.push(dumpRegister(mem.base, names));
  if (mem.index !== null) parts.push(dumpRegister(mem.index, names));
  if (mem.disp !== 0 || parts.length === 0) parts.push(`${mem.disp}`);
  const mode = names.mode(mem.mode);
  return `[${parts.join(" + ")}${mode === "" ? "" : `, ${mode}`}]`;
}

function dumpSymbol(symbol: SymbolRef): string {
  const { target } = symbol;
  switch (target.kind) {
    case "global":
      return `@${target.global.name}@${symbol.kind}`;
    case "block":
      return `&b${target.block.id}`;
    case "foreign-block":
      return `&${target.global.name}.b${target.block}`;
    case "constant":
      return `.const(${[...target.constant.bytes].map((b) => b.toString(16).padStart(2, "0")).join("")})`;
    case "jump-table":
      return `.table(${target.table.targets.map((b) => `b${b.id}`).join(" ")})`;
    default:
      return target.name;
  }
}
