/** Functions that go on to the ones they end with calls of: which do, that programs run and unwind, and which jump. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FallThrough } from "../../formats/asm/index.js";
import { checkObject } from "../../formats/code/check.js";
import type { FunctionClaim } from "../../formats/code/claims.js";
import type { FunctionExit, PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import { assemble } from "../ipra/compile.js";
import { temporaryFolder, tscLto } from "../support/command.js";
import { programSizes } from "../tools/elf-size.js";

const folder = temporaryFolder();
const input = join(folder, "in.ll");
const output = join(folder, "out.s");

interface Shape {
  /** Attributes of every function. */
  readonly all?: string;
  /** Of the one that others end with calls of: linkage, section, and what else stands after the attributes. */
  readonly linkage?: string;
  readonly callee?: string;
}

/** `@first` and `@second` end in calls of `@last`, `@alone` does nothing else. */
const program = ({ all = "minsize optsize", linkage = "", callee = "" }: Shape): string => `
target triple = "x86_64-unknown-linux-gnu"
@format = private constant [10 x i8] c"%d %d %d\\0A\\00"
@seen = global i32 0
declare i32 @printf(ptr, ...)
define ${linkage} i32 @last(i32 %x) noinline ${all} ${callee} {
  %before = load volatile i32, ptr @seen
  %now = add i32 %before, %x
  store volatile i32 %now, ptr @seen
  ret i32 %now
}
define i32 @first(i32 %x) noinline ${all} {
  %y = mul i32 %x, 7
  %r = tail call i32 @last(i32 %y)
  ret i32 %r
}
define i32 @second(i32 %x) noinline ${all} {
  %small = icmp slt i32 %x, 3
  br i1 %small, label %there, label %here
there:
  %y = xor i32 %x, 21
  %r = tail call i32 @last(i32 %y)
  ret i32 %r
here:
  %s = mul i32 %x, %x
  ret i32 %s
}
define i32 @alone(i32 %x) noinline ${all} {
  %r = tail call i32 @last(i32 %x)
  ret i32 %r
}
define i32 @main() ${all} {
  %a = call i32 @first(i32 1)
  %b = call i32 @second(i32 2)
  %c = call i32 @alone(i32 3)
  call i32 (ptr, ...) @printf(ptr @format, i32 %a, i32 %b, i32 %c)
  ret i32 0
}`;

async function assembly(text: string, ...options: string[]): Promise<string> {
  return outlined(text, "--no-outline", ...options);
}
async function outlined(text: string, ...options: string[]): Promise<string> {
  writeFileSync(input, text);
  const args = ["--only-passes=peepholes,merge-tails", ...options, input, "-o", output];
  const { code, err } = await tscLto(args, { cwd: folder });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return readFileSync(output, "utf8");
}
const jumps = (text: string): number => text.match(/\tjmp\tlast\b/g)?.length ?? 0;
/** Names of the functions in their order. */
const order = (text: string): string =>
  (text.match(/^(?:last|first|second|alone|main)(?=:)/gm) ?? []).join(" ");
function run(): string {
  execFileSync("cc", ["-no-pie", output, "-o", "program"], { cwd: folder });
  return execFileSync(join(folder, "program"), { cwd: folder, encoding: "utf8" });
}
const expected = "7 30 33\n";

describe("a function that ends in a jump", () => {
  it.each([
    ["", []],
    ["without interprocedural allocation", ["--no-ipra"]],
    ["in several threads", ["-j2", "--parallel-threshold=0"]],
    ["in position-independent code", ["--relocation-model=pie"]],
    ["packed once more", ["--check-packing"]],
    ["with descriptions of their own", ["--no-shared-unwind"]],
  ])("goes on to what it jumps to, one of them %s", async (_, options) => {
    const text = await assembly(program({ all: "minsize optsize uwtable" }), "--check-ipra", ...options);
    expect(jumps(text)).toBe(2);
    expect(order(text)).toBe("second alone first last main");
    expect(run()).toBe(expected);
    const apart = await assembly(program({}), "--no-function-layout", ...options);
    expect(jumps(apart)).toBe(3);
    expect(order(apart)).toBe("last first second alone main");
    expect(run()).toBe(expected);
  });

  it("has the jump put at its end", async () => {
    const text = program({}).replace(
      "%r = tail call i32 @last(i32 %y)\n  ret i32 %r\n}\ndefine i32 @second",
      "%r = mul i32 %y, 3\n  ret i32 %r\n}\ndefine i32 @second",
    );
    const made = await assembly(text, "--check-ipra");
    expect(jumps(made)).toBe(1);
    expect(order(made)).toBe("alone second last first main");
    expect(run()).toBe("21 23 26\n");
  });

  it("is near what it jumps to, if it cannot stand in front of that", async () => {
    const far = `define void @far() noinline minsize optsize {
${Array.from({ length: 40 }, (_, n) => `  store volatile i32 ${n + 1000}, ptr @seen\n`).join("")}  ret void
}
`;
    const text = program({})
      .replace("define i32 @first", `${far}define i32 @first`)
      .replace("  %a = call", "  call void @far()\n  %a = call");
    const bytes = async (...options: string[]): Promise<number> => {
      await assembly(text, "--check-ipra", ...options);
      execFileSync("as", [output, "-o", "out.o"], { cwd: folder });
      expect(run()).toBe("1046 1069 1072\n");
      return programSizes(join(folder, "out.o")).code;
    };
    // One jump goes, two are short.
    expect(await bytes("--no-function-layout")).toBe((await bytes()) + 5 + 2 * 3);
  });

  it.each([
    [16, 2],
    [128, 3],
  ])("behind what stands in front of it, padding between them to %i bytes", async (align, count) => {
    const text = await assembly(program({ callee: `align ${align}` }), "--check-ipra");
    expect(jumps(text)).toBe(count);
    expect(run()).toBe(expected);
  });

  it("has the unwinder know the padding", async () => {
    const text = program({ all: "minsize optsize uwtable", callee: "align 16" });
    await assembly(text, "--check-ipra", "--no-shared-unwind");
    expect(readFileSync(output, "utf8")).toMatch(/\t\.p2align\t4\n\t\.cfi_endproc\n\t\.size\tfirst,/);
  });

  it("is checked where an empty block leads to its end", async () => {
    const text = program({}).replace(
      "  %s = mul i32 %x, %x\n  ret i32 %s",
      '  call void asm sideeffect "", "~{memory}"()\n  %s = tail call i32 @last(i32 %x)\n  ret i32 %s',
    );
    await assembly(text, "--check-ipra", "--skip-pass=merge-tails");
    await assembly(text, "--check-ipra");
    expect(run()).toBe(expected);
  });

  it("goes on to outlined code", async () => {
    const many = Array.from(
      { length: 6 },
      (_, n) => `
define i32 @user${n}(i32 %x) noinline minsize optsize {
  %y = add i32 %x, ${n + 100}
  store volatile i32 77777, ptr @seen
  store volatile i32 %y, ptr @seen
  store volatile i32 88888, ptr @seen
  ret i32 %y
}`,
    ).join("");
    const calls = Array.from({ length: 6 }, (_, n) => `  %u${n} = call i32 @user${n}(i32 ${n})\n`).join("");
    const text = (program({}) + many).replace("  %a = call", `${calls}  %a = call`);
    const count = async (...options: string[]): Promise<number> => {
      const made = await outlined(text, "--no-shared-epilogues", "--check-ipra", ...options);
      expect(run()).toBe("88895 88918 88921\n");
      return made.match(/\tjmp\toutlined\./g)?.length ?? 0;
    };
    const before = await count("--no-function-layout");
    expect(before).toBeGreaterThan(1);
    expect(await count()).toBe(before - 1);
  });
});

describe("a function jumps", () => {
  it.each([
    ["for speed", { all: "" }, []],
    ["to a definition that another may replace", { linkage: "weak" }, []],
    [
      "to one that may be replaced when a library is loaded",
      {},
      ["--shared", "--relocation-model=pic", "--export=last"],
    ],
    ["to another section", { callee: 'section "elsewhere"' }, []],
    ["to one of a group", { linkage: "linkonce_odr", callee: "comdat" }, []],
    ["past what lies before the entry", { callee: "prefix i32 5" }, []],
    ["past room for patches", { callee: '"patchable-function-prefix"="3"' }, []],
    ["in sections for each function", {}, ["--function-sections"]],
    ["where asked to", {}, ["--no-function-layout"]],
  ] as const)("%s", async (_, shape: Shape, options) => {
    const comdat = "callee" in shape && shape.callee === "comdat" ? "$last = comdat any\n" : "";
    const text = await assembly(comdat + program(shape), "--export=last", ...options);
    expect(text.match(/\tjmp\tlast(?:@PLT)?\b/g)?.length).toBe(3);
  });

  it("if it does nothing else: its address is its own", async () => {
    const text = program({}).replace(/define i32 @(first|second)[^}]*\}/g, "declare i32 @$1(i32)");
    const made = await assembly(text);
    expect(jumps(made)).toBe(1);
  });
});

describe("what is written", () => {
  const exit = (into: string): FunctionExit => ({ into, jump: "J", behind: "." });
  const fn = (symbol: string, more: Partial<PrintedFunction> = {}): PrintedFunction => ({
    symbol,
    section: "text",
    head: "",
    aliases: [],
    align: 1,
    startsEarly: false,
    text: symbol,
    exit: null,
    unwind: null,
    ...more,
  });
  const written = (...functions: PrintedFunction[]): string => {
    let text = "";
    const joined = new FallThrough((printed) => {
      text += printed.text;
    });
    for (const one of functions) joined.add(one);
    joined.close();
    return text;
  };
  it("has no jump in front of what it leads to", () =>
    expect(written(fn("a", { exit: exit("b") }), fn("b"))).toBe("a.b"));
  it("has the padding before what follows", () =>
    expect(written(fn("a", { exit: exit("b") }), fn("b", { align: 4 }))).toBe("a\t.p2align\t2\n.b"));
  it.each([
    ["before another function", [fn("a", { exit: exit("b") }), fn("c"), fn("b")], "aJ.cb"],
    ["at the end", [fn("b"), fn("a", { exit: exit("b") })], "baJ."],
    ["before another section", [fn("a", { exit: exit("b") }), fn("b", { section: "other" })], "aJ.b"],
    ["before much padding", [fn("a", { exit: exit("b") }), fn("b", { align: 32 })], "aJ.b"],
    ["before what starts early", [fn("a", { exit: exit("b") }), fn("b", { startsEarly: true })], "aJ.b"],
  ])("has the jump %s", (_, functions, text) => expect(written(...functions)).toBe(text));
});

describe("the checker", () => {
  const claim = (symbol: string, more: Partial<FunctionClaim> = {}): FunctionClaim => ({
    symbol,
    sites: [],
    results: 1,
    undefinedRegisters: 0,
    closed: false,
    sealed: false,
    outlined: false,
    unwind: "none",
    ...more,
  });
  const tail = {
    kind: "tail",
    callee: "g",
    targets: null,
    results: 0,
    arguments: 0,
    returns: true,
    throws: false,
  } as const;
  const code = (f: string, g: string): string =>
    `.globl f\n.type f,@function\nf:\n${f}.size f,.-f\n.globl g\n.type g,@function\ng:\n${g}\tret\n.size g,.-g\n`;
  const violations = (text: string, f: Partial<FunctionClaim>): readonly string[] =>
    checkObject(assemble(text), [claim("f", f), claim("g")], { interposable: false }).violations;
  const falls = { sites: [{ ...tail, clobbers: 0xffff }], fallsInto: "g" };

  it("goes on to the next function", () => {
    expect(violations(code("\tmovl $1, %eax\n", ""), falls)).toEqual([]);
    // What the other changes counts, wherever it is entered.
    expect(violations(code("\tmovl $1, %eax\n", "\tmovl $2, %ebx\n"), falls)).toEqual([
      expect.stringMatching(/^@f: %rbx not preserved/),
      expect.stringMatching(/^@g: %rbx not preserved/),
    ]);
  });
  it("from where branches lead to the end", () =>
    expect(violations(code("\ttestl %edi, %edi\n\tje 1f\n\tret\n1:\n", ""), falls)).toEqual([]));
  it("with the stack where it was", () =>
    expect(violations(code("\tpushq %rax\n", ""), falls)).toEqual([
      expect.stringContaining("leaves with the stack pointer displaced"),
    ]));
  it("not where nobody says so", () =>
    expect(violations(code("\tmovl $1, %eax\n", ""), {})).toEqual([
      expect.stringContaining("control runs off the end"),
    ]));
  it("not to another function than the one that is named", () =>
    expect(violations(code("\tmovl $1, %eax\n", ""), { ...falls, fallsInto: "h" })).not.toEqual([]));
});
