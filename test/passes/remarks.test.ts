/** Records of what passes decided. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { parseRemarks } from "../../formats/size-report/remarks.js";
import { formatRemarks } from "../../lto/pass/remarks.js";
import { fixtureBytes } from "../bitcode/fixture.js";
import { capture, type Outcome, temporaryFolder } from "../support/command.js";

const cwd = temporaryFolder();
const path = (name: string): string => join(cwd, name);
const lto = (args: readonly string[]): Promise<Outcome> =>
  capture(main, [path("a.ll"), "-o", path("a.s"), ...args], { cwd, workers: true });
/** @param attribute of the function that is called twice */
const program = (attribute: string): string => `define internal i32 @half(i32 %n) ${attribute} {
  %h = sdiv i32 %n, 2
  ret i32 %h
}
define i32 @main(i32 %a, ptr %p) {
  %x = call i32 @half(i32 %a)
  %y = call i32 @half(i32 %x)
  ret i32 %y
}
`;

describe("--opt-remarks-filename", () => {
  it("writes what the inliner decided, and why", async () => {
    writeFileSync(path("a.ll"), program(""));
    const file = path("remarks.yaml");
    await lto(["-O2", `--opt-remarks-filename=${file}`, "--opt-remarks-passes=^inl"]);
    const written = readFileSync(file, "utf8");
    expect(written).toContain(
      [
        "--- !Passed",
        "Pass:            inline",
        "Name:            Inlined",
        "Function:        main",
        "Args:",
        "  - Callee:          half",
        "  - String:          ' inlined into '",
        "  - Caller:          main",
      ].join("\n"),
    );
    expect(written).toMatch(
      / {2}- Cost: {12}'?-?\d+'?\n {2}- String: {10}', threshold='\n {2}- Threshold: {7}\d+\n/,
    );
    expect(written.endsWith("...\n")).toBe(true);
    await lto(["-O2", `--opt-remarks-filename=${file}`, "--opt-remarks-passes=^outline"]);
    expect(readFileSync(file, "utf8")).toBe("");
    await lto(["-O2", `-mllvm=-pass-remarks-output=${file}`, "-mllvm=-pass-remarks-filter=inl"]);
    expect(readFileSync(file, "utf8")).toBe(written);
  });
  it("says how many instructions each function has, and its stack, by LLVM's names", async () => {
    const text = `declare void @take(ptr, i32)
define void @noted(i32 %n) {
  %room = alloca [4 x i64]
  call void asm sideeffect "nop", ""()
  call void @take(ptr %room, i32 %n)
  ret void
}
define i32 @leaf(i32 %a) {
  %b = mul i32 %a, 41
  ret i32 %b
}
`;
    writeFileSync(path("a.ll"), text);
    const file = path("remarks.yaml");
    await lto(["-Oz", "-r", `--opt-remarks-filename=${file}`, "--opt-remarks-passes=asm-|prolog"]);
    const told = parseRemarks(readFileSync(file, "utf8")).map((one) => [
      one.function,
      one.name,
      one.facts[0]!,
    ]);
    const assembly = readFileSync(path("a.s"), "utf8");
    for (const name of ["noted", "leaf"]) {
      const [, body] = new RegExp(`^${name}:\\n([^]*?)\\n\\s*(?:\\.size|\\.p2align)`, "m").exec(assembly)!;
      const lines = body!.split("\n").filter((line) => /^\s+[a-z]/.test(line));
      expect(told).toContainEqual([name, "InstructionCount", ["NumInstructions", String(lines.length)]]);
      const room = lines.map((line) =>
        /push/.test(line) ? 8 : Number(/sub\S*\s.*?(\d+)/.exec(line)?.[1] ?? 0),
      );
      const stack = room.reduce((sum, bytes) => sum + bytes, 8);
      expect(told).toContainEqual([name, "StackSize", ["NumStackBytes", String(stack)]]);
    }
    expect(told).toHaveLength(4);
  });
  it("says why a call cannot be inlined", async () => {
    const file = path("remarks.yaml");
    writeFileSync(path("a.ll"), program("noinline"));
    await lto(["-O2", `--opt-remarks-filename=${file}`]);
    expect(readFileSync(file, "utf8")).toMatch(/--- !Missed\nPass: +inline\nName: +NeverInline\n/);
  });
  it("says where calls and functions are, where debug information does", async () => {
    writeFileSync(path("nodes.bc"), fixtureBytes("nodes-15.bc"));
    const file = path("remarks.yaml");
    const options = ["-O2", `--opt-remarks-filename=${file}`, "--opt-remarks-passes=^inline"];
    await capture(main, [path("nodes.bc"), "-o", path("a.s"), ...options], { cwd, workers: true });
    const call = readFileSync(file, "utf8")
      .split("--- ")
      .find((record) => record.includes("Callee:          _Z"))!;
    const place = "DebugLoc: +\\{ File: nodes.cpp, Line: (\\d+), Column: (\\d+) \\}\n";
    const [, line, column] = new RegExp(`^${place}Function:`, "m").exec(call)!;
    expect(Number(line) * Number(column)).toBeGreaterThan(0);
    expect(call).toMatch(new RegExp(`  - Callee: .*\n    ${place}`));
  });
  it("reports a bad pattern and a file that cannot be written", async () => {
    expect(await lto(["--opt-remarks-passes=("])).toMatchObject({ code: 2 });
    const { code, err } = await lto(["--opt-remarks-filename=/nowhere/remarks.yaml"]);
    expect(code).toBe(1);
    expect(err).toContain("/nowhere/remarks.yaml: cannot write the remarks");
  });
});

describe("narrow-constant-tables", () => {
  it("says what it saves, and where a table goes otherwise", async () => {
    const words = Array.from({ length: 16 }, (_, i) => `i32 ${i}`).join(", ");
    const table = (name: string): string => `@${name} = internal constant [16 x i32] [${words}]\n`;
    writeFileSync(
      path("a.ll"),
      `${table("small")}${table("kept")}@list = global [1 x ptr] [ptr @listed], section "lists"
${table("listed")}declare void @take(ptr)
define i32 @main(i64 %i) minsize optsize {
  %p = getelementptr inbounds i32, ptr @small, i64 %i
  %v = load i32, ptr %p
  call void @take(ptr @kept)
  %l = load ptr, ptr @list
  call void @take(ptr %l)
  ret i32 %v
}
`,
    );
    const file = path("remarks.yaml");
    await lto([
      "-Oz",
      `--opt-remarks-filename=${file}`,
      "--only-passes=narrow-constant-tables",
      "--opt-remarks-passes=tables",
    ]);
    const records = readFileSync(file, "utf8").split("--- ").slice(1);
    expect(records).toHaveLength(3);
    const [small, kept, listed] = ["small", "kept", "listed"].map((name) =>
      records.find((record) => record.includes(`Function:        ${name}\n`)),
    );
    expect(small).toMatch(/^!Passed[\s\S]*Name: +TableShrunk[\s\S]*DataBytes: +'-48'[\s\S]*CodeBytes: +1\n/);
    expect(kept).toMatch(/^!Missed[\s\S]*Name: +TableKept[\s\S]*User: +main[\s\S]*Instruction: +call\n/);
    expect(listed).toMatch(/^!Missed[\s\S]*Name: +TableKept[\s\S]*DataBytes: +64[\s\S]*in an initializer/);
  });
});

describe("ir-outline", () => {
  /** Calls that three functions have alike, and a maximum, which looks longer than it is. */
  const repeats = (): string => {
    const calls = Array.from({ length: 8 }, (_, i) => `  call void @effect(i32 ${100001 + i ** 3})\n`).join(
      "",
    );
    // Otherwise they were one function.
    const fences = (count: number): string => "  fence seq_cst\n".repeat(count);
    const callers = ["a", "b", "c"].map(
      (name, i) => `define void @${name}() {\n${fences(i)}${calls}  ret void\n}\n`,
    );
    const operations = ["add", "sub", "mul", "and", "or", "xor", "shl", "lshr"];
    const users = operations.map(
      (op) => `define i64 @${op}(i32 %n, i64 %x) {
  %m = call i32 @llvm.smax.i32(i32 %n, i32 0)
  %z = zext i32 %m to i64
  %r = ${op} i64 %z, %x
  ret i64 %r
}
`,
    );
    return `declare void @effect(i32)
declare i32 @llvm.smax.i32(i32, i32)
${callers.join("")}${users.join("")}`;
  };
  it("runs where the least size is wanted, unless told not to", async () => {
    writeFileSync(path("a.ll"), repeats());
    const functions = async (...options: string[]): Promise<string> => {
      const { code, err } = await lto([...options, "--stats"]);
      expect(code).toBe(0);
      return /(\d+) {2}ir-outline: functions made/.exec(err)?.[1] ?? "0";
    };
    expect(await functions("-Oz")).toBe("1");
    expect(await functions("-Oz", "--no-ir-outline")).toBe("0");
    expect(await functions("-Oz", "--no-ir-outline", "--ir-outline")).toBe("1");
    expect(await functions("-Oz", "--skip-pass=ir-outline")).toBe("0");
    for (const level of ["-Os", "-O2"]) expect(await functions(level)).toBe("0");
  });
  it("says what it took and what not, with the sizes of both sides", async () => {
    writeFileSync(path("a.ll"), repeats());
    const file = path("remarks.yaml");
    const options = ["-Oz", "--stats", "--opt-remarks-passes=^ir-outline$"];
    const { code, err } = await lto([...options, `--opt-remarks-filename=${file}`]);
    expect(code).toBe(0);
    expect(err).toMatch(/ 1 {2}ir-outline: functions made/);
    expect(err).toMatch(/[1-9]\d* {2}ir-outline: functions compiled on trial/);
    const records = readFileSync(file, "utf8").split("--- ").slice(1);
    const sizes = (record: string): number[] =>
      ["Cost", "Threshold", "FunctionBytes"].map((key) =>
        Number(new RegExp(`- ${key}: +'?([-0-9]+)`).exec(record)?.[1]),
      );
    const [taken, ...others] = records.filter((record) => record.startsWith("!Passed"));
    expect(others).toEqual([]);
    expect(taken).toMatch(
      /Name: +OutlinedFunction\n[\s\S]*Place1: +a\n[\s\S]*Place2: +b\n[\s\S]*Place3: +c\n/,
    );
    const [cost, threshold, bytes] = sizes(taken!);
    expect(cost).toBeLessThan(threshold!);
    expect(bytes).toBeLessThan(cost!);
    const refused = records.find((record) => /Function: +add\n/.test(record))!;
    expect(refused).toMatch(/^!Missed\nPass: +ir-outline\nName: +NotOutliningCheaper\n/);
    expect(refused).toContain("'; function: '");
    // xor, test, cmov, a move and a return.
    expect(sizes(refused)[2]).toBeLessThan(13);
  });
  it("says so of code with branches, too", async () => {
    /** So many ways, with a call in each; different fences keep functions from being one. */
    const region = (name: string, fences: number, ways: number): string => {
      const numbers = Array.from({ length: ways }, (_, i) => i);
      const cases = numbers.map((i) => `i32 ${i}, label %way${i}`);
      const blocks = numbers.map(
        (i) => `way${i}:\n  call void @effect(i32 ${100001 + i ** 3})\n  br label %end\n`,
      );
      return `define void @${name}(i32 %n) {
${"  fence seq_cst\n".repeat(fences)}  switch i32 %n, label %end [${cases.join(" ")}]
${blocks.join("")}end:
  fence seq_cst
  ret void
}
`;
    };
    const functions = ["a", "b", "c"].map((name, i) => region(name, i + 1, 6));
    const small = ["d", "e"].map((name, i) => region(name, i + 4, 3));
    writeFileSync(path("a.ll"), `declare void @effect(i32)\n${[...functions, ...small].join("")}`);
    const file = path("remarks.yaml");
    const options = ["-Oz", "--stats", "--opt-remarks-passes=^ir-outline$", `--opt-remarks-filename=${file}`];
    const { code, err } = await lto([...options, "--skip-pass=hoist-sink,merge-similar-functions"]);
    expect(code).toBe(0);
    expect(err).toMatch(/ 1 {2}ir-outline: of these, for code with branches/);
    const records = readFileSync(file, "utf8").split("--- ").slice(1);
    const taken = records.filter((record) => record.startsWith("!Passed"));
    expect(taken.length).toBe(1);
    expect(taken[0]).toMatch(/Place1: +a\n[\s\S]*Place2: +b\n[\s\S]*Place3: +c\n/);
    const refused = records.find((record) => /Function: +d\n/.test(record))!;
    expect(refused).toMatch(/^!Missed\nPass: +ir-outline\nName: +NotOutliningCheaper\n/);
    const bytes = (key: string): number => Number(new RegExp(`- ${key}: +'?(\\d+)`).exec(refused)?.[1]);
    expect(bytes("Cost")).toBeGreaterThan(bytes("Threshold"));
  });
});

describe("the text of a record", () => {
  it("has places as LLVM writes them", () => {
    const place = { file: "a b.c", line: 3, column: 7 };
    const facts = [["Callee", "g"]] as const;
    expect(
      formatRemarks(
        [{ kind: "Passed", pass: "inline", name: "Inlined", function: "f", place, facts }],
        () => ({
          ...place,
          column: 0,
        }),
      ),
    ).toBe(`--- !Passed
Pass:            inline
Name:            Inlined
DebugLoc:        { File: 'a b.c', Line: 3, Column: 7 }
Function:        f
Args:
  - Callee:          g
    DebugLoc:        { File: 'a b.c', Line: 3, Column: 0 }
...
`);
  });
  it("quotes what YAML would take for something else", () => {
    const facts = ["plain", "two words", "it's", "no", "-1", "007", 'tab\t"\\', "ü", "日"].map(
      (value) => ["Value", value] as const,
    );
    const [, ...lines] = formatRemarks([
      { kind: "Analysis", pass: "size", name: "Sizes", function: "f", facts },
    ]).split("Value:           ");
    expect(lines.map((line) => line.split("\n")[0])).toEqual([
      "plain",
      "'two words'",
      "'it''s'",
      "'no'",
      "'-1'",
      "'007'",
      '"tab\\x09\\"\\\\"',
      '"\\xfc"',
      '"\\u65e5"',
    ]);
  });
});

describe("--inline-effort", () => {
  /** A function that is called once, as large as what is worth a trial, and one whose copies are as large as its calls. */
  const close = `declare i32 @unknown(i32, i32)
define internal i32 @moved(i32 %a) {
  %x = mul i32 %a, 41
  %y = call i32 @unknown(i32 %x, i32 1)
  %z = call i32 @unknown(i32 %y, i32 3)
  ret i32 %z
}
define internal i32 @shared(i32 %a, i32 %b) {
  %x = mul i32 %a, %b
  %y = add i32 %x, 5
  ret i32 %y
}
define i32 @main(i32 %a, i32 %b) {
  %m = call i32 @moved(i32 %a)
  %s = call i32 @shared(i32 %m, i32 %b)
  %t = call i32 @shared(i32 %b, i32 %s)
  %u = call i32 @shared(i32 %t, i32 %a)
  ret i32 %u
}
`;
  const linked = async (effort: number): Promise<{ text: string; remarks: string; err: string }> => {
    writeFileSync(path("a.ll"), close);
    const file = path("remarks.yaml");
    const options = ["-Oz", "--stats", `--inline-effort=${effort}`, `--opt-remarks-filename=${file}`];
    const { code, err } = await lto(options);
    expect(code).toBe(0);
    return { text: readFileSync(path("a.s"), "utf8"), remarks: readFileSync(file, "utf8"), err };
  };

  it("decides by code that is generated on trial, and says both sizes", async () => {
    const { remarks, err } = await linked(10_000);
    expect(err).toMatch(/[1-9]\d* {2}inline: calls decided by generating code for both versions/);
    const sizes = [
      ...remarks.matchAll(/!(Passed|Missed)\n(?:.*\n)*? {2}- Before: +(\d+)\n.*\n {2}- After: +(\d+)\n/g),
    ];
    expect(sizes.length).toBeGreaterThan(0);
    for (const [, kind, before, after] of sizes)
      expect(Number(after) < Number(before), remarks).toBe(kind === "Passed");
  });
  it("does the same each time, and without a budget what estimates say", async () => {
    expect((await linked(10_000)).text).toBe((await linked(10_000)).text);
    const { remarks } = await linked(0);
    expect(remarks).not.toContain("Before:");
    expect(remarks).toContain("Threshold:");
  });
  it("takes a number", async () => {
    expect(await lto(["--inline-effort=much"])).toMatchObject({ code: 2 });
  });
});
