/** `link` as a function: inputs, options, results, errors, aborts, and links that know nothing of each other. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import {
  InputError,
  InputErrors,
  InternalError,
  type LinkOptions,
  link,
  OptionError,
  type Phase,
  UnsupportedError,
  version,
} from "../../bin/api.js";
import type { DriverOptions } from "../../bin/lto/driver-options.js";
import { makeCommand } from "../../bin/lto/options.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import type { PassOptions } from "../../lto/pass/options.js";
import { tscLto } from "../support/command.js";

const folder = mkdtempSync(join(tmpdir(), "tsc-lto-api-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ir = (name: string, text: string) => ({ name, bytes: Buffer.from(text) });
const main = (callee = "twice"): string =>
  `declare i32 @${callee}(i32)\ndefine i32 @main(i32 %n) {\n  %r = call i32 @${callee}(i32 %n)\n  ret i32 %r\n}\n`;
const twice = "define i32 @twice(i32 %x) noinline {\n  %r = shl i32 %x, 1\n  ret i32 %r\n}\n";
const program = [ir("main.ll", main()), ir("twice.ll", twice)];

/** Functions that call down, as long as it takes for some turns of the event loop. */
function long(count: number, constant = 3): string {
  const functions = Array.from({ length: count }, (_, n) => {
    const lines = Array.from(
      { length: 30 },
      (_, i) =>
        `  %v${i + 1} = mul i64 %v${i}, ${constant + n + i}\n  store volatile i64 %v${i + 1}, ptr @sink\n`,
    );
    const call = n === 0 ? "" : `  %c = call i64 @f${n - 1}(i64 %v30)\n`;
    const result = n === 0 ? "%v30" : "%c";
    return `define internal i64 @f${n}(i64 %v0) noinline {\n${lines.join("")}${call}  ret i64 ${result}\n}\n`;
  });
  const start = `define i64 @main(i64 %n) {\n  %r = call i64 @f${count - 1}(i64 %n)\n  ret i64 %r\n}\n`;
  return `@sink = global i64 0\n${functions.join("")}${start}`;
}

/** The error of a link, which must fail. */
async function failure(...given: Parameters<typeof link>): Promise<unknown> {
  try {
    await link(...given);
  } catch (e) {
    return e;
  }
  throw new Error("the link succeeded");
}

describe("a result", () => {
  it("is what the command writes", async () => {
    writeFileSync(join(folder, "program.ll"), long(20));
    const file = join(folder, "program.ll");
    for (const [options, words] of [
      [{}, []],
      [{ level: "Oz", ipra: false }, ["-Oz", "--no-ipra"]],
      [{ emit: "ir" }, ["--emit=ir"]],
      [{ emit: "machine", regalloc: "linear" }, ["--emit=machine", "--regalloc=linear"]],
    ] as const) {
      const { text, bytes, diagnostics, log } = await link([file], { jobs: 1, ...options });
      const command = await tscLto([file, "-o", "-", ...words], { cwd: folder });
      expect(text).toBe(command.out);
      expect(Buffer.from(bytes).toString("utf8")).toBe(text);
      expect({ diagnostics, log }).toEqual({ diagnostics: [], log: "" });
    }
  });

  it("can be linked again, and is a file where one is named", async () => {
    const { bytes } = await link([program[1]!], { emit: "object", relocatable: true });
    const output = join(folder, "program.s");
    const written = await link([program[0]!, { name: "twice.o", bytes }], { output });
    expect([written.bytes.length, written.text]).toEqual([0, ""]);
    expect(readFileSync(output, "utf8")).toBe((await link(program)).text);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("takes files, libraries and archives as the command does", async () => {
    writeFileSync(join(folder, "main.ll"), main());
    const { bytes } = await link([program[1]!], { emit: "object", relocatable: true });
    writeFileSync(join(folder, "libtwice.a"), archiveOf("twice.o/", bytes));
    const path = join(folder, "main.ll");
    const expected = (await link([path, program[1]!])).text;
    expect((await link([{ path }, { library: "twice" }], { libraryPath: [folder] })).text).toBe(expected);
    expect((await link([path, { ...program[1]!, lazy: true }])).text).toBe(expected);
    const unused = ir("unused.ll", "define i32 @unused() {\n  ret i32 0\n}\n");
    expect((await link([...program, { ...unused, lazy: true }], { exportDynamic: true })).text).not.toContain(
      "unused",
    );
  });

  it("has reports where they are asked for, and nothing else", async () => {
    const { log, statistics, times, registerUsage } = await link(program);
    expect({ log, statistics, times, registerUsage }).toEqual({
      log: "",
      statistics: null,
      times: null,
      registerUsage: null,
    });
    const full = await link(program, {
      stats: true,
      timePasses: true,
      printRegusage: true,
      printMachine: "finish",
    });
    expect(full.statistics!.code!.functions).toBeGreaterThan(0);
    expect(full.times!.phases.map(({ name }) => name)).toEqual([
      "read",
      "link",
      "passes",
      "plan",
      "compile",
      "complete",
      "emit",
      "data",
    ]);
    expect(full.times!.passes.some(({ name }) => name === "select")).toBe(true);
    expect(full.registerUsage!.get("main")).toContain("eflags");
    expect(full.log).toContain("machine function main ");
  });

  it("tells of warnings", async () => {
    const { diagnostics } = await link(program, { entry: "start" });
    expect(diagnostics).toEqual([
      { severity: "warning", message: "cannot find entry symbol start; all visible definitions stay" },
    ]);
  });
});

/** An archive of one file: ar(5). */
function archiveOf(name: string, bytes: Uint8Array): Uint8Array {
  const fields = [name.padEnd(16), "0".padEnd(12), "0".padEnd(6), "0".padEnd(6), "644".padEnd(8)];
  const header = `!<arch>\n${fields.join("")}${String(bytes.length).padEnd(10)}\`\n`;
  return Buffer.concat([Buffer.from(header), bytes, Buffer.from(bytes.length % 2 === 0 ? "" : "\n")]);
}

describe("options", () => {
  /** Options that name a file to be written. */
  const fileKeys = ["timeTrace", "optRemarksFilename", "sizeReport", "saveTemps"] as const;
  type FileKey = (typeof fileKeys)[number];
  type Given = Required<Omit<LinkOptions, "signal" | "progress" | "output" | FileKey>>;
  /** Every option, with a value that the command would take. */
  const all: Given = {
    libraryPath: [folder],
    emit: "ir",
    codegen: "own",
    bitcodeVersion: 19,
    level: "O2",
    effort: "fast",
    relocationModel: "pie",
    jobs: 1,
    parallelThreshold: 7,
    inlineEffort: 50,
    sizeTime: 3,
    cacheDir: join(folder, "cache"),
    cacheSize: 1_000_000,
    farm: "redis://nowhere.invalid",
    farmDirectory: join(folder, "farm"),
    farmPriority: 3,
    thinltoDistributor: "/nowhere/farm",
    thinltoDistributorArg: ["--fast"],
    thinltoRemoteCompiler: "/nowhere/tsc-lto",
    thinltoRemoteCompilerPrependArg: [],
    thinltoRemoteCompilerArg: [],
    entry: "main",
    export: ["tw*"],
    exportList: [],
    exportDynamicSymbol: ["nothing*"],
    exportDynamicSymbolList: [],
    dynamicList: [],
    undefined: ["twice"],
    undefinedGlob: ["tw*"],
    shared: false,
    relocatable: false,
    exportDynamic: true,
    symbolicFunctions: true,
    excludeLibs: ["libnothing.a"],
    defaultLibs: false,
    libc: false,
    stdlibxx: false,
    ltoWholeProgramVisibility: true,
    versionScript: [],
    noUndefined: true,
    allowMultipleDefinition: true,
    fatObjects: "code",
    embeddedBitcode: "all",
    nativeModules: join(folder, "native"),
    stripDebug: true,
    wrap: ["nothing"],
    defsym: ["other=nothing"],
    script: [],
    errorLimit: 1,
    regalloc: "greedy",
    coalesce: "none",
    spillCost: "size",
    checkRegalloc: true,
    checkIpra: false,
    checkPacking: true,
    ipra: false,
    skipIpra: ["masks", "saves"],
    shrinkWrap: false,
    outline: true,
    outlineRounds: 1,
    outlineForms: "call,thunk",
    baseRegister: false,
    sharedEpilogues: false,
    functionLayout: false,
    boundVariableArguments: false,
    functionSections: false,
    dataSections: true,
    sharedUnwind: false,
    verify: true,
    printMachine: "select",
    printRegusage: true,
    enabled: ["guard-callees"],
    skipPass: ["dce"],
    onlyPasses: ["dce"],
    passOrder: ["dce", "gvn"],
    optBisectLimit: 5,
    skipRule: ["drop-dead"],
    ruleBisectLimit: 5,
    verifyEach: true,
    printBefore: ["dce"],
    printAfter: ["all"],
    printChanged: "quiet",
    filterFunction: "main",
    timePasses: true,
    stats: true,
    timeTraceGranularity: 1,
    optRemarksPasses: "^inline$",
  };

  it("all are taken", async () => {
    expect((await link(program, all)).text).toContain("@twice");
    expect(readFileSync(join(await traced(), "trace.json"), "utf8")).toContain('"traceEvents"');
  });
  async function traced(): Promise<string> {
    await link(program, { timeTrace: join(folder, "trace.json") });
    return folder;
  }

  it("are those of the command", () => {
    const own = new Set(["o", "O", "z", "version", "mllvm", "stackTrace", "guardCallees"]);
    const keys = makeCommand("")
      .options.filter((option) => !own.has(option.attributeName()))
      .map((option) => option.attributeName());
    const withoutOption: (keyof DriverOptions | keyof PassOptions)[] = [
      "level",
      "noUndefined",
      "libraryPath",
      "enabled",
    ];
    const missing = keys.filter((key) => !(key in all) && !fileKeys.some((file) => file === key));
    // Passes with an option of their own are named in `enabled`.
    const passes = makeCommand("").options.filter((option) => missing.includes(option.attributeName()));
    for (const { long } of passes) expect(all.enabled.concat(long!.slice(2))).toContain(long!.slice(2));
    expect(
      Object.keys(all)
        .filter((key) => !keys.includes(key))
        .sort(),
    ).toEqual(withoutOption.sort());
  });

  it.each([
    [{ optimise: true }, "unknown option 'optimise'"],
    [{ guardcallees: true }, "unknown option 'guardcallees'"],
    [{ mllvm: "x" }, "unknown option 'mllvm'"],
    [{ shared: "yes" }, "option 'shared': expected true or false"],
    [{ ipra: 1 }, "option 'ipra': expected true or false"],
    [{ export: "main" }, "option 'export': expected an array of strings"],
    [{ skipPass: [1] }, "option 'skipPass': expected an array of strings"],
    [{ jobs: {} }, "option 'jobs': expected a string or a number"],
    [{ jobs: 0 }, "option '-j, --jobs <n>' argument '0' is invalid. expected a number from 1 to 1024."],
    [{ emit: "exe" }, "Allowed choices are asm, elf, ir, bitcode, object, machine."],
    [{ level: "O9" }, "option '-O <level>' argument '9' is invalid. expected one of 0, 1, 2, 3, s, z."],
    [{ skipPass: ["no-such"] }, "there is no pass 'no-such'"],
    [{ passOrder: ["inline"] }, "pass 'inline' is none of sroa, "],
    [{ skipPass: ["legalize"] }, "code generation needs pass 'legalize'"],
    [{ enabled: ["dce"] }, "there is no pass 'dce' that is off without it"],
    [{ enabled: ["stats"] }, "there is no pass 'stats' that is off without it"],
    [{ libraryPath: "lib" }, "option 'libraryPath': expected an array of strings"],
    [{ output: 5 }, "output: expected a string"],
  ])("%j is an error", async (options, message) => {
    const error = await failure(program, options as LinkOptions);
    expect(error).toBeInstanceOf(OptionError);
    expect((error as Error).message).toContain(message);
  });

  it.each([
    [[], "no inputs"],
    ["main.ll", "no inputs"],
    [[5], "input: expected a string"],
    [[{ library: 5 }], "library: expected a string"],
    [[{ name: "a.ll", bytes: "text" }], "input a.ll: expected bytes as a Uint8Array"],
  ])("inputs %j are an error", async (inputs, message) => {
    const error = await failure(inputs as never);
    expect(error).toBeInstanceOf(OptionError);
    expect((error as Error).message).toContain(message);
  });
});

describe("errors", () => {
  it("of inputs name the file", async () => {
    const missing = await failure([join(folder, "missing.o"), program[0]!]);
    expect(missing).toBeInstanceOf(InputError);
    expect(missing).toMatchObject({
      file: join(folder, "missing.o"),
      message: expect.stringContaining("No such file or directory"),
    });
    expect(await failure([ir("garbage.o", "garbage")])).toMatchObject({
      name: "InputError",
      file: "garbage.o",
      message: "unknown file type",
    });
    expect(await failure([ir("cut.bc", "BC\xc0\xdecut")])).toMatchObject({ file: "cut.bc" });
  });

  it("of several inputs are all told", async () => {
    const error = await failure([ir("a.o", "a"), ir("b.o", "b")]);
    expect(error).toBeInstanceOf(InputErrors);
    expect(error).toMatchObject({ file: "a.o", message: "unknown file type" });
    expect((error as InputErrors).errors.map(({ file }) => file)).toEqual(["a.o", "b.o"]);
  });

  it("of what is not supported name the construct", async () => {
    const scalable = ir("sve.ll", "define void @f(<vscale x 4 x i32> %v) {\n  ret void\n}\n");
    const error = await failure([scalable]);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({ name: "UnsupportedError", file: "sve.ll", construct: "scalable vector" });
    const cc = "define x86_regcallcc i32 @main() {\n  ret i32 0\n}\n";
    expect(await failure([ir("cc.ll", cc)])).toMatchObject({
      construct: "calling convention 92, x86_regcallcc",
      where: expect.stringContaining("main"),
    });
  });

  it("of the link have diagnostics", async () => {
    const error = await failure([...program, ir("again.ll", twice)]);
    expect(error).toMatchObject({
      name: "LinkError",
      diagnostics: [{ severity: "error", message: expect.stringContaining("duplicate symbol: twice") }],
    });
    expect(await failure([program[0]!], { noUndefined: true })).toMatchObject({
      message: expect.stringContaining("undefined symbol: twice\n>>> referenced by main.ll"),
    });
  });

  it("of the program itself say where", async () => {
    vi.spyOn(FunctionCompiler.prototype as unknown as { compile(): void }, "compile").mockImplementation(
      () => {
        throw new TypeError("boom");
      },
    );
    const error = await failure(program);
    vi.restoreAllMocks();
    expect(error).toBeInstanceOf(InternalError);
    expect(error).toMatchObject({ message: "boom", where: expect.stringContaining("compiling function '") });
  });

  it("leave no output, also none of an earlier link", async () => {
    const output = join(folder, "failed.s");
    await link(program, { output });
    expect(existsSync(output)).toBe(true);
    await failure([...program, ir("again.ll", twice)], { output });
    expect(existsSync(output)).toBe(false);
    expect(await failure(program, { output: join(folder, "no/such/folder.s") })).toMatchObject({
      message: expect.stringContaining("No such file or directory"),
    });
    writeFileSync(join(folder, "own.ll"), main());
    const own = join(folder, "own.ll");
    expect(await failure([own], { output: own })).toMatchObject({
      message: `output file ${own} is also an input`,
    });
    expect(existsSync(own)).toBe(true);
  });
});

describe("a long link", () => {
  const inputs = [ir("long.ll", long(60))];

  it("lets the event loop run, and tells how far it is", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const seen: [Phase, number, number][] = [];
    await link(inputs, { jobs: 1, progress: (...step) => void seen.push(step) });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
    const phases = [...new Set(seen.map(([phase]) => phase))];
    expect(phases).toEqual(["read", "link", "passes", "plan", "compile", "complete", "emit", "data"]);
    for (const phase of phases) {
      const steps = seen.filter((step) => step[0] === phase);
      for (const [i, [, done, total]] of steps.entries()) {
        expect(done).toBeLessThanOrEqual(total);
        if (i > 0) expect(done).toBeGreaterThanOrEqual(steps[i - 1]![1]);
      }
      expect(steps.at(-1)![1]).toBe(steps.at(-1)![2]);
    }
  });

  it.each(["link", "passes", "compile", "emit"] as const)("ends when it is aborted: %s", async (phase) => {
    const output = join(folder, "aborted.s");
    writeFileSync(output, "of an earlier link");
    const controller = new AbortController();
    const reason = new Error("enough");
    let after = 0;
    const error = await failure(inputs, {
      jobs: 1,
      output,
      signal: controller.signal,
      progress: (at) => {
        if (controller.signal.aborted) after++;
        if (at === phase) controller.abort(reason);
      },
    });
    expect(error).toBe(reason);
    // The phase that is over meanwhile, at most.
    expect(after).toBeLessThanOrEqual(2);
    expect(existsSync(output)).toBe(false);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("is not begun when it is aborted before", async () => {
    expect(await failure(inputs, { signal: AbortSignal.abort() })).toMatchObject({ name: "AbortError" });
  });

  it("ends with what its listener throws", async () => {
    const own = new RangeError("mine");
    const progress = (): never => {
      throw own;
    };
    expect(await failure(inputs, { progress })).toBe(own);
  });
});

describe("links", () => {
  it("give the same bytes one after the other and at the same time", async () => {
    const [a, b] = [[ir("a.ll", long(30, 5))], [ir("b.ll", long(25, 9)), program[1]!]];
    const alone = [(await link(a, { jobs: 1 })).text, (await link(b, { jobs: 1, level: "Oz" })).text];
    const order: string[] = [];
    const listed = (name: string) => () => void order.push(name);
    const together = await Promise.all([
      link(a, { jobs: 1, progress: listed("a") }),
      link(b, { jobs: 1, level: "Oz", progress: listed("b") }),
      failure([ir("c.ll", long(20))], { jobs: 1, signal: AbortSignal.timeout(20) }),
    ]);
    expect([together[0].text, together[1].text]).toEqual(alone);
    expect(together[2]).toMatchObject({ name: "TimeoutError" });
    expect(order.indexOf("b")).toBeLessThan(order.lastIndexOf("a"));
    expect((await link(a, { jobs: 1 })).text).toBe(alone[0]);
  });
});

it("is of the package's version", () => {
  const file = join(import.meta.dirname, "../../package.json");
  expect(version).toBe(JSON.parse(readFileSync(file, "utf8")).version);
});
