/**
 * demote-asm-outputs: what an `asm goto` returns lives in memory.
 *
 * Why: its outputs are there on every way out, and after an instruction that ends a block there is no place for what stores or
 * moves them. So the assembly itself stores each register to a slot, at its end and, for every label, in a few instructions
 * that the label now stands for and that go on to the block; whoever wants an output loads it. Linear in the body.
 * Source: LLVM Language Reference, "'callbr' Instruction" (outputs hold on indirect edges, too).
 */
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type Block, type Body, type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { functionType, i64, ptr, type Type, voidType } from "../../ir/types.js";
import { ConstUndef, constInt, InlineAsm, type Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { LoweringContext } from "./context.js";
import { splitEdge } from "./split-edges.js";

/** Constraints, apart: at commas outside of braces. */
const parts = (constraints: string): string[] => constraints.match(/(?:\{[^}]*\}|[^,{])+/g) ?? [];

/** A label of the assembly's own for a target, unique by the number that each expansion of a template has. */
const stubName = (k: number | "end"): string => `.Lasm_goto\${:uid}_${k}`;

/** An `asm goto` with outputs, and where it stands. */
interface Site {
  readonly block: Block;
  readonly call: InstWith<Op.CallBr>;
  readonly asm: InlineAsm;
}

function demote(body: Body, { block, call, asm }: Site, context: LoweringContext, name: string): void {
  const types = call.type.kind === "struct" ? call.type.elements : [call.type];
  const constraints = parts(asm.constraints);
  const operands = constraints.filter((c) => !c.startsWith("~"));
  const outputs = operands.flatMap((c, i) => (c.startsWith("=") && !c.includes("*") ? [i] : []));
  const labels = operands.flatMap((c, i) => (c.startsWith("!") ? [i] : []));
  const slots = types.map((type) => slotOf(body, type, context));
  const stores = outputs.map((operand, k) => {
    const text = context.target.storeAsmOutput(
      operands[operand]!,
      `\${${operand}}`,
      `\${${operands.length + k}}`,
      types[k]!,
    );
    if (text === null)
      throw new UnsupportedError(
        `asm goto with an output '${operands[operand]}' of type ${types[k]}`,
        `@${name}`,
      );
    if (text.isByte) insert(block, block.insts.length - 1, clear(slots[k]!));
    return asm.intelDialect ? text.intel : text.att;
  });
  const stored = stores.map((text) => `\n\t${text}`).join("");
  const stubs = labels.map((label, k) => `\n${stubName(k)}:${stored}\n\tjmp \${${label}:l}`).join("");
  const end = stubName("end");
  const template = `${ownLabels(asm, labels)}${stored}\n\tjmp ${end}${stubs}\n${end}:`;
  // The frame addresses slots, so outputs cannot take the place of what does.
  const at = constraints.findIndex((c) => c.startsWith("~"));
  constraints.splice(at < 0 ? constraints.length : at, 0, ...slots.map(() => "=*m"));
  const { data } = call;
  const elements = [...data.functionType.parameters, ...slots.map(() => ptr)];
  const type = functionType(call.type, elements);
  const { argumentCount, attributes } = data;
  const sets = Array.from({ length: argumentCount }, (_, i) => attributes.parameter(i));
  const typed = types.map((t) => new AttributeSet(new Map([["elementtype", t]]), new Map()));
  const args = [
    new InlineAsm(
      type,
      template,
      constraints.join(","),
      asm.sideEffects,
      asm.alignStack,
      asm.intelDialect,
      asm.canUnwind,
    ),
    ...call.operands.slice(1, 1 + argumentCount),
    ...slots,
    ...call.operands.slice(1 + argumentCount),
  ];
  const newData = {
    ...data,
    functionType: type,
    argumentCount: argumentCount + slots.length,
    attributes: new AttributeList(attributes.fn, noAttributes, [...sets, ...typed]),
  };
  const next = makeInst(Op.CallBr, call.type, args, newData, [...call.blocks], call.flags);
  next.parent = block;
  raw(block).insts[block.insts.length - 1] = next;
  for (const target of new Set(call.blocks))
    if (target.insts.some((inst) => inst.op === Op.Phi && inst.operands.includes(call)))
      splitEdge(body, block, target, context.order);
  loadAtUses(body, call, slots);
}

/** The template with labels of its own in place of the blocks. */
function ownLabels({ template, intelDialect }: InlineAsm, labels: readonly number[]): string {
  return template.replace(
    /\$(?:\{(\d+)(?::(\w+))?\}|(\d+)|[\s\S])/g,
    (text, braced?: string, modifier?: string, plain?: string) => {
      const k = labels.indexOf(Number(braced ?? plain ?? -1));
      if (k < 0) return text;
      const isBare = modifier !== undefined && "lPc".includes(modifier);
      return `${isBare ? "" : intelDialect ? "offset " : "$$"}${stubName(k)}`;
    },
  );
}

function insert(block: Block, at: number, inst: Inst): void {
  inst.parent = block;
  raw(block).insts.splice(at, 0, inst);
}

function slotOf(body: Body, type: Type, { layout }: LoweringContext): InstWith<Op.Alloca> {
  const align = Math.max(8, layout.abiAlign(type));
  const data = { allocatedType: type, align, inalloca: false, swifterror: false };
  const alloca = makeInst(Op.Alloca, ptr, [constInt(i64, 1)], data);
  insert(body.blocks[0]!, 0, alloca);
  return alloca;
}

const access = (align: number) => ({ align, ordering: "not_atomic" as const, scope: "" });

/** Of a flag, which is a byte in its slot. */
function clear(slot: InstWith<Op.Alloca>): Inst {
  const { allocatedType, align } = slot.data;
  return makeInst(Op.Store, voidType, [constInt(allocatedType, 0), slot], access(align));
}

/** Loads outputs where they are used: at the end of the block that a phi takes them from. */
function loadAtUses(body: Body, call: Inst, slots: readonly InstWith<Op.Alloca>[]): void {
  const load = (slot: InstWith<Op.Alloca>): Inst =>
    makeInst(Op.Load, slot.data.allocatedType, [slot], access(slot.data.align));
  const all = (): Inst[] => {
    if (call.type.kind !== "struct") return [load(slots[0]!)];
    const made: Inst[] = [];
    let whole: Value = new ConstUndef(call.type, true);
    slots.forEach((slot, i) => {
      const member = load(slot);
      const next = makeInst(Op.InsertValue, call.type, [whole, member], [i]);
      made.push(member, next);
      whole = next;
    });
    return made;
  };
  for (const block of body.blocks)
    for (let i = 0; i < block.insts.length; i++) {
      const user = block.insts[i]!;
      const loaded = new Map<Block, Value>();
      user.operands.forEach((operand, k) => {
        if (operand !== call) return;
        const from = user.op === Op.Phi ? user.blocks[k]! : block;
        // Entries of a phi from one block are the same value.
        const before = loaded.get(from);
        if (before !== undefined) {
          raw(user).operands[k] = before;
          return;
        }
        const made = all();
        loaded.set(from, made.at(-1)!);
        for (const inst of made) {
          insert(from, user.op === Op.Phi ? from.insts.length - 1 : i, inst);
          if (from === block && user.op !== Op.Phi) i++;
        }
        raw(user).operands[k] = made.at(-1)!;
      });
    }
}

export const demoteAsmOutputs: FunctionPass<LoweringContext> = {
  name: "demote-asm-outputs",
  level: "function",
  description: "has the assembly of an `asm goto` store its outputs, for those who want them to load",
  counters: { demoted: "outputs moved to memory" },
  requires: [],
  preserves: [],
  run(fn, context) {
    const sites: Site[] = [];
    for (const block of context.view().blocks) {
      const { terminator: call } = block;
      if (call.op !== Op.CallBr || call.type.kind === "void") continue;
      const asm = call.operands[0]!;
      if (asm.valueKind === "asm") sites.push({ block: block as Block, call, asm });
    }
    if (sites.length === 0) return false;
    const body = context.rewrite();
    for (const site of sites) {
      demote(body, site, context, fn.name);
      context.count("demoted", site.call.type.kind === "struct" ? site.call.type.elements.length : 1);
    }
    return true;
  },
};
