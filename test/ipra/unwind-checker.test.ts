/**
 * The IPRA checker on exceptions, by assembly written for it: what the unwinder restores, what landing pads find, and
 * descriptions of frames that are wrong.
 */
import { describe, expect, it } from "vitest";
import { readCallSites } from "../../formats/code/call-sites.js";
import { checkObject } from "../../formats/code/check.js";
import type { FunctionClaim } from "../../formats/code/claims.js";
import { readFrameInfo } from "../../formats/code/frame-info.js";
import { readCodeObject } from "../../formats/code/object.js";
import { assemble } from "./compile.js";

const RBX = 1 << 3;

/** A function with unwind information; `%table` in its code becomes its exception table's directive. */
const fn = (name: string, code: string, binding = "local"): string =>
  `\t.${binding}\t${name}\n\t.type\t${name},@function\n${name}:\n\t.cfi_startproc\n${code}\n\t.cfi_endproc\n\t.size\t${name}, .-${name}\n`;
const withTable = "\t.cfi_personality 3, __gxx_personality_v0\n\t.cfi_lsda 3, .Ltable\n.Lbegin:\n";
/** An exception table of calls between labels, with landing pads; "0" for none. */
const table = (sites: readonly (readonly [start: string, end: string, pad: string])[]): string =>
  `\t.section .gcc_except_table,"a",@progbits\n.Ltable:\n\t.byte 255, 255, 1\n\t.uleb128 .Lend-.Lsites\n.Lsites:\n${sites
    .map(
      ([start, end, pad]) =>
        `\t.uleb128 ${start}-.Lbegin\n\t.uleb128 ${end}-${start}\n\t.uleb128 ${pad === "0" ? "0" : `${pad}-.Lbegin`}\n\t.byte 0\n`,
    )
    .join("")}.Lend:\n\t.text\n`;

const violations = (text: string, claims: FunctionClaim[] = []): readonly string[] => {
  const report = checkObject(assemble(`\t.text\n${text}`), claims, { interposable: false });
  return [...report.violations, ...report.unchecked];
};
const clobbers = (name: string, text: string): number | undefined =>
  checkObject(assemble(`\t.text\n${text}`), [], { interposable: false }).clobbers.get(name);

const saves = "\tpushq %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n";
const restores = "\tpopq %rbx\n\t.cfi_def_cfa_offset 8\n\tret";

describe("frames as the unwinder sees them", () => {
  it("are right where every push is told", () =>
    expect(violations(fn("f", `${saves}\tmovq %rdi, %rbx\n\tcall other\n${restores}`, "globl"))).toEqual([]));
  it("are wrong when the CFA is elsewhere at a call", () =>
    expect(
      violations(fn("f", "\tpushq %rax\n\tcall other\n\tpopq %rcx\n\tret", "globl")).some((text) =>
        text.includes("does not find the frame"),
      ),
    ).toBe(true));
  it("may be wrong between calls", () =>
    expect(violations(fn("f", "\tpushq %rax\n\tpopq %rcx\n\tret", "globl"))).toEqual([]));
  it("are wrong when a register is not where it is said to be", () =>
    expect(
      violations(
        fn(
          "f",
          `\tpushq %rax\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n\tcall other\n\tpopq %rcx\n\tret`,
          "globl",
        ),
      ).some((text) => text.includes("does not find register 3")),
    ).toBe(true));
  it("a frame pointer finds frames of any size", () =>
    expect(
      violations(
        fn(
          "f",
          "\tpushq %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n\tmovq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\tsubq %rdi, %rsp\n\tandq $-64, %rsp\n\tcall other\n\tleave\n\t.cfi_def_cfa %rsp, 8\n\tret",
          "globl",
        ),
      ),
    ).toEqual([]));
});

describe("asynchronous tables", () => {
  const claim = (unwind: FunctionClaim["unwind"]): FunctionClaim => ({
    symbol: "f",
    sites: [],
    results: 0,
    undefinedRegisters: 0,
    closed: false,
    sealed: false,
    outlined: false,
    unwind,
  });
  const checked = (code: string, unwind: FunctionClaim["unwind"] = "async"): readonly string[] =>
    violations(fn("f", code, "globl"), [claim(unwind)]);
  it("tell of every push", () => {
    const told = "\tpushq %rax\n\t.cfi_def_cfa_offset 16\n\tpopq %rcx\n\t.cfi_def_cfa_offset 8\n\tret";
    expect(checked(told)).toEqual([]);
    expect(checked("\tpushq %rax\n\tpopq %rcx\n\tret")).toEqual([
      "@f+0x1: the unwinder does not find the frame between calls",
    ]);
    expect(checked("\tpushq %rax\n\tpopq %rcx\n\tret", "sync")).toEqual([]);
  });
  it("tell of every saved register before it changes", () => {
    const late =
      "\tpushq %rbx\n\t.cfi_def_cfa_offset 16\n\txorl %ebx, %ebx\n\t.cfi_offset %rbx, -16\n\tpopq %rbx\n\t.cfi_def_cfa_offset 8\n\tret";
    expect(checked(late)).toEqual([]);
    expect(checked(late.replace("\t.cfi_offset %rbx, -16\n", "\tnop\n\t.cfi_offset %rbx, -16\n"))).toEqual([
      "@f+0x3: the unwinder is not told where register 3 is",
    ]);
    expect(
      checked(late.replace("%rbx, -16", "%rbx, -24")).some((text) => text.includes("find register 3")),
    ).toBe(true);
  });
  it("are there", () =>
    expect(
      violations("\t.globl f\n\t.type f,@function\nf:\n\tret\n\t.size f, .-f\n", [claim("async")]),
    ).toEqual(["@f+0x0: has no unwind description"]));
  const two = (reset: string): string =>
    `\t.globl g\n\t.type g,@function\ng:\n\t.cfi_startproc\n${saves}\txorl %ebx, %ebx\n\tcall abort\n\tud2\n${reset}\t.size g, .-g\n\t.globl f\n\t.type f,@function\nf:\n\tmovl %edi, %eax\n\tret\n\t.cfi_endproc\n\t.size f, .-f\n`;
  it("of two functions in one description start anew", () => {
    expect(violations(two("\t.cfi_def_cfa_offset 8\n\t.cfi_restore %rbx\n"), [claim("async")])).toEqual([]);
    expect(violations(two(""), [claim("async")])).toEqual([
      "@f+0x0: the unwinder does not find the frame between calls",
    ]);
    expect(violations(two("\t.cfi_def_cfa_offset 8\n"), [claim("async")])).toEqual([
      "@f+0x0: the unwinder does not find register 3 where it looks between calls",
    ]);
  });
  it("do not cover functions without any", () =>
    expect(violations(two("\t.cfi_def_cfa_offset 8\n\t.cfi_restore %rbx\n"), [claim("none")])).toEqual([
      "@f: another function's unwind description covers it",
    ]));
});

describe("what an exception leaves changed", () => {
  // It restores rbx on the way back, from a place that the unwinder does not know.
  const secret =
    "\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n\tmovq %rbx, (%rsp)\n\txorl %ebx, %ebx\n\tcall other\n\tmovq (%rsp), %rbx\n\taddq $8, %rsp\n\t.cfi_def_cfa_offset 8\n\tret";
  it("a register that only a return restores", () =>
    expect((clobbers("f", fn("f", secret)) ?? 0) & RBX).toBe(RBX));
  it("so unknown code may not call the function", () =>
    expect(violations(fn("f", secret, "globl")).some((text) => text.includes("%rbx not preserved"))).toBe(
      true,
    ));
  it("but where the frame is told, nothing", () =>
    expect((clobbers("f", fn("f", `${saves}\txorl %ebx, %ebx\n\tcall other\n${restores}`)) ?? 0) & RBX).toBe(
      0,
    ));
  it("nothing where nothing gets out", () =>
    expect((clobbers("f", fn("f", withTable + secret) + table([])) ?? 0) & RBX).toBe(0));
  it("what a callee changes before it throws, though it never returns", () => {
    const throws = fn(
      "g",
      "\txorl %ebx, %ebx\n\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n\tcall raise\n\tud2",
    );
    expect(
      (clobbers("f", `${fn("f", "\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n\tcall g\n\tud2")}${throws}`) ??
        0) & RBX,
    ).toBe(RBX);
  });
});

describe("landing pads", () => {
  /** Keeps its argument in a register over a call of `callee` and reads it in the landing pad. */
  const keeper = (register: string, callee = "other", pad = ""): string =>
    fn(
      "f",
      `${withTable}${saves}\tmovq %rdi, ${register}\n.La:\n\tcall ${callee}\n.Lb:\n${restores}\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n.Lpad:\n${pad}\tmovq %rax, %rdi\n\tmovq ${register}, (%rax)\n\tcall _Unwind_Resume\n`,
      "globl",
    ) + table([[".La", ".Lb", ".Lpad"]]);
  const tame = fn(
    "tame",
    "\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n\tcall raise\n\taddq $8, %rsp\n\t.cfi_def_cfa_offset 8\n\tret",
  );

  it("find callee-saved registers as they were", () => {
    const found = violations(keeper("%rbx"));
    // Of `_Unwind_Resume`, which has no entry, nothing is asked here but its frame.
    expect(found.filter((text) => text.includes("keeps a value"))).toEqual([]);
  });
  it("do not find caller-saved ones", () =>
    expect(violations(keeper("%rcx")).some((text) => text.includes("changes %rcx, in which"))).toBe(true));
  it("do not find callee-saved ones that the callee changes without saving them", () => {
    const wild = fn(
      "wild",
      "\txorl %ebx, %ebx\n\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n\tcall raise\n\tud2",
    );
    expect(
      violations(keeper("%rbx", "wild") + wild).some((text) => text.includes("changes %rbx, in which")),
    ).toBe(true);
    expect(violations(keeper("%rbx", "tame") + tame).some((text) => text.includes("keeps a value"))).toBe(
      false,
    );
  });
  it("are code like other code", () =>
    expect(
      violations(keeper("%rbx", "other", "\tpushq %rax\n")).some((text) =>
        text.includes("does not find the frame"),
      ),
    ).toBe(true));
  it("are entered without the arguments, where the table of frames says so", () => {
    const code = (told: string): string =>
      fn(
        "f",
        `${withTable}\tsubq $8, %rsp\n\t.cfi_def_cfa_offset 16\n\tpushq $1\n\t.cfi_def_cfa_offset 24\n\tpushq $2\n\t.cfi_def_cfa_offset 32\n${told}.La:\n\tcall other\n.Lb:\n\taddq $24, %rsp\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_def_cfa_offset 16\n.Lpad:\n\taddq $8, %rsp\n\t.cfi_def_cfa_offset 8\n\tret\n`,
        "globl",
      ) + table([[".La", ".Lb", ".Lpad"]]);
    expect(violations(code("\t.cfi_escape 0x2e, 16\n"))).toEqual([]);
    expect(violations(code("")).some((text) => text.includes("stack pointer displaced"))).toBe(true);
  });
});

describe("the tables themselves", () => {
  it("are read with their types and filters", () => {
    const text = `\t.text\n${fn("f", `${withTable}.La:\n\tcall other\n.Lb:\n\tret\n.Lpad:\n\tud2`)}
\t.section .gcc_except_table,"a",@progbits
.Ltable:
\t.byte 255, 3
\t.uleb128 .Lbase-.Lref
.Lref:
\t.byte 1
\t.uleb128 .Lactions-.Lsites
.Lsites:
\t.uleb128 .La-.Lbegin
\t.uleb128 .Lb-.La
\t.uleb128 .Lpad-.Lbegin
\t.byte 3
.Lactions:
\t.byte 127, 0
\t.byte 2, 125
\t.long _ZTIi
\t.long 0
.Lbase:
\t.byte 2, 1, 0
`;
    const object = readCodeObject(assemble(text.replace("\t.byte 2, 125", "\t.byte 2, 125, 1, 125")));
    const [info] = readFrameInfo(object);
    expect(info!.personality).toBe("__gxx_personality_v0");
    const sites = readCallSites(object, info!.table!.section, info!.table!.offset);
    expect(sites).toEqual([
      {
        start: 0,
        end: 5,
        pad: 6,
        actions: [
          { kind: "catch", type: "_ZTIi" },
          { kind: "filter", types: ["_ZTIi", ""] },
        ],
      },
    ]);
  });
  it("frames are read with states remembered and restored", () => {
    const code =
      "\tpushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_rel_offset %rbx, 0\n\t.cfi_remember_state\n\tpopq %rbx\n\t.cfi_restore %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_restore_state\n\tnop\n\tud2";
    const [info] = readFrameInfo(readCodeObject(assemble(`\t.text\n${fn("f", code)}`)));
    expect(info!.rows.map(({ start, offset, stored }) => [start, offset, [...stored]])).toEqual([
      [0, 8, []],
      [1, 16, [[3, -16]]],
      [2, 8, []],
      [3, 16, [[3, -16]]],
    ]);
  });
});
