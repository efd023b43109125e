/** Seeded random modules that use every construct of the object format, and a dump to compare them by. */

import { AttributeList, AttributeSet, type AttributeValue, noAttributes } from "../../lto/ir/attributes.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import {
  Block,
  Body,
  type BodyView,
  type Inst,
  isTerminator,
  makeInst,
  Op,
  opNames,
} from "../../lto/ir/instructions.js";
import { Alias, Comdat, Func, type GlobalValue, GlobalVariable, IFunc, Module } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import {
  arrayType,
  doubleType,
  fp80Type,
  functionType,
  i1,
  i8,
  i32,
  i64,
  intType,
  pointerType,
  ptr,
  structType,
  type Type,
  vectorType,
  voidType,
} from "../../lto/ir/types.js";
import {
  BlockAddress,
  ConstAggregate,
  type Constant,
  ConstData,
  ConstExpr,
  ConstFloat,
  ConstToken,
  ConstUndef,
  ConstZero,
  constInt,
  GlobalRef,
  InlineAsm,
  MetadataOperand,
  type Value,
} from "../../lto/ir/values.js";
import { Random } from "../support/random.js";
import { dumpHints, randomHints } from "./random-hints.js";

const scalars = [i1, i8, i32, i64, intType(17), intType(200), doubleType, fp80Type, ptr];
const types: Type[] = [
  ...scalars,
  pointerType(3),
  vectorType(4, i32),
  arrayType(3, i8),
  structType([i32, ptr]),
  structType([i8, i64], true),
  structType([structType([i32]), arrayType(2, doubleType)]),
];

export class Generator {
  readonly random: Random;
  readonly module = new Module(
    "random.o",
    "random.c",
    "x86_64-unknown-linux-gnu",
    new DataLayout("e-i64:64"),
  );
  constructor(seed: number) {
    this.random = new Random(seed);
  }

  constant(type: Type, depth = 3): Constant {
    const r = this.random;
    if (type.kind === "ptr") {
      const { globals } = this.module;
      const pick = r.below(8);
      if (pick === 0 || globals.length === 0) return new ConstZero(type);
      if (type !== ptr) return new ConstUndef(type, pick < 4);
      const global = r.pick(globals);
      if (pick === 1 && depth > 0)
        return new ConstExpr(
          type,
          Op.GetElementPtr,
          [this.constant(ptr, depth - 1), constInt(i64, r.below(1000) - 500)],
          64,
          r.pick(types),
        );
      if (pick === 2) return new GlobalRef(ptr, r.oneIn(2) ? "no_cfi" : "dso_local_equivalent", global);
      if (pick === 3 && global.kind === "function" && global.name !== "declared")
        return new BlockAddress(ptr, global, r.below(3));
      return global;
    }
    if (r.oneIn(8)) return new ConstUndef(type, r.oneIn(2));
    switch (type.kind) {
      case "int": {
        if (type.bits === 64 && depth > 0 && r.oneIn(6))
          return new ConstExpr(type, Op.PtrToInt, [this.constant(ptr, depth - 1)]);
        if (type.bits === 1 && depth > 0 && r.oneIn(6))
          return new ConstExpr(
            type,
            Op.ICmp,
            [this.constant(ptr, depth - 1), this.constant(ptr, depth - 1)],
            0,
            null,
            "ult",
          );
        let value = BigInt(r.bits() - 2 ** 31);
        for (let i = r.below(7); i > 0; i--) value = (value << 32n) + BigInt(r.bits());
        return constInt(type, value >> BigInt(r.below(32)));
      }
      case "double":
        return new ConstFloat(type, (BigInt(r.bits()) << 32n) + BigInt(r.bits()));
      case "x86_fp80":
        return new ConstFloat(type, (BigInt(r.bits()) << 48n) + BigInt(r.bits()));
      default: {
        if (r.oneIn(4)) return new ConstZero(type);
        if (type.kind !== "struct" && r.oneIn(2)) {
          const size = type.count * ((type.element.bits || 64) / 8);
          return new ConstData(
            type,
            Uint8Array.from({ length: size }, () => r.below(256)),
          );
        }
        const elements = type.kind === "struct" ? type.elements : Array(type.count).fill(type.element);
        return new ConstAggregate(
          type,
          elements.map((t: Type) => this.constant(t, depth - 1)),
        );
      }
    }
  }

  attributes(): AttributeList {
    const r = this.random;
    const set = (): AttributeSet => {
      if (r.oneIn(2)) return noAttributes;
      const kinds = new Map<string, AttributeValue>();
      if (r.oneIn(2)) kinds.set("noundef", true);
      if (r.oneIn(3)) kinds.set("align", 16);
      if (r.oneIn(3)) kinds.set("dereferenceable", 1n << 60n);
      if (r.oneIn(3)) kinds.set("byval", r.pick(types));
      if (r.oneIn(4)) kinds.set("some-new-kind", 7);
      const strings = new Map<string, string>();
      if (r.oneIn(3)) strings.set("frame-pointer", r.oneIn(2) ? "all" : "");
      return new AttributeSet(kinds, strings);
    };
    return new AttributeList(
      set(),
      set(),
      Array.from({ length: r.below(4) }, () => set()),
    );
  }

  private inst(values: Value[]): Inst {
    const r = this.random;
    const value = (): Value => (r.oneIn(3) ? this.constant(r.pick(types)) : r.pick(values));
    const type = r.pick(types);
    const align = 2 ** r.below(8);
    const ordering = r.pick(["monotonic", "acquire", "seq_cst"] as const);
    const scope = r.oneIn(2) ? "" : "singlethread";
    switch (r.below(16)) {
      case 0:
        return makeInst(Op.Load, type, [value()], {
          align,
          ordering: r.oneIn(3) ? ordering : "not_atomic",
          scope: "",
        });
      case 1:
        return makeInst(
          Op.Store,
          voidType,
          [value(), value()],
          { align, ordering: "not_atomic", scope },
          [],
          256,
        );
      case 2:
        return makeInst(Op.Alloca, ptr, [constInt(i32, 1)], {
          allocatedType: type,
          align,
          inalloca: r.oneIn(2),
          swifterror: r.oneIn(2),
        });
      case 3:
        return makeInst(Op.GetElementPtr, ptr, [value(), ...Array.from({ length: r.below(3) }, value)], {
          elementType: type,
        });
      case 4:
        return makeInst(Op.ICmp, i1, [value(), value()], r.pick(["eq", "slt", "uge"] as const));
      case 5:
        return makeInst(Op.FCmp, i1, [value(), value()], r.pick(["oeq", "true", "une"] as const), [], 1 << 9);
      case 6:
        return makeInst(Op.Fence, voidType, [], { align: 1, ordering, scope });
      case 7:
        return makeInst(Op.CmpXchg, structType([i32, i1]), [value(), value(), value()], {
          align,
          ordering,
          scope,
          failureOrdering: "monotonic",
          weak: r.oneIn(2),
        });
      case 8:
        return makeInst(Op.AtomicRMW, i32, [value(), value()], {
          align,
          ordering,
          scope,
          rmw: r.pick(["xchg", "nand", "fminimum", "udec_wrap"] as const),
        });
      case 9:
        return makeInst(
          Op.ShuffleVector,
          vectorType(3, i32),
          [value(), value()],
          [r.below(4) - 1, r.below(8) - 1, 0],
        );
      case 10:
        return makeInst(
          Op.ExtractValue,
          i32,
          [value()],
          Array.from({ length: 1 + r.below(3) }, () => r.below(5)),
        );
      case 11:
        return makeInst(Op.LandingPad, structType([ptr, i32]), [value(), value()], {
          cleanup: r.oneIn(2),
          clauses: ["catch", "filter"],
        });
      case 12:
      case 13: {
        const functionT = functionType(r.oneIn(2) ? voidType : type, [i32], r.oneIn(2));
        const extra = functionT.isVarArg ? r.below(3) : 0;
        const bundled = r.oneIn(4) ? 2 : 0;
        const callee = r.oneIn(5)
          ? new InlineAsm(functionT, "nop # é", "~{memory}", true, r.oneIn(2), false, r.oneIn(2))
          : value();
        const args = Array.from({ length: 1 + extra + bundled }, () =>
          r.oneIn(9)
            ? new MetadataOperand(r.oneIn(2) ? "rsp" : null)
            : r.oneIn(20)
              ? new ConstToken()
              : value(),
        );
        return makeInst(Op.Call, functionT.result, [callee, ...args], {
          functionType: functionT,
          callingConvention: r.pick([0, 0, 8, 64]),
          attributes: this.attributes(),
          tail: r.pick(["", "tail", "musttail", "notail"] as const),
          argumentCount: 1 + extra,
          bundles:
            bundled === 0
              ? []
              : [
                  { tag: "clang.arc", inputs: 0 },
                  { tag: "deopt", inputs: bundled },
                ],
        });
      }
      case 14:
        return makeInst(Op.Select, type, [value(), value(), value()], null);
      default:
        return makeInst(
          r.pick([Op.Add, Op.Xor, Op.FMul, Op.Shl] as const),
          type,
          [value(), value()],
          null,
          [],
          r.below(4),
        );
    }
  }

  private terminator(blocks: Block[], values: Value[]): Inst {
    const r = this.random;
    const target = (): Block => r.pick(blocks);
    switch (r.below(8)) {
      case 0:
        return makeInst(Op.Ret, voidType, r.oneIn(2) ? [] : [r.pick(values)], null);
      case 1:
        return makeInst(Op.Br, voidType, [], null, [target()]);
      case 2:
        return makeInst(Op.CondBr, voidType, [r.pick(values)], null, [target(), target()]);
      case 3: {
        const count = r.below(5);
        return makeInst(
          Op.Switch,
          voidType,
          [r.pick(values)],
          Array.from({ length: count }, (_, i) => constInt(i32, i * 3 - 4)),
          [target(), ...Array.from({ length: count }, target)],
        );
      }
      case 4:
        return makeInst(
          Op.IndirectBr,
          voidType,
          [r.pick(values)],
          null,
          Array.from({ length: r.below(4) }, target),
        );
      case 5:
        return makeInst(
          Op.Invoke,
          i32,
          [r.pick(this.module.globals), r.pick(values)],
          {
            functionType: functionType(i32, [i32]),
            callingConvention: 0,
            attributes: this.attributes(),
            tail: "",
            argumentCount: 1,
            bundles: [],
          },
          [target(), target()],
        );
      case 6:
        return makeInst(Op.Resume, voidType, [r.pick(values)], null);
      default:
        return makeInst(Op.Unreachable, voidType, [], null);
    }
  }

  body(fn: Func): Body {
    const r = this.random;
    const body = new Body();
    for (let i = 3 + r.below(4); i > 0; i--) body.blocks.push(new Block());
    const values: Value[] = [...fn.args, constInt(i32, 1)];
    const phis: Inst[] = [];
    for (const block of body.blocks) {
      if (r.oneIn(5)) block.label = body.blocks.indexOf(block);
      for (let i = r.below(3); i > 0; i--) {
        const phi = makeInst(Op.Phi, r.pick(types), [], null);
        phis.push(block.append(phi));
        values.push(phi);
      }
      for (let i = r.below(12); i > 0; i--) {
        const inst = block.append(this.inst(values));
        if (r.oneIn(3)) inst.hints = randomHints(r, this.module.functions);
        if (inst.type !== voidType) values.push(inst);
      }
      const terminator = block.append(this.terminator(body.blocks, values));
      if (r.oneIn(3)) terminator.hints = randomHints(r, this.module.functions);
    }
    // Phis take values from anywhere, so from ahead too.
    for (const phi of phis)
      for (let i = r.below(4); i > 0; i--) {
        raw(phi).operands.push(r.pick(values));
        raw(phi).blocks.push(r.pick(body.blocks));
      }
    return body;
  }

  run(): Module {
    const r = this.random;
    const { module } = this;
    module.moduleAsm = ".globl x\n";
    module.flags = [
      { behavior: 1, key: "wchar_size", value: 4 },
      { behavior: 5, key: "text", value: "é" },
    ];
    module.dependentLibraries = ["m"];
    const comdat = new Comdat("group", "any");
    const fns: Func[] = [];
    const variables: GlobalVariable[] = [];
    for (let i = 0; i < 3; i++) {
      const fn = new Func(`f${i}`, functionType(i32, [i32, ptr], i === 2));
      fn.attributes = this.attributes();
      fns.push(fn);
      const variable = new GlobalVariable(i === 0 ? "" : `v${i}`, r.pick(types));
      variables.push(variable);
      module.globals.push(fn, variable);
    }
    const alias = new Alias("alias", ptr);
    alias.aliasee = fns[0]!;
    const ifunc = new IFunc("ifunc", functionType(i32, []));
    ifunc.resolver = fns[1]!;
    module.globals.push(alias, ifunc, new Func("declared", functionType(voidType, [])));
    for (const variable of variables) {
      variable.align = r.pick([0, 1, 16]);
      variable.section = r.oneIn(2) ? "" : ".data.x";
      variable.isConstant = r.oneIn(2);
      variable.dsoLocal = r.oneIn(2);
      variable.comdat = r.oneIn(2) ? comdat : null;
      variable.threadLocal = r.pick(["none", "initialexec"] as const);
      variable.initializer = this.constant(variable.valueType);
      variable.linkage = r.pick(["external", "internal", "weak_odr"] as const);
    }
    for (const fn of fns) {
      if (r.oneIn(2)) fn.personality = fns[2]!;
      if (r.oneIn(3)) fn.prefix = this.constant(i32);
      fn.align = r.pick([0, 32]);
      fn.comdat = r.oneIn(2) ? comdat : null;
      fn.define(this.body(fn));
    }
    // A block whose address a body of its own function takes is marked so.
    for (const fn of fns)
      for (const block of fn.view().blocks)
        for (const inst of block.insts) for (const operand of inst.operands) this.markTaken(fn, operand);
    return module;
  }

  private markTaken(fn: Func, value: Value): void {
    if (value.valueKind === "blockaddress" && value.fn === fn)
      fn.view().blocks[value.label]!.label = value.label;
    if (value.valueKind === "aggregate") for (const e of value.elements) this.markTaken(fn, e);
    if (value.valueKind === "expr") for (const e of value.operands) this.markTaken(fn, e);
  }
}

/** Every field of a module as text; equal dumps mean equal modules. */
export function dumpModule(module: Module): string {
  const lines: string[] = [
    [module.sourceName, module.triple, module.dataLayout.text, module.moduleAsm].join("|"),
    JSON.stringify([module.flags, module.dependentLibraries]),
  ];
  const nameOf = (g: GlobalValue): string => `@${module.globals.indexOf(g)}`;
  for (const g of module.globals) {
    const { name, kind, linkage, visibility, dsoLocal, unnamedAddr, threadLocal } = g;
    lines.push(
      JSON.stringify([name, kind, linkage, visibility, dsoLocal, unnamedAddr, threadLocal, g.comdat]),
      `${g.valueType} ${g.type}`,
    );
    if (g.kind === "variable") {
      lines.push(JSON.stringify([g.align, g.section, g.isConstant, g.externallyInitialized]));
      if (g.initializer !== null) lines.push(dumpValue(g.initializer, nameOf));
    } else if (g.kind === "alias") lines.push(dumpValue(g.aliasee, nameOf));
    else if (g.kind === "ifunc") lines.push(dumpValue(g.resolver, nameOf));
    else {
      lines.push(
        JSON.stringify([g.callingConvention, g.align, g.section, g.gc, g.entryCount, g.typeIds]),
        dumpAttributes(g.attributes),
      );
      for (const c of [g.prefix, g.prologue, g.personality]) if (c !== null) lines.push(dumpValue(c, nameOf));
      if (!g.isDeclaration) lines.push(dumpBody(g.view(), nameOf));
    }
  }
  return lines.join("\n");
}

export function dumpBody(body: BodyView, nameOf: (g: GlobalValue) => string): string {
  const lines: string[] = [];
  body.renumber();
  for (const block of body.blocks) {
    lines.push(`block ${block.id} ${block.label}`);
    for (const inst of block.insts) {
      if (inst.parent !== block || isTerminator(inst.op) !== (inst === block.terminator))
        lines.push("BROKEN");
      const operands = inst.operands.map((o) => dumpValue(o, nameOf));
      const blocks = inst.blocks.map((b) => b.id);
      lines.push(
        `  %${inst.id} = ${opNames[inst.op]} ${inst.type} [${operands}] [${blocks}] ${inst.flags} ${dumpData(inst)} ${dumpHints(inst.hints, nameOf)}`,
      );
    }
  }
  return lines.join("\n");
}

const dumpSet = (set: AttributeSet): string =>
  [...set.kinds].map(([k, v]) => `${k}=${v}`).sort() + ";" + [...set.strings].map(String).sort();
const dumpAttributes = (list: AttributeList): string => {
  const parts = [list.fn, list.result, ...list.parameters].map(dumpSet);
  while (parts[parts.length - 1] === ";") parts.pop();
  return parts.join("/");
};

function dumpData(inst: Inst): string {
  if (inst.data === null) return "";
  if (inst.op === Op.Switch) return inst.data.map((c) => `${c.type} ${c.value}`).join();
  return JSON.stringify(inst.data, (key, value) => {
    if (value?.constructor?.name === "Type") return String(value);
    return key === "attributes" ? dumpAttributes(value) : value;
  });
}

function dumpValue(value: Value, nameOf: (g: GlobalValue) => string): string {
  const sub = (v: Value): string => dumpValue(v, nameOf);
  switch (value.valueKind) {
    case "inst":
      return `%${value.id}`;
    case "argument":
      return `arg${value.index}`;
    case "int":
      return `${value.type} ${value.value} ${value.num}`;
    case "float":
      return `${value.type} ${value.bits}`;
    case "undef":
      return `${value.type} ${value.poison}`;
    case "aggregate":
      return `${value.type} (${value.elements.map(sub)})`;
    case "data":
      return `${value.type} #${[...value.bytes]}`;
    case "expr":
      return `${value.type} ${opNames[value.op]}(${value.operands.map(sub)}) ${value.flags} ${value.elementType} ${value.predicate}`;
    case "blockaddress":
      return `${value.type} ${nameOf(value.fn)}:${value.label}`;
    case "globalref":
      return `${value.kind} ${nameOf(value.global)}`;
    case "global":
      return nameOf(value);
    case "asm":
      return JSON.stringify({ ...value, functionType: String(value.functionType) });
    case "metadata":
      return `!${value.text}`;
    case "zero":
    case "none":
      return `${value.type} zero`;
  }
}
