/** `tsc-lto why`: what it names as the reason is the reason, since without that the answer is another. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { parseRemarks } from "../../formats/size-report/remarks.js";
import type { SizeReport, SymbolReport } from "../../formats/size-report/schema.js";
import { parseReport } from "../../formats/size-report/text.js";
import { type Edge, Explainer } from "../../formats/size-report/why.js";
import { formatRemarks, type Remark } from "../../lto/pass/remarks.js";
import { capture, temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

/** A program as a graph: each function calls some and takes the addresses of others; a table has addresses. */
interface Graph {
  readonly calls: Readonly<Record<string, readonly string[]>>;
  readonly addresses: Readonly<Record<string, readonly string[]>>;
}

const graph: Graph = {
  calls: {
    main: ["a", "b", "z"],
    a: ["c"],
    b: ["c", "d"],
    c: ["e"],
    d: [],
    e: ["f"],
    f: [],
    g: ["h"],
    h: [],
    i: [],
    z: [],
  },
  addresses: { d: ["g"], z: ["table"], table: ["i"] },
};

function textOf({ calls, addresses }: Graph): string {
  const functions = Object.entries(calls).map(([name, callees], number) => {
    const lines = [
      `  call void @outside(i32 ${number})`,
      ...callees.map((callee) => `  call void @${callee}(i32 %x)`),
      ...(addresses[name] ?? []).map((other) => `  call void @keep(ptr @${other})`),
    ];
    const isMain = name === "main";
    return `define ${isMain ? "i32" : "internal void"} @${name}(i32 %x) noinline {\n${lines.join("\n")}\n  ret ${isMain ? "i32 0" : "void"}\n}\n`;
  });
  const table = addresses["table"] ?? [];
  const entries = table.map((name) => `ptr @${name}`).join(", ");
  return `declare void @outside(i32)
declare void @keep(ptr)
@table = internal global [${table.length} x ptr] ${table.length === 0 ? "zeroinitializer" : `[${entries}]`}
${functions.join("")}`;
}

const without = (
  { calls, addresses }: Graph,
  { from, to, how }: Pick<Edge, "from" | "to" | "how">,
): Graph => {
  const less = (lists: Graph["calls"]) => ({
    ...lists,
    [from]: (lists[from] ?? []).filter((name) => name !== to),
  });
  return how === "calls" ? { calls: less(calls), addresses } : { calls, addresses: less(addresses) };
};

async function linked(text: string, ...options: string[]): Promise<SizeReport> {
  writeFileSync(path("p.ll"), text);
  const words = ["-Oz", "-o", path("p.s"), "--size-report", path("p.json"), ...options, path("p.ll")];
  const { code, err } = await tscLto(words, { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  return parseReport(readFileSync(path("p.json"), "utf8"), "p.json");
}

const plain = "--skip-pass=constant-argument-thunks,merge-similar-functions";
const nameIn = (report: SizeReport, name: string): SymbolReport | undefined =>
  report.symbols.find((symbol) => symbol.name === name);

describe("why a symbol is kept", () => {
  it.each(["f", "c", "d", "h", "i", "table"])(
    "%s: each step it names is taken away, and the symbol goes or not as it says",
    async (name) => {
      const report = await linked(textOf(graph), plain);
      const kept = new Explainer(report).kept(nameIn(report, name)!)!;
      expect(kept.root).toBe("main");
      expect(kept.reasons).toEqual(["the entry"]);
      expect(kept.path.at(-1)!.to).toBe(name);
      for (const edge of kept.path) {
        const less = await linked(textOf(without(graph, edge)), plain);
        expect(nameIn(less, name) === undefined, `${edge.from} ${edge.how} ${edge.to}`).toBe(edge.isOnly);
      }
    },
  );

  it("names whom all ways lead through", async () => {
    const report = await linked(textOf(graph), plain);
    const { path: steps, through } = new Explainer(report).kept(nameIn(report, "f")!)!;
    expect(steps.map(({ isOnly }) => isOnly)).toEqual([false, false, true, true]);
    expect(through).toEqual(["c", "e"]);
  });

  it("knows lists of constructors", async () => {
    const list =
      "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @start, ptr null }]\n";
    const start = "define internal void @start() noinline {\n  call void @outside(i32 99)\n  ret void\n}\n";
    const report = await linked(list + start + textOf(graph), plain);
    expect(new Explainer(report).kept(nameIn(report, "start")!)).toMatchObject({
      root: "llvm.global_ctors",
      reasons: ["run before main"],
    });
  });
});

describe("why a function is open", () => {
  it("its address is taken: without that it is closed", async () => {
    const report = await linked(textOf(graph), plain);
    expect(nameIn(report, "g")!.open).toEqual(["its address, or that of a label in it, is taken in d"]);
    const called: Graph = { calls: { ...graph.calls, d: ["g"] }, addresses: { ...graph.addresses, d: [] } };
    expect(nameIn(await linked(textOf(called), plain), "g")!.open).toEqual([]);
  });
  it("an option names it: without that it is closed", async () => {
    const exported = await linked(textOf(graph).replace("internal void @c", "void @c"), plain, "--export=c");
    expect(nameIn(exported, "c")!.open).toEqual(["named by --export"]);
    expect(
      nameIn(await linked(textOf(graph).replace("internal void @c", "void @c"), plain), "c")!.open,
    ).toEqual([]);
  });
  it("assembly uses it", async () => {
    const text = textOf(graph).replace("internal void @c", "void @c");
    const report = await linked(`module asm ".quad c"\n${text}`, plain);
    expect(nameIn(report, "c")!.open).toEqual([`used by assembly in ${path("p.ll")}`]);
  });
});

describe("why calls change registers", () => {
  const text = (leafIsCalled: boolean): string => `
define i32 @main(i32 %n) {
  %p = alloca double
  call void @middle(ptr %p)
  call void @outside(i32 0)
  ret i32 0
}
declare void @outside(i32)
define internal void @middle(ptr %p) noinline {
  store volatile double 1.0, ptr %p
  ${leafIsCalled ? "call void @leaf(ptr %p)" : ""}
  ret void
}
define internal void @leaf(ptr %p) noinline {
  %a = load volatile i64, ptr %p
  %b = load volatile i64, ptr %p
  %c = udiv i64 %a, %b
  store volatile i64 %c, ptr %p
  ret void
}
`;
  it("names the callee that does it, and without the call they are preserved", async () => {
    const report = await linked(text(true), plain);
    const ways = new Explainer(report).mask(nameIn(report, "middle")!);
    const divided = ways.find(({ registers }) => registers.includes("rdx"))!;
    expect(divided).toMatchObject({ path: ["leaf"], by: "itself" });
    const less = nameIn(await linked(text(false), plain), "middle")!.registers!;
    for (const register of divided.registers) expect(less.changes).not.toContain(register);
    expect(less.preserves).toContain("rdx");
  });

  it("names code that is not known", async () => {
    const report = await linked(text(true), plain);
    const ways = new Explainer(report).mask(nameIn(report, "main")!);
    expect(ways.find(({ registers }) => registers.includes("xmm15"))).toMatchObject({
      path: [],
      by: "outside",
    });
  });

  it("says who saves what is not saved where it is changed", () => {
    const base = { kind: "function", bytes: {} } as const;
    const registers = { changes: [], own: [], saves: [], preserves: [], gives: [], callsUnknown: [] };
    const report = {
      symbols: [
        { ...base, name: "top", calls: ["low"], registers: { ...registers, saves: ["rbx"] } },
        { ...base, name: "low", calls: [], registers: { ...registers, gives: ["rbx"], saves: ["rbp"] } },
      ],
    } as unknown as SizeReport;
    expect(new Explainer(report).savers(report.symbols[1]!)).toEqual([
      { register: "rbp", by: ["low"], isOwn: true },
      { register: "rbx", by: ["top"], isOwn: false },
    ]);
  });
});

describe("why something was not done", () => {
  const attributes = "minsize optsize nounwind uwtable";
  /** `h` is called from two places; `m0` and `m1` differ in a number, or in one of each line. */
  const text = (mark: string, lines: number, isMany = false): string => `declare void @e(i32, i32, i32)
define internal void @h(i32 %x) ${attributes} ${mark} {
  call void @e(i32 %x, i32 %x, i32 1)
  ret void
}
${[0, 1]
  .map(
    (n) => `define internal void @m${n}(i32 %x) ${attributes} noinline {
${Array.from({ length: lines }, (_, i) => `  call void @e(i32 %x, i32 ${1000 + 77 * i}, i32 ${100 + n * (isMany ? i + 1 : 1)})`).join("\n")}
  ret void
}`,
  )
  .join("\n")}
define i32 @main(i32 %x) ${attributes} {
  call void @h(i32 %x)
  call void @m0(i32 %x)
  call void @m1(i32 %x)
  %y = add i32 %x, 1
  call void @h(i32 %y)
  ret i32 0
}
`;
  const why = async (source: string, ...question: string[]): Promise<string> => {
    await linked(
      source,
      "--opt-remarks-filename",
      path("p.opt.yaml"),
      "--skip-pass=constant-argument-thunks",
    );
    const words = ["why", ...question, "--report=p.json", "--remarks=p.opt.yaml"];
    const { code, out, err } = await capture(main, words, { cwd: folder });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    return out;
  };

  it("a call: without the obstacle it is inlined, or costs too much", async () => {
    const kept = await why(text("noinline", 1), "main", "not-inlined", "h");
    expect(kept).toContain("inline: h not inlined into main because it should never be inlined: ");
    expect(await why(text("noinline", 1), "h", "not-inlined")).toContain("h not inlined into main");
    expect(await why(text("noinline", 1), "main", "not-inlined", "e")).toMatch(/not-inlined: no pass/);
    expect(await why(text("", 1), "main", "not-inlined", "h")).not.toContain("never be inlined");
  });

  it("a merge: they differ too much, and are merged when they differ in one number", async () => {
    expect(await why(text("", 5, true), "m1", "not-merged", "m0")).toContain(
      "merge-similar-functions: functions not merged, since they differ in more than can be passed: m0, m1\n",
    );
    await linked(text("", 5));
    const names = parseReport(readFileSync(path("p.json"), "utf8"), "p.json").symbols.map(({ name }) => name);
    expect(names).toContain("m0.merged");
  });

  it("outlining, with all functions that have the code", async () => {
    const answer = await why(text("", 2), "m1", "not-outlined", "--json");
    const { "not-outlined": list } = JSON.parse(answer) as {
      "not-outlined": { text: string; short: number | null }[];
    };
    expect(list.length).toBeGreaterThan(0);
    for (const { text: said } of list) expect(said).toMatch(/found in: .*\bm1\b/);
    const short = list.flatMap((one) => one.short ?? []);
    expect(short).toEqual([...short].sort((a, b) => a - b));
  });

  it("says how to get records", async () => {
    await linked(text("", 1));
    const { code, err } = await capture(main, ["why", "m0", "not-inlined", "--report=p.json"], {
      cwd: folder,
    });
    expect([code, err]).toEqual([1, expect.stringContaining("link with --opt-remarks-filename=%.opt.yaml")]);
    const wrong = await capture(main, ["why", "m0", "open", "main", "--report=p.json"], { cwd: folder });
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("main is one too many")]);
  });
});

describe("records", () => {
  it("are read as they are written", () => {
    const remarks: Remark[] = [
      {
        kind: "Missed",
        pass: "inline",
        name: "TooCostly",
        function: 'it\'s: a "name"',
        facts: [
          ["Callee", "_ZN1aC1Ev"],
          ["String", " — with ünïcode\x01\n and \\"],
          ["Cost", "12"],
          ["String", "null"],
        ],
      },
      { kind: "Passed", pass: "icf", name: "Folded", function: "f", facts: [] },
    ];
    expect(parseRemarks(formatRemarks(remarks))).toEqual(remarks);
  });
  it("of LLVM are read, with places and kinds that are not ours", () => {
    const text =
      "--- !Missed\nPass:            inline\nName:            NoDefinition\nDebugLoc:        { File: a.c, Line: 3, Column: 9 }\n" +
      "Function:        main\nArgs:\n  - Callee:          puts\n    DebugLoc:        { File: s.h, Line: 1, Column: 0 }\n  - String:          ' will not be inlined'\n...\n" +
      "--- !AnalysisAliasing\nPass:            x\nName:            y\nFunction:        z\n...\n";
    expect(parseRemarks(text)).toEqual([
      {
        kind: "Missed",
        pass: "inline",
        name: "NoDefinition",
        function: "main",
        facts: [
          ["Callee", "puts"],
          ["String", " will not be inlined"],
        ],
      },
    ]);
  });
  it.each(["Pass: x\n", "--- !Missed\nrubbish\n", "\0\x01"])("%j is refused", (text) => {
    expect(() => parseRemarks(text)).toThrow(/line \d is no optimisation record/);
  });
});

describe("the command", () => {
  const run = (...args: string[]) => capture(main, args, { cwd: folder });
  it("answers in words", async () => {
    await linked(textOf(graph), plain);
    const { code, out } = await run("why", "f", "kept", "--report=p.json");
    expect(code).toBe(0);
    expect(out.replace(/^f: .*\n/, "")).toBe(
      "kept: from main, the entry\n  calls a (there are other ways)\n  calls c (there are other ways)\n  calls e\n  calls f\n  every way leads through c, e\n",
    );
    expect((await run("why", "e", "open", "--report=p.json")).out).toContain("closed: entered only from c\n");
    const report = JSON.parse(readFileSync(path("p.json"), "utf8")) as {
      symbols: { name: string; mentions?: string[] }[];
    };
    report.symbols.find(({ name }) => name === "b")!.mentions = ["e"];
    writeFileSync(path("q.json"), JSON.stringify(report));
    expect((await run("why", "e", "open", "--report=q.json")).out).toContain(
      "closed: entered only from c and calls by pointer that are known; its address is in b\n",
    );
    const all = (await run("why", "g", "--report=p.json")).out;
    for (const word of ["kept:", "open:", "changes in a call:", "saves"]) expect(all).toContain(word);
  });
  it("says of what is no report that it is none", async () => {
    writeFileSync(path("empty"), "");
    expect(await run("why", "e", "--report=empty")).toMatchObject({
      code: 1,
      err: "tsc-lto: error: empty is no size report, and has no empty.size.json beside it\n",
    });
  });
  it("answers as JSON", async () => {
    const { out } = await run("why", "e", "open", "--json", "--report=p.json");
    expect(JSON.parse(out)).toEqual({ symbol: "e", open: [] });
  });
  it("refuses what it does not know", async () => {
    const unknown = await run("why", "tabl", "--report=p.json");
    expect(unknown).toMatchObject({
      code: 1,
      err: "tsc-lto: error: p.json: no symbol tabl; there are table\n",
    });
    expect((await run("why", "e", "when", "--report=p.json")).code).toBe(2);
    writeFileSync(path("old.json"), '{"format":"tsc-lto size report","version":99}');
    expect((await run("why", "e", "--report=old.json")).err).toContain("size report of version 99");
  });
});
