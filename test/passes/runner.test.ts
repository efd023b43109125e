/** What the runner does for passes: order, facts, and the faults that `--verify-each` finds. */

import { describe, expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction, printModule } from "../../formats/text/index.js";
import { summarizeModule } from "../../lto/analysis/summary.js";
import { Use } from "../../lto/analysis/variable-uses.js";
import { Op } from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";
import { type CodeOrigin, Origins } from "../../lto/ir/origins.js";
import { finish } from "../../lto/ir/steps.js";
import { constInt } from "../../lto/ir/values.js";
import { dce } from "../../lto/opt/dce.js";
import { callGraph, summary, variableUses } from "../../lto/pass/analyses.js";
import { diffLines } from "../../lto/pass/diff.js";
import {
  bottomUp,
  onFunctions,
  onModule,
  runModulePipeline,
  type Stage,
} from "../../lto/pass/module-pipeline.js";
import { noPassOptions, type PassOptions } from "../../lto/pass/options.js";
import { type FunctionPass, ifChanged, type ModulePass, may, must } from "../../lto/pass/pass.js";
import { mergeReports, type PassReport } from "../../lto/pass/report.js";
import { PassRunner, type RunnerServices } from "../../lto/pass/runner.js";
import { x64Costs } from "../../lto/x64/costs.js";
import {
  askUnsaid,
  claimBlocks,
  denyChange,
  inventOrigin,
  loseTerminator,
  swapSubtraction,
  Witness,
} from "./fixture-passes.js";

const program = `
define i32 @leaf(i32 %a, i32 %b) {
  %s = sub i32 %a, %b
  %dead = mul i32 %s, %s
  ret i32 %s
}
define i32 @main(i32 %a) {
  %x = call i32 @leaf(i32 %a, i32 3)
  %y = call i32 @even(i32 %x)
  ret i32 %y
}
define i32 @even(i32 %a) {
  %x = call i32 @odd(i32 %a)
  ret i32 %x
}
define i32 @odd(i32 %a) {
  %x = call i32 @even(i32 %a)
  ret i32 %x
}
define i32 @plain(i32 %a) optnone noinline {
  %dead = mul i32 %a, %a
  ret i32 %a
}
`;

function run(
  stages: readonly Stage[],
  options: Partial<PassOptions> = {},
  module = parseModule(program, "program.ll"),
): { text: string; log: string; report: PassReport } {
  let log = "";
  let time = 0;
  const services = {
    print: printFunction,
    now: () => (time += 10),
    costs: x64Costs,
    thread: 0,
    log: (text: string) => {
      log += text;
    },
  };
  const runner = new PassRunner({ ...noPassOptions, ...options }, services, module);
  finish(
    runModulePipeline(runner, stages, module, bodyCodec(), (fn) =>
      fn.attributes.fn.has("optnone") ? "none" : "speed",
    ),
  );
  return { text: printModule(module), log, report: runner.takeReport() };
}

/** Services of a runner that nobody listens to. */
const quiet: RunnerServices = {
  print: printFunction,
  now: () => 0,
  costs: x64Costs,
  thread: 0,
  log: () => {},
};

const only = (pass: FunctionPass, options: Partial<PassOptions> = {}): ReturnType<typeof run> =>
  run([onFunctions(may(pass))], options);

/** A pass that finds nothing, and tells which functions it was asked about. */
const looking = (seen: string[], name = "look", told = (fn: Func): string => fn.name): FunctionPass => ({
  name,
  level: "function",
  description: "",
  requires: [],
  preserves: [],
  run: (fn) => {
    seen.push(told(fn));
    return false;
  },
});

describe("order", () => {
  it("whole module, then components callees first with their functions, then functions", () => {
    const witness = new Witness();
    run(witness.stages());
    expect(witness.seen).toEqual([
      "module 5 functions, 4 components",
      "component leaf",
      "function leaf, 3 uses",
      "component even odd",
      "function even, 1 uses",
      "function odd, 1 uses",
      "component main",
      "function main, 2 uses",
      "component plain",
      "function leaf, 3 uses",
      "function main, 2 uses",
      "function even, 1 uses",
      "function odd, 1 uses",
    ]);
  });
  it("all passes of a stretch see a function before the next function", () => {
    const seen: string[] = [];
    const pass = (name: string): FunctionPass => looking(seen, name, (fn) => `${name} ${fn.name}`);
    run([onFunctions(may(pass("a")), may(pass("b")))]);
    expect(seen.slice(0, 4)).toEqual(["a leaf", "b leaf", "a main", "b main"]);
  });
  it("a pass is not asked twice about a body in which it found nothing", () => {
    for (const stage of [onFunctions, bottomUp]) {
      const seen: string[] = [];
      const look = looking(seen);
      // What is dead goes in between: of @leaf there is something.
      run([stage(may(look), may(dce), may(look), may(look))]);
      expect(seen.filter((name) => name === "leaf")).toHaveLength(2);
      expect(seen.filter((name) => name === "main")).toHaveLength(1);
    }
  });
  it("a pass that was left out is asked where it is required", () => {
    const seen: string[] = [];
    const look = looking(seen);
    run([bottomUp(may(look), must(look))]);
    expect(seen.filter((name) => name === "plain")).toHaveLength(1);
    expect(seen.filter((name) => name === "main")).toHaveLength(1);
  });
  it("what is for changed functions leaves others alone, unless it is chosen", () => {
    for (const stage of [onFunctions, bottomUp]) {
      const seen: string[] = [];
      const look = looking(seen);
      // Of @leaf something is dead.
      run([stage(ifChanged(look), may(dce), ifChanged(look))]);
      expect(seen).toEqual(["leaf"]);
      run([stage(ifChanged(look))], { onlyPasses: ["look"] });
      expect(new Set(seen)).toEqual(new Set(["leaf", "main", "even", "odd"]));
    }
  });
  it("functions without optimisation go through required passes only", () => {
    expect(run([onFunctions(may(dce))]).text.match(/mul/g)).toHaveLength(1);
    expect(run([onFunctions(must(dce))]).text.match(/mul/g)).toBeNull();
  });
});

describe("changes", () => {
  it("the summary follows: known bodies are not looked at again, changed ones are", () => {
    const module = parseModule(program, "program.ll");
    const runner = new PassRunner(noPassOptions, quiet, module);
    const linked = summarizeModule(module);
    runner.cache.know(summary, linked);
    expect(runner.cache.ofModule(summary)).toBe(linked);
    finish(runModulePipeline(runner, [onFunctions(must(dce))], module, bodyCodec(), () => "speed"));
    const after = runner.cache.ofModule(summary);
    expect(after).not.toBe(linked);
    expect(after).toEqual(summarizeModule(module));
    expect(after.symbols[0]!.instructions).toBe(linked.symbols[0]!.instructions - 1);
    expect(after.symbols[1]).toEqual(linked.symbols[1]);
  });
  it("whoever runs passes is told when one on the program is done, and when it says that a part is", () => {
    const module = parseModule(program, "program.ll");
    const told: string[] = [];
    const services = {
      ...quiet,
      partDone: () => told.push("part"),
      released: () => told.push("stage"),
    };
    const inParts: ModulePass = {
      name: "in-parts",
      level: "module",
      description: "does nothing, in two parts",
      requires: [],
      preserves: [],
      run(_, context) {
        context.partDone();
        told.push("between");
        return false;
      },
    };
    const runner = new PassRunner(noPassOptions, services, module);
    finish(runModulePipeline(runner, [onModule(must(inParts))], module, bodyCodec(), () => "speed"));
    expect(told).toEqual(["part", "between", "part", "stage"]);
  });
  it("the summary is made anew when globals come or go", () => {
    const module = parseModule(program, "program.ll");
    const before = summary.compute(module, () => undefined as never);
    module.globals.pop();
    expect(summary.update!(module, before, () => undefined as never)).toEqual(summarizeModule(module));
  });
  it("the call graph stays while calls do, and is made anew when one goes", () => {
    const module = parseModule(program, "program.ll");
    const runner = new PassRunner(noPassOptions, quiet, module);
    const { cache } = runner;
    const before = cache.ofModule(callGraph);
    finish(runModulePipeline(runner, [onFunctions(must(dce))], module, bodyCodec(), () => "speed"));
    expect(cache.ofModule(callGraph)).toBe(before);
    const caller = module.functions.find((fn) => fn.name === "main")!;
    for (const { insts } of caller.edit().body.blocks)
      for (const inst of [...insts])
        if (inst.op === Op.Call) {
          caller.edit().replaceAllUses(inst, constInt(inst.type, 0));
          caller.edit().erase(inst);
        }
    cache.moduleChanged([]);
    const after = cache.ofModule(callGraph);
    expect(after).not.toBe(before);
    expect(before.callees.items).toHaveLength(4);
    expect(after.callees.items).toHaveLength(2);
  });
  it("uses of variables follow: what is kept of bodies is what a look at all of them finds", () => {
    const module = parseModule(
      `@a = internal global i32 0
@b = internal global i32 0
@s = internal constant [2 x i8] c"x\\00"
declare void @take(ptr)
define i32 @f() {
  call void @take(ptr @s)
  %1 = load i32, ptr @a
  ret i32 %1
}
define i32 @g() {
  store i32 1, ptr @a
  %1 = load i32, ptr @b
  ret i32 %1
}
`,
      "variables.ll",
    );
    const { cache } = new PassRunner(noPassOptions, quiet, module);
    const traits = (): [string, number][] =>
      [...cache.ofModule(variableUses).variables].map(([{ name }, uses]) => [name, uses.traits]);
    const before = cache.ofModule(variableUses);
    expect(traits()).toEqual([
      ["a", Use.Read | Use.Written],
      ["b", Use.Read],
      ["s", Use.Escapes | Use.Parts],
    ]);
    const [take, f, g] = module.functions as [Func, Func, Func];
    const store = g.view().blocks[0]!.insts[0]!;
    g.edit().erase(store);
    // Without an edit: what the callee promises.
    const promise = (text: string): Func =>
      parseModule(`declare void @take(${text})`, "promise.ll").functions[0]!;
    take.attributes = promise("ptr readonly captures(none)").attributes;
    cache.moduleChanged([]);
    const after = cache.ofModule(variableUses);
    expect(after.bodies.get(f)).toBe(before.bodies.get(f));
    expect(after.bodies.get(g)).not.toBe(before.bodies.get(g));
    expect(traits()).toEqual([
      ["a", Use.Read],
      ["b", Use.Read],
      ["s", Use.Read | Use.Parts | Use.Compared],
    ]);
    expect(after).toEqual(variableUses.compute(module, () => undefined as never));
  });
  it("reach the module's text, whose bodies are encoded again", () => {
    expect(run([]).text).toContain("mul i32 %3, %3");
    expect(only(dce).text).not.toContain("mul i32 %3, %3");
  });
});

describe("--verify-each", () => {
  it("says nothing of correct passes", () => {
    expect(() => only(dce, { verifyEach: true })).not.toThrow();
  });
  it.each([
    [loseTerminator, /pass 'lose-terminator' left function 'leaf' broken: @leaf: .*terminator/],
    [
      denyChange,
      /pass 'deny-change' left function 'leaf' broken: the pass changed the IR and said that it did not/,
    ],
    [claimBlocks, /pass 'claim-blocks' left function 'leaf' broken: the pass does not preserve 'cfg'/],
  ] as const)("$name", (pass, message) => {
    expect(() => only(pass, { verifyEach: true })).toThrow(message);
  });
});

describe("--verify-each looks at origins of code", () => {
  /** The program with `main`'s code of `leaf`, as if inlined. */
  const withOrigins = () => {
    const module = parseModule(program, "program.ll");
    const [leaf, main] = module.functions as [Func, Func];
    module.origins = new Origins();
    main.rewrite().blocks[0]!.insts[0]!.origin = module.origins.moved(leaf, 0, 0);
    main.commit(bodyCodec());
    return module;
  };
  const verified = (pass: FunctionPass | ModulePass, module = withOrigins()) =>
    run(
      [pass.level === "module" ? onModule(may(pass)) : onFunctions(may(pass))],
      { verifyEach: true },
      module,
    );
  const moving = (movesCode: boolean, number: number): ModulePass => ({
    name: "move",
    level: "module",
    description: "",
    requires: [],
    preserves: [],
    ...(movesCode ? { movesCode } : {}),
    run(module) {
      module.functions[2]!.rewrite().blocks[0]!.insts[0]!.origin = number;
      module.functions[2]!.commit(bodyCodec());
      return true;
    },
  });
  it("passes that keep them, and those that say that they move code, may do so", () => {
    expect(() => verified(dce)).not.toThrow();
    expect(() => verified(moving(true, 1))).not.toThrow();
  });
  it("others may not", () => {
    expect(() => verified(inventOrigin)).toThrow(
      "pass 'invent-origin' left function 'leaf' broken: @leaf: code has origin 1, which it had not, and the pass moves none",
    );
    expect(() => verified(moving(false, 1))).toThrow("@even: code has origin 1, which it had not");
  });
  it("numbers are the table's, and chains end", () => {
    expect(() => verified(moving(true, 2))).toThrow("@even: an instruction has origin 2 of 1");
    const module = withOrigins();
    const circle: CodeOrigin = { fn: module.functions[0]!, into: 1, place: null, copy: 0 };
    Object.defineProperty(module.origins!, "codeOrigins", { value: [circle] });
    expect(() => verified(dce, module)).toThrow("origin 1, of @leaf, leads to 1");
  });
});

describe("what a pass asks for", () => {
  it("has to be in `requires`", () => {
    expect(() => only(askUnsaid)).toThrow("pass ask-unsaid uses use-counts without requiring it");
  });
});

describe("bisection", () => {
  const listed = (optBisectLimit: number): string => only(dce, { optBisectLimit }).log;
  it("lists runs", () => {
    expect(listed(-1)).toBe(
      [
        "BISECT: running pass (1) dce on function leaf",
        "BISECT: running pass (2) dce on function main",
        "BISECT: running pass (3) dce on function even",
        "BISECT: running pass (4) dce on function odd",
        "",
      ].join("\n"),
    );
  });
  it("leaves out what comes after the limit", () => {
    expect(listed(1)).toContain(
      "BISECT: running pass (1) dce on function leaf\nBISECT: NOT running pass (2) dce",
    );
    expect(only(dce, { optBisectLimit: 0 }).text).toContain("mul i32 %3, %3");
    expect(only(dce, { optBisectLimit: 1 }).text).not.toContain("mul i32 %3, %3");
  });
  it("does not count required passes", () => {
    const { log, text } = run([onFunctions(must(dce))], { optBisectLimit: 0 });
    expect(log).toBe("");
    expect(text).not.toContain("mul");
  });
});

describe("counters and times", () => {
  it("add up", () => {
    const { report } = only(dce, { timePasses: true });
    expect(report.counts).toEqual([{ pass: "dce", counter: "removed", count: 1 }]);
    const { counts, times } = mergeReports([report, report]);
    expect(counts).toEqual([{ pass: "dce", counter: "removed", count: 2 }]);
    expect(times).toEqual([{ name: "dce", runs: 8, milliseconds: 0.08, instructions: 20 }]);
  });
  it("a counter has to be declared", () => {
    const pass = { ...swapSubtraction, counters: {} };
    expect(() => only(pass)).toThrow("pass swap-subtraction has no counter 'swapped'");
  });
});

describe("diffLines", () => {
  it("marks what went and what came, with what is near", () => {
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i}`);
    const changed = [...lines];
    changed.splice(6, 1, "new", "newer");
    expect(diffLines(lines.join("\n"), changed.join("\n"), 1)).toBe(
      " line 5\n-line 6\n+new\n+newer\n line 7\n…\n",
    );
  });
  it("says nothing of equal texts", () => {
    expect(diffLines("a\nb", "a\nb")).toBe("");
  });
});
