/** What the outliner makes of final code, form by form, and what it leaves alone. */
import { describe, expect, it } from "vitest";
import { instructionText } from "../../formats/asm/x64/instructions.js";
import { ProgramCode } from "../../lto/codegen/late/program-code.js";
import {
  type CallInfo,
  MBlock,
  MFunction,
  MInst,
  RegOperand,
  routineCall,
  unwindTarget,
} from "../../lto/codegen/mir.js";
import { type OutlineOptions, outlineCode } from "../../lto/codegen/outline/outliner.js";
import { packFunction } from "../../lto/codegen/pack/pack.js";
import { SymbolNumbers } from "../../lto/codegen/pack/symbol-numbers.js";
import { packedHead, skipInstruction } from "../../lto/codegen/pack/walk.js";
import { registerSet, setOfWords } from "../../lto/codegen/register-set.js";
import { AttributeList, AttributeSet, noAttributes } from "../../lto/ir/attributes.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, ptr, voidType } from "../../lto/ir/types.js";
import { type Remark, Remarks } from "../../lto/pass/remarks.js";
import { aluImm, baseDisp, lea, movImm, pop, push } from "../../lto/x64/isa/build.js";
import { X } from "../../lto/x64/isa/ops.js";
import { RAX, RBX, RCX, RDI, RSP } from "../../lto/x64/isa/registers.js";
import { x64Target } from "../../lto/x64/target.js";
import { allForms } from "./forms.js";

const type = functionType(voidType, []);
const callee = new Func("callee", type);

/** What of a function matters beside its code. */
interface Properties {
  readonly goal?: MFunction["goal"];
  readonly unwind?: MFunction["unwind"];
  readonly redZone?: boolean;
  readonly returnsTwice?: boolean;
  readonly section?: string;
  readonly attributes?: Record<string, true | string>;
  readonly personality?: boolean;
}

function transfer(op: X, info: Partial<CallInfo> = {}): MInst {
  const inst = new MInst(op, 8);
  inst.symbol = { kind: "direct", target: { kind: "global", global: callee } };
  inst.clobbers = registerSet(RAX, RCX, RDI);
  inst.extra = { ...routineCall, callee, ...info };
  return inst;
}
const call = (info: Partial<CallInfo> = {}): MInst => transfer(X.Call, info);
const ret = (): MInst => new MInst(X.Ret, 8);
const load = (register: number, offset: number): MInst => {
  const inst = new MInst(X.Mov, 8);
  inst.defs = [RegOperand.physical(register)];
  inst.mem = baseDisp(RSP, offset);
  return inst;
};
/** Ten bytes that nothing else has. */
const body = (): MInst[] => [movImm(4, RBX, 1111), movImm(4, RCX, 2222)];

/** @param pad of the function, where it has a personality */
type Code = (pad: MBlock) => MInst[];

function program(functions: readonly Code[], properties: Properties = {}) {
  const funcs = functions.map((_, i) => {
    const fn = new Func(`f${i}`, type);
    fn.section = properties.section ?? "";
    const own = Object.entries(properties.attributes ?? {});
    fn.attributes = new AttributeList(
      new AttributeSet(
        new Map(own.filter(([, value]) => value === true) as [string, true][]),
        new Map(own.filter(([, value]) => value !== true) as [string, string][]),
      ),
      noAttributes,
      [],
    );
    if (properties.personality === true) fn.personality = new Func("personality", functionType(ptr, []));
    return fn;
  });
  const symbols = new SymbolNumbers({ globals: [callee, ...funcs] });
  const packed = functions.map((code, i) => {
    const mf = new MFunction(funcs[i]!, `f${i}`, properties.goal ?? "minsize", x64Target);
    mf.unwind = properties.unwind ?? "none";
    mf.redZone = properties.redZone ?? false;
    mf.returnsTwice = properties.returnsTwice ?? false;
    const block = mf.newBlock();
    const pad = new MBlock(1);
    pad.landingPad = true;
    pad.insts = [ret()];
    if (properties.personality === true) mf.blocks.push(pad);
    block.insts = code(pad);
    return packFunction(mf, symbols);
  });
  return new ProgramCode(packed, symbols, x64Target, {
    globals: funcs,
    layout: new DataLayout(""),
    retained: new Set(),
    isPositionIndependent: false,
  });
}

const names = {
  symbol: (global: { name: string }) => global.name,
  direct: (global: { name: string }) => global.name,
  block: () => "block",
  foreignBlock: () => "",
  constant: () => "",
  addressWord: () => null,
  jumpTable: () => "",
  trapSection: () => "",
  patchLabel: () => "",
  asmId: () => "",
};
const lines = (mf: MFunction): string[] =>
  mf.blocks
    .flatMap((block) => block.insts)
    .map((inst) => instructionText(inst, names).trim().replace("\t", " "));

/** The code afterwards: of the first function, and of those that were made, whose names become `F`. */
function outlined(
  functions: readonly Code[],
  properties: Properties = {},
  options: Partial<OutlineOptions> = {},
  aligned = false,
): { first: string[]; made: string[][]; code: ProgramCode } {
  const code = program(functions, properties);
  outlineCode(
    code,
    { forms: ["call", "thunk", "jump"], rounds: 1, sharedUnwind: true, ...options },
    () => aligned,
    () => false,
  );
  const plain = (list: string[]): string[] => list.map((line) => line.replace(/outlined\.\w+/, "F"));
  return {
    first: plain(lines(code.view(0))),
    made: added(code).map((mf) => plain(lines(mf))),
    code,
  };
}

/** So many functions of this code with something of their own around it. */
const times = (count: number, code: Code, exit: () => MInst[] = () => [ret()]): Code[] =>
  Array.from({ length: count }, (_, i) => (pad: MBlock) => [
    movImm(4, RDI, 100 + i),
    ...code(pad),
    movImm(4, RDI, 200 + i),
    ...exit(),
  ]);
const untouched = (functions: readonly Code[], properties: Properties = {}): void =>
  expect(outlined(functions, properties).made).toEqual([]);

const added = (code: ProgramCode): MFunction[] =>
  Array.from({ length: code.count - code.programCount }, (_, i) => code.view(code.programCount + i));

describe("forms", () => {
  it("call: the code and a return", () => {
    const { first, made } = outlined(times(4, body));
    expect(first).toEqual(["movl $100, %edi", "call F", "movl $200, %edi", "ret"]);
    expect(made).toEqual([["movl $1111, %ebx", "movl $2222, %ecx", "ret"]]);
  });
  it("thunk: a last call becomes a jump", () => {
    const { first, made } = outlined(times(4, () => [...body(), call()]));
    expect(first).toEqual(["movl $100, %edi", "call F", "movl $200, %edi", "ret"]);
    expect(made).toEqual([["movl $1111, %ebx", "movl $2222, %ecx", "jmp callee"]]);
  });
  it("jump: code that leaves", () => {
    const leaving = Array.from({ length: 4 }, (_, i) => () => [movImm(4, RDI, 100 + i), ...body(), ret()]);
    const { first, made } = outlined(leaving);
    expect(first).toEqual(["movl $100, %edi", "jmp F"]);
    expect(made).toEqual([["movl $1111, %ebx", "movl $2222, %ecx", "ret"]]);
  });
  it("only those asked for", () => {
    const functions = times(4, () => [...body(), call()]);
    expect(outlined(functions, {}, { forms: ["thunk"] }).made[0]!.at(-1)).toBe("jmp callee");
    expect(outlined(functions, {}, { forms: ["call"] }).made[0]!.at(-1)).toBe("ret");
    expect(outlined(functions, {}, { forms: ["jump"] }).made).toEqual([]);
  });
  it("nothing that makes the program no smaller", () => {
    untouched(times(2, () => [movImm(4, RBX, 1), pop(RCX)]));
    untouched(times(2, body).slice(0, 1));
    // Twice ten bytes against two calls, the code and a return.
    untouched(times(2, () => [movImm(4, RBX, 1111), movImm(4, RCX, 2222)]));
  });
});

describe("the stack pointer is lower in a called function", () => {
  it("so what it addresses is further up", () => {
    const { made } = outlined(times(4, () => [load(RBX, 16), load(RCX, 120), ...body()]));
    expect(made[0]).toEqual([
      "movq 24(%rsp), %rbx",
      "movq 128(%rsp), %rcx",
      "movl $1111, %ebx",
      "movl $2222, %ecx",
      "ret",
    ]);
  });
  it("but not where code is jumped to", () => {
    const { made } = outlined(
      Array.from({ length: 4 }, (_, i) => () => [movImm(4, RDI, i), load(RBX, 16), ...body(), ret()]),
    );
    expect(made[0]![0]).toBe("movq 16(%rsp), %rbx");
  });
  it("pushes and pops are balanced in it", () => {
    const { made } = outlined(times(4, () => [push(RCX), ...body(), pop(RBX), pop(RDI)]));
    expect(made).toEqual([["pushq %rcx", "movl $1111, %ebx", "movl $2222, %ecx", "popq %rbx", "ret"]]);
  });
  it("a push may be an argument of the call: that stays behind", () => {
    const { made } = outlined(times(4, () => [...body(), push(RCX), call({ pushed: 16 })]));
    expect(made).toEqual([["movl $1111, %ebx", "movl $2222, %ecx", "ret"]]);
  });
  it("arguments that are there already are found by what it jumps to", () => {
    const { made } = outlined(times(4, () => [...body(), call({ pushed: 16 })]));
    expect(made).toEqual([["movl $1111, %ebx", "movl $2222, %ecx", "jmp callee"]]);
  });
  it("a call inside finds its arguments where they are pushed in there, too", () => {
    const pushed = (): MInst[] => [...body(), push(RCX), call({ pushed: 8 }), pop(RDI), ...body()];
    expect(outlined(times(4, pushed)).made[0]).toHaveLength(8);
    const { made } = outlined(times(4, () => [...body(), call({ pushed: 8 }), pop(RDI), ...body()]));
    expect(made.flat()).not.toContain("call callee");
  });
  it("what it has pushed itself lies where it did: code that addresses that stays", () => {
    const reading = (offset: number): readonly (readonly string[])[] =>
      outlined(times(4, () => [push(RCX), load(RBX, offset), pop(RDI), ...body()])).made;
    expect(reading(0)).toEqual([["movl $1111, %ebx", "movl $2222, %ecx", "ret"]]);
    expect(reading(8)[0]!.slice(0, 2)).toEqual(["pushq %rcx", "movq 16(%rsp), %rbx"]);
  });
  it("calls inside are aligned where that is needed", () => {
    const functions = times(6, () => [...body(), call(), ...body()]);
    expect(outlined(functions, {}, {}, false).made[0]).toEqual([
      "movl $1111, %ebx",
      "movl $2222, %ecx",
      "call callee",
      "movl $1111, %ebx",
      "movl $2222, %ecx",
      "ret",
    ]);
    const { made } = outlined(functions, {}, {}, true);
    expect([made[0]![0], ...made[0]!.slice(-2)]).toEqual(["pushq %rax", "popq %rax", "ret"]);
  });
  it("rsp itself is not touched", () => {
    untouched(times(4, () => [movImm(4, RBX, 1111), aluImm(X.Sub, 8, RSP, 400)]));
    untouched(times(4, () => [movImm(4, RBX, 1111), lea(8, RSP, baseDisp(RSP, 400))]));
  });
});

describe("left alone", () => {
  const functions = times(6, () => [...body(), ...body()]);
  it("is taken without what is said below", () => expect(outlined(functions).made).toHaveLength(1));
  it("what keeps something below the stack pointer", () => untouched(functions, { redZone: true }));
  it("what calls setjmp", () => untouched(functions, { returnsTwice: true }));
  it("what has a section of its own", () => untouched(functions, { section: "early" }));
  it.each([
    [{ nooutline: true }],
    [{ naked: true }],
    [{ optnone: true }],
    [{ "zero-call-used-regs": "used-gpr" }],
    [{ "target-features": "+harden-sls-ret" }],
    [{ "fentry-call": "true" }],
  ] as [Record<string, true | string>][])("what has %j", (attributes) =>
    untouched(functions, { attributes }),
  );
  it("what is for speed", () => untouched(functions, { goal: "speed" }));
  it("calls that return twice", () =>
    untouched(times(6, () => [movImm(4, RBX, 1111), call({ returnsTwice: true }), movImm(4, RCX, 2222)])));
  it("prologues and epilogues", () => {
    untouched(times(6, () => [push(RBX, X.PushSaved), push(RCX, X.PushSaved), push(RDI, X.PushSaved)]));
    untouched(times(6, () => [pop(RBX, X.PopSaved), pop(RCX, X.PopSaved), pop(RDI, X.PopSaved)]));
  });
});

describe("exceptions", () => {
  const personality = { personality: true };
  /** The landing pads of calls in the first block of a function. */
  const padsOf = (code: ProgramCode, fn: number): (number | null)[] => {
    const mf = code.view(fn);
    return mf.blocks[0]!.insts.filter(({ extra }) => extra?.kind === "call").map((inst) => {
      const pad = unwindTarget(inst);
      return pad === null ? null : mf.blocks.indexOf(pad);
    });
  };
  it("of calls that lead to no landing pad pass by a call", () => {
    const calling = times(6, () => [movImm(4, RBX, 1111), call({ noUnwind: false }), movImm(4, RCX, 2222)]);
    const { made, code } = outlined(calling, personality);
    expect(made).toEqual([["movl $1111, %ebx", "call callee", "movl $2222, %ecx", "ret"]]);
    expect(padsOf(code, 0)).toEqual([null]);
  });
  it("go to the landing pad of each place, or nowhere", () => {
    let place = 0;
    const calling = times(6, (pad) => {
      const unwind = place++ % 2 === 0 ? pad : null;
      return [movImm(4, RBX, 1111), call({ noUnwind: false, unwind })];
    });
    const { made, code } = outlined(calling, personality);
    expect(made).toEqual([["movl $1111, %ebx", "jmp callee"]]);
    expect([0, 1, 2, 3].map((fn) => padsOf(code, fn))).toEqual([[1], [null], [1], [null]]);
  });
  it("are not mixed: some that stay and some that pass", () => {
    const mixed = times(6, (pad) => [
      movImm(4, RBX, 1111),
      call({ noUnwind: false }),
      movImm(4, RCX, 2222),
      call({ noUnwind: false, unwind: pad }),
    ]);
    const { made } = outlined(mixed, personality);
    expect(made).toEqual([["movl $1111, %ebx", "call callee", "movl $2222, %ecx", "ret"]]);
    const quiet = times(6, (pad) => [
      call({ noUnwind: true }),
      movImm(4, RCX, 2222),
      call({ noUnwind: false, unwind: pad }),
    ]);
    const whole = outlined(quiet, personality);
    expect(whole.made).toEqual([["call callee", "movl $2222, %ecx", "jmp callee"]]);
    expect(padsOf(whole.code, 0)).toEqual([1]);
  });
  it("find the frame that they go to", () => {
    const leaving = (unwinds: boolean): Code[] =>
      Array.from({ length: 6 }, (_, i) => (pad: MBlock) => [
        movImm(4, RDI, 100 + i),
        call({ noUnwind: false, unwind: unwinds ? pad : null }),
        movImm(4, RBX, 1111),
        ret(),
      ]);
    expect(outlined(leaving(false), personality).first).toEqual(["movl $100, %edi", "jmp F", "ret"]);
    expect(outlined(leaving(true), personality).first).not.toContain("jmp F");
  });
});

describe("unwind tables", () => {
  it("of a push count at each place, and once in the function", () => {
    const code = (): MInst[] => [push(RCX), movImm(1, RBX, 1), pop(RDI)];
    untouched(times(4, code));
    expect(outlined(times(4, code), { unwind: "async" }).made).toHaveLength(1);
  });
  it("take a description where functions share none", () => {
    expect(outlined(times(5, body), { unwind: "sync" }).made).toHaveLength(1);
    expect(outlined(times(5, body), { unwind: "sync" }, { sharedUnwind: false }).made).toEqual([]);
    expect(outlined(times(5, body), {}, { sharedUnwind: false }).made).toHaveLength(1);
  });
});

describe("remarks", () => {
  const decisions = (functions: readonly Code[], properties: Properties = {}) => {
    const remarks = new Remarks(null);
    const { made } = outlined(functions, properties, { remarks, rounds: 2 });
    return { made, list: remarks.take() };
  };
  const numbers = ({ facts }: Remark): Record<string, string | number> =>
    Object.fromEntries(facts.filter(([key]) => key !== "String"));

  it("tell what was made, with sizes of both sides and places", () => {
    const { list } = decisions(times(4, body));
    expect(list.filter(({ kind }) => kind === "Passed")).toHaveLength(1);
    const remark = list.find(({ kind }) => kind === "Passed")!;
    expect(remark).toMatchObject({ pass: "outline", name: "OutlinedFunction" });
    expect(remark.function).toMatch(/^outlined\.[0-9a-f]{12}$/);
    expect(numbers(remark)).toEqual({
      OutliningBenefit: 40 - 31,
      Length: 2,
      NumOccurrences: 4,
      Round: 1,
      Form: "call",
      FunctionBytes: 11,
      Cost: 31,
      Threshold: 40,
      CodeBytes: 4 * 5 + 11,
      CodeBytesBefore: 40,
      TableBytes: 0,
      TableBytesBefore: 0,
      Place1: "f0",
      Place2: "f1",
      Place3: "f2",
      Place4: "f3",
    });
  });
  it("count unwind tables", () => {
    const { list } = decisions(
      times(4, () => [push(RCX), movImm(1, RBX, 1), pop(RDI)]),
      { unwind: "async" },
    );
    const { TableBytes, TableBytesBefore, Cost, Threshold, OutliningBenefit } = numbers(list[0]!);
    expect(list[0]!.kind).toBe("Passed");
    expect(TableBytesBefore).toBe(4 * Number(TableBytes));
    expect(TableBytes).toBeGreaterThan(0);
    expect(Number(Threshold) - Number(Cost)).toBe(OutliningBenefit);
  });
  it("tell what was not worth it, and what others took the places of", () => {
    // Three times nine bytes: each a call and a half.
    const { made, list } = decisions(times(3, () => [movImm(4, RBX, 1111), push(RCX), pop(RDI)]));
    expect(made).toEqual([]);
    expect(list.length).toBeGreaterThan(0);
    for (const remark of list) {
      expect(remark).toMatchObject({ kind: "Missed", name: "NotOutliningCheaper", function: "f0" });
      const { Cost, Threshold } = numbers(remark);
      expect(Number(Cost)).toBeGreaterThanOrEqual(Number(Threshold));
    }
    // The whole is worth more than its part, which then occurs nowhere else.
    const long = (): MInst[] => [...body(), movImm(4, RAX, 3333), movImm(4, RDI, 4444)];
    const both = decisions([...times(6, long), ...times(2, () => [...body(), movImm(4, RAX, 3333)])]);
    expect(both.list.filter(({ kind }) => kind === "Passed").map(({ name }) => name)).toContain(
      "OutlinedFunction",
    );
    const taken = both.list.find(({ name }) => name === "PlacesTaken")!;
    expect(taken.kind).toBe("Missed");
    expect(Number(numbers(taken)["NumFree"])).toBeLessThan(Number(numbers(taken)["NumOccurrences"]));
  });
  it("change nothing, and are the same each time", () => {
    const functions = times(6, () => [...body(), ...body()]);
    expect(decisions(functions)).toEqual(decisions(functions));
    expect(decisions(functions).made).toEqual(outlined(functions, {}, { rounds: 2 }).made);
  });
});

describe("names", () => {
  const nameIn = (functions: readonly Code[]): string[] =>
    added(outlined(functions).code).map((mf) => mf.name);
  it("come from the content", () => {
    const one = nameIn(times(4, body));
    expect(one[0]).toMatch(/^outlined\.[0-9a-f]{12}$/);
    expect(nameIn([() => [movImm(4, RBX, 7), ret()], ...times(7, body)])).toEqual(one);
    expect(nameIn(times(4, () => [movImm(4, RBX, 1112), movImm(4, RCX, 2222)]))).not.toEqual(one);
  });
  it("do not take others'", () => {
    const code = program(times(4, body));
    const [taken] = nameIn(times(4, body));
    const options = { forms: ["call"], rounds: 1, sharedUnwind: true } as const;
    outlineCode(
      code,
      options,
      () => false,
      (name) => name === taken,
    );
    expect(added(code).map((mf) => mf.name)).toEqual([`${taken}.2`]);
  });
});

it("calls say what the code reads, sets and changes", () => {
  const { code } = outlined(times(4, () => [load(RBX, 8), ...body(), call()]));
  const inst = code.view(0).blocks[0]!.insts[1]!;
  expect(inst.defs.map(({ loc }) => loc)).toEqual([RBX]);
  expect(inst.clobbers).toEqual(setOfWords((1 << RAX) | (1 << RCX) | (1 << RDI) | (1 << RBX)));
});

it("further rounds do not lower the stack around calls of code that addresses the caller's frame", () => {
  const inner = (): MInst[] => [load(RBX, 16), ...body()];
  const around = (): MInst[] => [movImm(4, RDI, 7777), ...inner(), movImm(4, RDI, 8888)];
  const { made } = outlined([...times(8, inner), ...times(4, around)], {}, { rounds: 3 });
  expect(made[0]![0]).toBe("movq 24(%rsp), %rbx");
  for (const lines of made) expect(lines.slice(0, -1)).not.toContain("call F");
  // Where nothing is addressed they may.
  const plain = (): MInst[] => [movImm(4, RDI, 7777), ...body(), movImm(4, RDI, 8888)];
  const free = outlined([...times(12, body), ...times(4, plain)], {}, { rounds: 3 }).made;
  expect(free.flatMap((lines) => lines.slice(0, -1))).toContain("call F");
});
it("further rounds share what outlined functions have in common", () => {
  const one = (): MInst[] => [...body(), movImm(4, RAX, 3333), movImm(4, RBX, 4444)];
  const functions = [
    ...times(6, () => [...one(), movImm(4, RCX, 5555)]),
    ...times(6, () => [...one(), movImm(4, RCX, 6666)]),
  ];
  const rounds = (n: number): number => outlined(functions, {}, { rounds: n }).made.length;
  expect(rounds(2)).toBeGreaterThanOrEqual(rounds(1));
  expect(rounds(0)).toBe(0);
});

it("packed instructions are walked over as they were packed", () => {
  const forms = allForms();
  const code = program([() => allForms()]);
  const packed = code.packed(0);
  expect(packedHead(packed).blocks).toBe(1);
  let at = packed.blocks;
  expect(packed.words[at]).toBe(forms.length);
  at++;
  const wrong: number[] = [];
  forms.forEach((form, i) => {
    const next = skipInstruction(packed.words, at);
    if (form.targets.length === 0 && form.extra === null && (form.symbol ?? form.mem?.symbol) == null) {
      if (code.instruction(packed.words, at).op !== form.op) wrong.push(i);
    }
    at = next;
  });
  expect(wrong).toEqual([]);
  expect(at).toBe(packed.words.length);
});
