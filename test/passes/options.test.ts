/** The options of passes and of their runner, as `tsc-lto` takes them. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { makeCommand, parseOptions } from "../../bin/lto/options.js";
import { onFunctions } from "../../lto/pass/module-pipeline.js";
import { may } from "../../lto/pass/pass.js";
import { machineSteps, type PassSet, productPasses } from "../../lto/pipeline/registry.js";
import { capture, type Outcome, temporaryFolder } from "../support/command.js";
import { bisect, main as bisectCommand } from "../tools/bisect.js";
import { loseTerminator, swapSubtraction, withPasses } from "./fixture-passes.js";

const cwd = temporaryFolder();
const path = (name: string): string => join(cwd, name);
const lto = (args: readonly string[], set: PassSet = plain): Promise<Outcome> =>
  capture((words, host) => main(words, host, set), [path("a.ll"), "-o", path("a.s"), ...args], {
    cwd,
    workers: true,
  });
const plain = withPasses([], []);
const assembly = (): string => readFileSync(path("a.s"), "utf8");

beforeAll(() => {
  writeFileSync(
    path("a.ll"),
    `define i128 @wide(i128 %a, i128 %b) minsize optsize {
  %p = mul i128 %a, %b
  ret i128 %p
}
define i32 @minus(i32 %a, i32 %b) minsize optsize {
  %s = sub i32 %a, %b
  ret i32 %s
}
define i32 @element(ptr %p, i64 %i) minsize optsize {
  %e = getelementptr { i32, i32, i32 }, ptr %p, i64 %i, i32 1
  %v = load i32, ptr %e
  ret i32 %v
}
define i32 @main(i32 %a, ptr %p) minsize optsize {
  %x = call i32 @minus(i32 %a, i32 7)
  %w = sext i32 %x to i64
  %y = call i32 @element(ptr %p, i64 %w)
  %z = sub i32 %x, %y
  %v = sext i32 %z to i128
  %q = call i128 @wide(i128 %v, i128 %v)
  %r = trunc i128 %q to i32
  ret i32 %r
}
`,
  );
});

/** Program passes, too, to see both parts of a pipeline. */
const both = withPasses([onFunctions(may({ ...swapSubtraction, name: "swap-early" }))], [swapSubtraction]);

const machineNames = machineSteps.map(({ name }) => name).join(",");

describe("skipping", () => {
  it("--skip-pass and --only-passes", async () => {
    expect((await lto([])).code).toBe(0);
    const usual = assembly();
    await lto(["--skip-pass=split-addresses,dce"]);
    const without = assembly();
    expect(without).not.toBe(usual);
    await lto(["--only-passes", `expand-selects,${machineNames}`]);
    expect(assembly()).toBe(without);
    await lto([`--only-passes=split-addresses,dce,${machineNames}`]);
    expect(assembly()).toBe(usual);
  });
  it("steps on machine code go by the same options", async () => {
    expect((await lto([])).code).toBe(0);
    const usual = assembly();
    await lto(["--skip-pass=peepholes"]);
    const without = assembly();
    expect(without).not.toBe(usual);
    await lto(["--only-passes=split-addresses,dce,shrink-wrap,merge-tails"]);
    expect(assembly()).toBe(without);
    const { err } = await lto(["--opt-bisect-limit=-1"]);
    const runs = [...err.matchAll(/running pass \((\d+)\) (\S+) on function main$/gm)];
    expect(runs.slice(-3).map(([, , name]) => name)).toEqual(["shrink-wrap", "peepholes", "merge-tails"]);
    const [, number] = runs.find(([, , name]) => name === "peepholes")!;
    const limited = (await lto([`--opt-bisect-limit=${Number(number) - 1}`])).err;
    expect(limited).toContain(`BISECT: NOT running pass (${number}) peepholes on function main`);
    expect(await lto(["--skip-pass=lay-out"])).toMatchObject({ code: 2 });
    expect(await lto(["--print-after=peepholes"])).toMatchObject({ code: 2 });
  });
  it("names what is no pass, and what cannot be skipped", async () => {
    expect(await lto(["--skip-pass=nonsense"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("there is no pass 'nonsense'; passes are "),
    });
    expect(await lto(["--skip-pass=legalize"])).toEqual({
      code: 2,
      out: "",
      err: "tsc-lto: error: code generation needs pass 'legalize'\n",
    });
  });
});

describe("rules on machine code", () => {
  const counts = (err: string): Map<string, number[]> =>
    new Map(
      [...err.matchAll(/^ *(\d+) {2}rule (\S+) \((-?\d+) bytes\): .*→/gm)].map(([, times, name, bytes]) => [
        name!,
        [Number(times), Number(bytes)],
      ]),
    );

  it("--stats tells how often each was applied, and --skip-rule leaves some out", async () => {
    const all = counts((await lto(["--stats"])).err);
    const text = assembly();
    expect(all.get("copy-by-exchange")).toBeDefined();
    const [name, [times, bytes]] = [...all].find(([, [, saved]]) => saved! > 0) as [string, [number, number]];
    expect(times).toBeGreaterThan(0);
    expect(bytes).toBeGreaterThanOrEqual(times);
    const without = counts((await lto(["--stats", `--skip-rule=${name}`])).err);
    expect(without.has(name)).toBe(false);
    expect(assembly()).not.toBe(text);
    // Without any rule nothing is left of the step.
    const every = [...all.keys()];
    await lto([`--skip-rule=${every[0]}`, `--skip-rule=${every.slice(1).join(",")}`]);
    const none = assembly();
    await lto(["--skip-pass=peepholes"]);
    expect(none).toBe(assembly());
  });

  it("--skip-rule names those that are like what is none", async () => {
    expect(await lto(["--skip-rule=drop-ded"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/there is no rule 'drop-ded'; like it are drop-dead, /),
    });
  });

  it("--rule-bisect-limit applies the first ones in each function, or in one, and lists them", async () => {
    const listed = (err: string): string[] =>
      [...err.matchAll(/^BISECT: (.*applying rule \(\d+\) \S+ in function \S+)$/gm)].map(([, text]) => text!);
    expect((await lto([])).code).toBe(0);
    const usual = assembly();
    const all = listed((await lto(["--rule-bisect-limit=-1"])).err);
    expect(assembly()).toBe(usual);
    expect(all.length).toBeGreaterThan(3);
    const none = listed((await lto(["--rule-bisect-limit=0"])).err);
    expect(none.every((text) => text.startsWith("NOT "))).toBe(true);
    const unruled = assembly();
    await lto(["--skip-pass=peepholes"]);
    expect(unruled).toBe(assembly());
    const one = listed((await lto(["--rule-bisect-limit=1", "--filter-function=main"])).err);
    expect(one.every((text) => text.endsWith(" main"))).toBe(true);
    expect(one.filter((text) => !text.startsWith("NOT ")).length).toBeGreaterThan(0);
    expect(assembly()).not.toBe(usual);
  });
});

describe("order", () => {
  const order = async (...args: string[]): Promise<string[]> => {
    const { err } = await lto(["--opt-bisect-limit=-1", ...args], productPasses);
    return [...err.matchAll(/running pass \(\d+\) (\S+) on (?:function|component) main$/gm)].map(
      ([, name]) => name!,
    );
  };
  it("--pass-order puts passes after the inliner", async () => {
    const usual = await order();
    const at = usual.indexOf("inline") + 1;
    const chosen = ["gvn", "libcalls", "dce", "gvn"];
    const other = await order(`--pass-order=${chosen.join(",")}`);
    expect(other.slice(0, at + chosen.length)).toEqual([...usual.slice(0, at), ...chosen]);
    expect(usual.slice(at, at + 2)).toEqual(["sroa", "simplify-cfg"]);
    expect(await order("--pass-order=")).toEqual(other.filter((_, i) => i < at || i >= at + chosen.length));
    const none = other.slice(at + chosen.length);
    expect(usual.slice(-none.length)).toEqual(none);
  });
  it("passes with a fixed place are refused", async () => {
    expect(await lto(["--pass-order=dce,inline"], productPasses)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^tsc-lto: error: pass 'inline' is none of sroa, simplify-cfg, .*\n$/),
    });
    expect(await lto(["--pass-order=nonsense"], productPasses)).toMatchObject({ code: 2 });
  });
});

describe("dumps", () => {
  it("--print-before, --print-after and --filter-function", async () => {
    const { err } = await lto([
      "--print-before=dce",
      "--print-after=legalize,dce",
      "--filter-function=minus",
    ]);
    expect([...err.matchAll(/^; \*\*\* .*$/gm)].map(([line]) => line)).toEqual([
      "; *** IR after legalize on function minus ***",
      "; *** IR before dce on function minus ***",
      "; *** IR after dce on function minus ***",
    ]);
    expect(err).toContain("@minus(i32 %0, i32 %1)");
    expect(err).not.toContain("@main");
  });
  it("returns of several values", async () => {
    const { err } = await lto(["--print-after=legalize", "--filter-function=wide"]);
    expect(err).toMatch(/ret i64 %\d+, i64 %\d+\n/);
  });
  it("--print-changed", async () => {
    const titles = (text: string): string[] => [...text.matchAll(/^; \*\*\* .*$/gm)].map(([line]) => line);
    const quiet = titles((await lto(["--print-changed=quiet", "--filter-function=element"])).err);
    expect(quiet).toEqual(["; *** IR after split-addresses on function element ***"]);
    const full = (await lto(["--print-changed", "--filter-function=element"])).err;
    expect(titles(full).length).toBeGreaterThan(quiet.length);
    expect(full).toContain("; nothing changed");
    const { err } = await lto(["--print-changed=diff", "--filter-function=element"]);
    expect(err).toContain("\n-  %3 = getelementptr { i32, i32, i32 }, ptr %0, i64 %1, i32 1\n");
    expect(err).toContain("\n+  %3 = mul i64 %1, 12\n");
  });
});

describe("--verify-each", () => {
  it("is content with the product's passes", async () => {
    for (const level of ["-O0", "-O2", "-Oz"])
      expect(await lto(["--verify-each", level])).toMatchObject({ code: 0, err: "" });
  });
  it("one clear error names file, pass and function", async () => {
    const { code, err } = await lto(["--verify-each"], withPasses([], [loseTerminator]));
    expect(code).toBe(1);
    expect(err).toMatch(
      /^tsc-lto: error: \S+a\.ll: pass 'lose-terminator' left function 'wide' broken: .*\n$/,
    );
  });
});

describe("--effort", () => {
  const timed = async (...words: string[]): Promise<string> =>
    (await lto(["--time-passes", "--stats", ...words], productPasses)).err;
  const ran = (text: string, pass: string): boolean => new RegExp(`\\b${pass}$`, "m").test(text);

  it("fast leaves out what takes more time than it saves", async () => {
    const [full, fast] = [await timed(), await timed("--effort=fast")];
    for (const pass of ["ipsccp", "deadargelim", "constmerge", "simplify-cfg"])
      expect([ran(full, pass), ran(fast, pass)], pass).toEqual([true, false]);
    for (const pass of ["globaldce", "inline", "ir-outline", "merge-tails", "dce"])
      expect([ran(full, pass), ran(fast, pass)], pass).toEqual([true, true]);
  });

  it("is fast with -O 1, and only there; passes inside of functions stay where speed counts", async () => {
    const one = await timed("-O", "1");
    expect([ran(one, "ipsccp"), ran(one, "simplify-cfg")]).toEqual([false, true]);
    expect(ran(await timed("-O", "1", "--effort=full"), "ipsccp")).toBe(true);
    expect(ran(await timed("-O", "2"), "ipsccp")).toBe(true);
  });

  it("fast outlines once, unless another number is given", () => {
    const rounds = (...words: string[]): number =>
      parseOptions(makeCommand("").exitOverride(), [...words, "a.o"]).outlineRounds;
    expect(rounds()).toBe(2);
    expect(rounds("--effort=fast")).toBe(1);
    expect(rounds("--effort=fast", "--outline-rounds=2")).toBe(2);
    expect(rounds("-O", "1")).toBe(1);
  });
});

describe("--stats", () => {
  it("has the counters of passes", async () => {
    const { err } = await lto(["--stats"]);
    expect(err).toMatch(/^ +1 {2}split-addresses: address computations split$/m);
    expect(err).toMatch(/^ +\d+ {2}legalize: functions rewritten$/m);
  });
});

describe("times", () => {
  it("--time-passes lists phases and passes", async () => {
    const { err } = await lto(["--time-passes"]);
    for (const name of [
      "read",
      "link",
      "plan",
      "compile",
      "complete",
      "emit",
      "total",
      "legalize",
      "dce",
      "select",
      "allocate",
      "shrink-wrap",
      "insert-frame",
      "peepholes",
      "merge-tails",
      "lay-out",
      "unwind-directives",
      "print",
    ])
      expect(err).toMatch(new RegExp(`^ +[\\d.]+ ms .*\\b${name}$`, "m"));
    expect(err).toMatch(/µs\/instruction +4 runs {2}legalize$/m);
  });
  it("--time-trace writes nested events in Chrome's form", async () => {
    await lto(["--time-trace", path("trace.json"), "--time-trace-granularity=0"]);
    const { traceEvents } = JSON.parse(readFileSync(path("trace.json"), "utf8")) as {
      traceEvents: { name: string; ph: string; ts: number; dur: number; args: { detail?: string } }[];
    };
    const find = (name: string, detail?: string) =>
      traceEvents.find((e) => e.ph === "X" && e.name === name && e.args.detail === detail)!;
    const outer = find("tsc-lto");
    const compile = find("compile");
    const inner = find("legalize", "main");
    for (const [around, event] of [
      [outer, compile],
      [compile, inner],
    ] as const) {
      expect(event.ts).toBeGreaterThanOrEqual(around.ts);
      expect(event.ts + event.dur).toBeLessThanOrEqual(around.ts + around.dur + 1);
    }
    for (const phase of ["read", "link", "passes"]) expect(find(phase)).toBeDefined();
    for (const step of ["select", "allocate", "peepholes", "print"]) expect(find(step, "main")).toBeDefined();
  });
  it("a trace that cannot be written is an error", async () => {
    const { code, err } = await lto(["--time-trace=/nowhere/trace.json"]);
    expect(code).toBe(1);
    expect(err).toContain("tsc-lto: error: /nowhere/trace.json: cannot write the trace");
  });
});

describe("LLVM's spellings", () => {
  it("behind -mllvm and -plugin-opt", async () => {
    const expected = (await lto(["--opt-bisect-limit=1"])).err;
    expect(expected).toContain("BISECT: NOT running pass (2)");
    expect((await lto(["-mllvm", "-opt-bisect-limit=1"])).err).toBe(expected);
    expect((await lto(["-plugin-opt=-opt-bisect-limit=1"])).err).toBe(expected);
    const dump = (await lto(["--print-after=dce", "--filter-function=minus"])).err;
    expect((await lto(["-mllvm=-print-after=dce", "-mllvm", "-filter-print-funcs=minus"])).err).toBe(dump);
    expect((await lto(["-mllvm", "-print-after-all"])).err).toBe((await lto(["--print-after=all"])).err);
    expect((await lto(["-mllvm", "-verify-each=0"])).code).toBe(0);
    expect(await lto(["-plugin-opt=O2"])).toMatchObject({ code: 2 });
    expect(await lto(["-mllvm", "-verify-each=maybe"])).toMatchObject({ code: 2 });
  });
});

describe("bisection", () => {
  it("finds the pass and the function, in both parts of a pipeline", async () => {
    for (const name of ["swap-early", "swap-subtraction"]) {
      const other = name === "swap-early" ? "swap-subtraction" : "swap-early";
      await lto([`--skip-pass=${name},${other}`], both);
      const right = assembly();
      const found = await bisect(async (limit) => {
        const { err } = await lto([`--skip-pass=${other}`, `--opt-bisect-limit=${limit}`], both);
        const minus = /^minus:[\s\S]*?ret$/m;
        return { good: minus.exec(assembly())![0] === minus.exec(right)![0], messages: err };
      });
      expect(found).toMatchObject({ pass: name, unit: "function minus" });
    }
  });

  it("the command names the run, and how to look at it", async () => {
    // Judged by the whole output, so steps that change it and are right stay out of the search.
    const quiet = `--skip-pass=dce,${machineNames}`;
    await lto([quiet, "--skip-pass=split-addresses"]);
    const right = assembly();
    const lines: string[] = [];
    const commands: string[] = [];
    const execute = async (command: readonly string[]) => {
      commands.push(command.join(" "));
      if (command[0] === "sh") return { status: assembly() === right ? 0 : 1, stderr: "" };
      const { code, err } = await lto(command.slice(1));
      return { status: code, stderr: err };
    };
    const print = (line: string) => lines.push(line);
    expect(await bisectCommand(["--test", "judge", "--", "tsc-lto", quiet], execute, print)).toBe(0);
    expect(lines.at(-2)).toMatch(/^guilty: pass split-addresses on function element, run \d+$/);
    expect(lines.at(-1)).toMatch(
      /^see: tsc-lto --skip-pass=\S+ --opt-bisect-limit=\d+ --print-before=split-addresses .*=element$/,
    );
    expect(commands.slice(0, 2)).toEqual([`tsc-lto ${quiet} --opt-bisect-limit=-1`, "sh -c judge"]);
  });
  it("the command names the rule where the run is of the peepholes", async () => {
    const quiet = "--only-passes=peepholes";
    await lto([quiet, "--skip-rule=copy-by-exchange"]);
    const right = assembly();
    await lto([quiet]);
    expect(assembly()).not.toBe(right);
    const lines: string[] = [];
    // Good is what exchanges nothing.
    const execute = async (command: readonly string[]) => {
      if (command[0] === "sh") return { status: assembly().includes("xchg") ? 1 : 0, stderr: "" };
      const { code, err } = await lto(command.slice(1));
      return { status: code, stderr: err };
    };
    const print = (line: string) => lines.push(line);
    expect(await bisectCommand(["--test", "judge", "--", "tsc-lto", quiet], execute, print)).toBe(0);
    expect(lines.at(-2)).toMatch(/^guilty: rule copy-by-exchange, application \d+$/);
    expect(lines.at(-1)).toMatch(/ --opt-bisect-limit=\d+ --filter-function=\S+ --rule-bisect-limit=\d+$/);
  });
  it("the command says why there is nothing to find", async () => {
    const lines: string[] = [];
    const print = (line: string) => lines.push(line);
    const always = (status: number) => async (command: readonly string[]) => ({
      status: command[0] === "sh" ? status : 0,
      stderr: "BISECT: running pass (1) dce on function f\n",
    });
    const args = ["--test", "judge", "--", "tsc-lto"];
    expect(await bisectCommand(args, always(0), print)).toBe(1);
    expect(lines.at(-1)).toContain("there is nothing to find");
    expect(await bisectCommand(args, always(1), print)).toBe(1);
    expect(lines.at(-1)).toContain("the fault is elsewhere");
    expect(await bisectCommand(["--nonsense"], always(0), print)).toBe(2);
    expect(lines.at(-1)).toContain("usage: npm run bisect");
  });
});

describe("variables that assembly mentions", () => {
  it("keep their values and sizes", async () => {
    writeFileSync(
      path("poked.ll"),
      `target triple = "x86_64-unknown-linux-gnu"
module asm ".text"
module asm "poke: movl $263, counter"
module asm "ret"
@counter = internal global i32 1
declare void @poke()
define i32 @main() minsize optsize {
  store i32 1, ptr @counter
  call void @poke()
  %v = load i32, ptr @counter
  %r = lshr i32 %v, 2
  ret i32 %r
}
`,
    );
    const { code } = await capture(main, [path("poked.ll"), "-Oz", "-o", path("poked.s")], {
      cwd,
      workers: true,
    });
    expect(code).toBe(0);
    execFileSync("cc", ["-no-pie", path("poked.s"), "-o", path("poked")]);
    expect(spawnSync(path("poked"))).toMatchObject({ status: 65, signal: null });
  });
});
