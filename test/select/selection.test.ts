/**
 * Selection without a machine that exists: what lto/codegen/select makes of control flow, constants and values, on one that
 * is made up, does what the IR does.
 */
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { unknownIndirectCalls } from "../../lto/analysis/function-pointers/index.js";
import { LoweringRunContext, lowerFunction } from "../../lto/codegen/lowering/index.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import { noRegisters } from "../../lto/codegen/register-set.js";
import { selectFunction } from "../../lto/codegen/select/select-function.js";
import type { SelectOptions } from "../../lto/codegen/target.js";
import type { Func, Module } from "../../lto/ir/module.js";
import type { Goal } from "../../lto/pass/pass.js";
import { pipelines } from "../../lto/pipeline/pipelines.js";
import type { SwitchCosts } from "../../lto/target/switches.js";
import { defaultConvention, resultRoom } from "../../lto/x64/frame/convention.js";
import { x64Lowering } from "../../lto/x64/lowering.js";
import { Interpreter } from "../support/interpreter/interpreter.js";
import { sessionPasses } from "../support/lowering.js";
import { Random } from "../support/random.js";
import { runToy } from "./toy-machine.js";
import { Toy, ToySelection, toyTarget } from "./toy-selection.js";

const usual: SwitchCosts = { leastRanges: 4, leastTests: 40, longestChain: 3 };
const levels = { none: "O0", speed: "O2", size: "Os", minsize: "Oz" } as const;
const goals = Object.keys(levels) as Goal[];

const options: SelectOptions = {
  relocation: "static",
  codeModel: "small",
  nearData: Number.POSITIVE_INFINITY,
  stackAlignment: 0,
  clobbersOf: () => noRegisters,
  conventionOf: () => defaultConvention,
  passedTo: () => {
    throw new Error("nothing is called");
  },
};

const only = ({ functions }: Module): Func => [...functions].find((fn) => !fn.isDeclaration)!;

function select(text: string, goal: Goal, costs = usual): MFunction {
  const module = parseModule(text, "m.ll");
  const fn = only(module);
  const { runner } = sessionPasses();
  const room = () => resultRoom(defaultConvention);
  const callees = { functions: [], indirect: unknownIndirectCalls(0), isRecursive: () => false };
  const context = new LoweringRunContext(
    runner,
    module.dataLayout,
    goal,
    fn.take(),
    x64Lowering,
    room,
    callees,
  );
  const legal = lowerFunction(runner, pipelines[levels[goal]].lowering, fn, context, 1);
  const order = context.order.of(legal.body);
  return selectFunction(
    toyTarget(costs),
    legal,
    order,
    module.dataLayout,
    goal,
    options,
    (input) => new ToySelection(input),
  ).mf;
}

/** What the IR gives for arguments. */
function expected(text: string, args: readonly bigint[]): bigint {
  const module = parseModule(text, "m.ll");
  const fn = only(module);
  const interpreter = new Interpreter(module.dataLayout, "exact");
  const values = fn.args.map((arg, i) => [arg, BigInt.asUintN(arg.type.bits, args[i]!)] as const);
  return interpreter.run(fn.view(), values)[0] as bigint;
}

/** Compares for each goal; results are of so many bits. */
function check(text: string, bits: number, inputs: readonly (readonly bigint[])[], costs = usual): void {
  for (const goal of goals) {
    const mf = select(text, goal, costs);
    for (const args of inputs)
      expect(BigInt.asUintN(bits, runToy(mf, args).results[0]!), `${goal}(${args})`).toBe(
        expected(text, args),
      );
  }
}

const above = 0x7f00ff0012345600n;

describe("control flow", () => {
  it("phis that pass each other's values around a loop", () => {
    const loop = `
define i32 @f(i32 %n, i32 %x, i32 %y) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %body ]
  %a = phi i32 [ %x, %entry ], [ %b, %body ]
  %b = phi i32 [ %y, %entry ], [ %a, %body ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %j = add i32 %i, 1
  br label %head
end:
  %s = mul i32 %a, 3
  %r = sub i32 %s, %b
  ret i32 %r
}`;
    check(
      loop,
      32,
      [0n, 1n, 2n, 5n].map((n) => [n, above + 7n, 11n]),
    );
  });

  it("the same of values that no register holds", () => {
    const loop = `
define double @f(i32 %n) {
entry:
  %p = alloca double
  store double 3.0, ptr %p
  %x = load double, ptr %p
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %body ]
  %a = phi double [ %x, %entry ], [ %b, %body ]
  %b = phi double [ 5.0, %entry ], [ %a, %body ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %j = add i32 %i, 1
  br label %head
end:
  ret double %a
}`;
    check(loop, 64, [[0n], [1n], [2n], [3n]]);
  });

  it.each(["and i1 %p, %q", "or i1 %p, %q", "select i1 %p, i1 %q, i1 false", "select i1 %p, i1 true, i1 %q"])(
    "a branch on %s",
    (both) => {
      for (const negate of [false, true]) {
        const text = `
define i32 @f(i32 %x, i32 %y) {
  %p = icmp slt i32 %x, 10
  %q = icmp ugt i32 %y, 20
  %both = ${both}
  %c = xor i1 %both, ${negate}
  br i1 %c, label %a, label %b
a:
  ret i32 1
b:
  ret i32 2
}`;
        const numbers = [above, above + 9n, above + 10n, 0xffffffffn, 21n];
        check(
          text,
          32,
          numbers.flatMap((x) => numbers.map((y) => [x, y])),
        );
      }
    },
  );

  it("drops what constants leave without a way in", () => {
    const text = `
define i32 @f(i32 %x) {
  switch i32 3, label %a [ i32 3, label %b i32 4, label %a ]
a:
  br i1 true, label %b, label %c
b:
  ret i32 1
c:
  ret i32 %x
}`;
    check(text, 32, [[7n]]);
    expect(select(text, "none").blocks.length).toBe(2);
  });
});

describe("constants", () => {
  it("those that take long are made once for all blocks, others once a block", () => {
    const text = `
define i64 @f(i64 %x) {
entry:
  %a = xor i64 %x, 123456
  %b = add i64 %a, 77
  %c = icmp slt i64 %b, 5
  br i1 %c, label %then, label %else
then:
  %d = mul i64 %b, 123456
  ret i64 %d
else:
  %e = add i64 %b, 77
  %f = mul i64 %e, 77
  %g = sub i64 123456, %f
  ret i64 %g
}`;
    check(text, 64, [[0n], [1n << 63n], [12345n]]);
    const { blocks } = select(text, "speed");
    const made = (n: number): number[] =>
      blocks.map((block) => block.insts.filter((i) => i.op === Toy.Const && Number(i.imm) === n).length);
    expect(made(123456)).toEqual([1, 0, 0]);
    expect(made(77)).toEqual([1, 0, 1]);
    // The first of all is the definition of the arguments.
    expect(blocks[0]!.insts[0]!.op).toBe(Toy.Entry);
  });
});

it("what nobody wants is not made", () => {
  const { blocks } = select("define i32 @f(i32 %x) {\n  %a = mul i32 %x, 3\n  ret i32 9\n}", "none");
  expect(blocks.flatMap((block) => block.insts.map((i) => i.op))).toEqual([Toy.Entry, Toy.Const, Toy.Return]);
});

describe("switches", () => {
  /** Runs of cases that share targets, with gaps between. */
  function randomSwitch(random: Random, bits: number): { text: string; values: bigint[] } {
    const low = BigInt.asIntN(bits, BigInt(random.below(1 << 20)) - 300n);
    const values: bigint[] = [];
    const cases: string[] = [];
    let at = low;
    const count = 1 + random.below(14);
    for (let i = 0; i < count; i++) {
      const target = random.below(4);
      for (let k = random.chance(0.3) ? 1 + random.below(6) : 1; k > 0; k--) {
        const value = BigInt.asIntN(bits, at++);
        if (values.includes(value)) continue;
        values.push(value);
        cases.push(`i${bits} ${value}, label %t${target}`);
      }
      at += BigInt(random.chance(0.5) ? 0 : random.chance(0.8) ? random.below(5) : random.below(1000));
    }
    const targets = [0, 1, 2, 3].map((t) => `t${t}:\n  ret i32 ${t * 17 + 1}`).join("\n");
    const text = `define i32 @f(i${bits} %x) {
  switch i${bits} %x, label %t0 [ ${cases.join(" ")} ]
${targets}
}`;
    return { text, values };
  }

  const costs: readonly SwitchCosts[] = [
    usual,
    { leastRanges: 2, leastTests: 5, longestChain: 1 },
    { leastRanges: 1000, leastTests: 40, longestChain: 2 },
    { leastRanges: 3, leastTests: 90, longestChain: 8 },
  ];

  it.each([8, 16, 32, 64])("of i%i lead where the IR says, whatever their costs", (bits) => {
    const random = new Random(bits);
    let tables = 0;
    for (let n = 0; n < 12; n++) {
      const { text, values } = randomSwitch(random, bits);
      const edges = [0n, -1n, 1n << BigInt(bits - 1), (1n << BigInt(bits - 1)) - 1n];
      const inputs = [...values.flatMap((v) => [v - 1n, v, v + 1n]), ...edges];
      const wanted = inputs.map((x) => expected(text, [x]));
      for (const cost of costs) {
        const mf = select(text, "speed", cost);
        tables += mf.jumpTables.length;
        inputs.forEach((x, i) => {
          const garbage = bits === 64 ? x : BigInt.asUintN(bits, x) | (above << BigInt(bits));
          const [result] = runToy(mf, [garbage]).results;
          expect(BigInt.asUintN(32, result!), `${text}\nfor ${x}`).toBe(wanted[i]);
        });
      }
    }
    expect(tables).toBeGreaterThan(3);
  });

  it.each(["ptrtoint (ptr @g to i64)", "%address", "undef"])(
    "on %s, which is made at the switch",
    (value) => {
      const text = `
@g = external global i8
define i32 @f() {
  %p = alloca i8
  store volatile i8 1, ptr %p
  %address = ptrtoint ptr %p to i64
  switch i64 ${value}, label %a [ i64 3, label %b i64 7, label %a i64 18, label %b i64 23, label %a i64 39, label %b ]
a:
  ret i32 1
b:
  ret i32 2
}`;
      for (const goal of goals) expect(runToy(select(text, goal), []).results[0]! & 255n).toBe(1n);
    },
  );

  it("are tables where those are dense, and trees of tests where chains would get long", () => {
    const dense = Array.from({ length: 8 }, (_, i) => `i32 ${i}, label %t${i % 2}`).join(" ");
    const sparse = Array.from({ length: 8 }, (_, i) => `i32 ${i * 100}, label %t${i % 2}`).join(" ");
    const text = (cases: string): string => `define i32 @f(i32 %x) {
  switch i32 %x, label %t2 [ ${cases} ]
t0:
  ret i32 0
t1:
  ret i32 1
t2:
  ret i32 2
}`;
    const table = select(text(dense), "speed");
    expect(table.jumpTables.map(({ targets }) => targets.length)).toEqual([8]);
    expect(select(text(sparse), "speed").jumpTables).toEqual([]);
    const steps = (longestChain: number): number => {
      const mf = select(text(sparse), "speed", { ...usual, longestChain });
      return runToy(mf, [700n]).steps;
    };
    expect(steps(1)).toBeLessThan(steps(8));
  });
});
