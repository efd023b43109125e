/** `ConstantSolver` looks again at whatever a fact that got lower concerns: whole sweeps after it find nothing more. */
import { expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import type { DataLayout } from "../../lto/ir/data-layout.js";
import { Folder, floatModeOf } from "../../lto/ir/fold/index.js";
import { type CallInst, isCall } from "../../lto/ir/instructions.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { type Argument, constInt, sameConstant } from "../../lto/ir/values.js";
import { hasIntervals, Interval } from "../../lto/opt/constants/interval.js";
import { Inflow, isConstantFact, type Known, unknown, varying } from "../../lto/opt/constants/lattice.js";
import { ConstantSolver, type Surroundings } from "../../lto/opt/constants/solver.js";
import { helpers, irregularFunction } from "../random/irregular.js";
import { Random } from "../support/random.js";
import { randomFunction } from "./random-functions.js";

/** Arguments and results of calls that get lower one by one; nothing is known of memory. */
class Lowering implements Surroundings {
  readonly arguments: readonly Inflow[];
  readonly results = new Map<CallInst, Inflow>();
  private readonly folder: Folder;

  constructor(
    readonly fn: Func,
    layout: DataLayout,
    private readonly random: Random,
  ) {
    this.arguments = fn.args.map(() => new Inflow(unknown));
    for (const { insts } of fn.view().blocks)
      for (const inst of insts) if (isCall(inst)) this.results.set(inst, new Inflow(unknown));
    this.folder = new Folder(layout, floatModeOf(fn));
  }

  argument({ index }: Argument): Known {
    return this.arguments[index]!.known;
  }
  call(call: CallInst): Known {
    return this.results.get(call)!.known;
  }
  load(): Known {
    return varying;
  }
  store(): void {}
  ret(): void {}
  fold: Surroundings["fold"] = (inst, operands) =>
    this.folder.operation(inst.op, inst.type, operands, inst.data, inst.flags);

  /** Lowers one of them. @param tell says so to the solver */
  lower(solver: ConstantSolver, tell: boolean): void {
    const { random } = this;
    const calls = [...this.results];
    const which = random.below(this.arguments.length + calls.length);
    if (which < this.arguments.length) {
      const argument = this.fn.args[which]!;
      if (this.arguments[which]!.add(this.fact(argument)) && tell) solver.argumentChanged(argument);
    } else {
      const [call, result] = calls[which - this.arguments.length]!;
      if (result.add(this.fact(call)) && tell) solver.recheck(call.parent!.id);
    }
  }
  private fact({ type }: Argument | CallInst): Known {
    if (!hasIntervals(type) || this.random.chance(0.2)) return varying;
    const from = this.random.below(12);
    if (type.bits < 8 || this.random.chance(0.6)) return constInt(type, from % 2);
    return new Interval(type, from, from + 1 + this.random.below(20), null, 0);
  }
}

const steps = 12;

/** Whether all that a solver says a second one says, too, which began with what is known at the end. */
function covers(first: ConstantSolver, second: ConstantSolver, fn: Func): boolean {
  return fn.view().blocks.every((block) => {
    if (!second.isReached(block)) return true;
    return (
      first.isReached(block) &&
      block.successors.every((_, i) => first.maySucceed(block, i) || !second.maySucceed(block, i)) &&
      block.insts.every((inst) => {
        const known = first.of(inst);
        const anew = second.of(inst);
        return (
          !isConstantFact(known) || anew === unknown || (isConstantFact(anew) && sameConstant(known, anew))
        );
      })
    );
  });
}

/** @returns how often the solver had what whole sweeps, and one that starts anew, find */
function solveStepwise(module: Module, random: Random, tell: boolean): number {
  const fn = module.functions.find(({ name }) => name === "f")!;
  const body = fn.view();
  const instructions = body.renumber();
  const around = new Lowering(fn, module.dataLayout, random);
  const solver = new ConstantSolver(body, instructions, around, true);
  for (let known = random.below(8); known > 0; known--) around.lower(solver, true);
  let agreed = 0;
  for (let step = 0; step < steps; step++) {
    solver.solve();
    const anew = new ConstantSolver(body, instructions, around, true);
    anew.solve();
    if (covers(solver, anew, fn) && solver.isFixpoint()) agreed++;
    around.lower(solver, tell);
  }
  return agreed;
}

/** What random functions hardly have. */
const written = [
  // What is known of %x after the branch depends on %n, which nobody there mentions.
  `define i1 @f(i32 %x, i32 %n) {
     %c = icmp slt i32 %x, %n
     br i1 %c, label %yes, label %no
   yes:
     br label %next
   next:
     %t = icmp slt i32 %x, 2
     ret i1 %t
   no:
     ret i1 false
   }`,
  // Successors become more one by one.
  `define i32 @f(i32 %x) {
     switch i32 %x, label %other [${Array.from({ length: 16 }, (_, i) => `i32 ${i}, label %l${i % 8}`).join(" ")}]
     ${Array.from({ length: 8 }, (_, i) => `l${i}:\n br label %join`).join("\n")}
   other:
     br label %join
   join:
     %r = phi i32 ${Array.from({ length: 8 }, (_, i) => `[ ${i * i}, %l${i} ]`).join(", ")}, [ 7, %other ]
     ret i32 %r
   }`,
  // Whichever of two blocks comes first, the other one may be entered first.
  ...["%a, label %b", "%b, label %a"].map(
    (successors) => `declare i1 @ask()
    define i32 @f(i1 %c, i32 %n) {
       br i1 %c, label ${successors}
     a:
       %x = add i32 %n, 1
       %p = call i1 @ask()
       br i1 %p, label %b, label %end
     b:
       %y = add i32 %n, 2
       %q = call i1 @ask()
       br i1 %q, label %a, label %end
     end:
       ret i32 %n
     }`,
  ),
];

const modules = (seed: number): Module[] => {
  const { text, declarations } = irregularFunction("f", new Random(seed));
  const irregular = [text, helpers, ...declarations].join("\n");
  return [randomFunction(new Random(seed)), irregular, ...written].map((source) =>
    parseModule(source, "f.ll"),
  );
};

it("has what whole sweeps find, whatever gets lower", () => {
  for (let seed = 0; seed < 150; seed++)
    for (const module of modules(seed))
      expect(solveStepwise(module, new Random(seed), true), `seed ${seed}`).toBe(steps);
});

it("has less when nobody tells it", () => {
  const all = Array.from({ length: 20 }, (_, seed) =>
    modules(seed).map((module) => solveStepwise(module, new Random(seed), false)),
  );
  expect(all.flat().filter((agreed) => agreed < steps).length).toBeGreaterThan(20);
});
