/**
 * Functions that assembly mentions can be entered by unknown code: they are open, and their addresses are known to
 * everybody. `@f` is only called directly, `@target` only through the pointer that `@site` gets.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule } from "../../formats/text/index.js";
import { summarizeModule, updatedSummary } from "../../lto/analysis/summary.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import { finish } from "../../lto/ir/steps.js";
import { buildCallGraph, defaultLinkOptions, linkModules } from "../../lto/link/index.js";
import { x64Target } from "../../lto/x64/target.js";
import { check, codegenOptions, compile, link } from "./compile.js";

interface Mention {
  readonly title: string;
  /** Lines of `module asm`. */
  readonly asm?: readonly string[];
  /** Template of inline assembly in `@uses`. */
  readonly template?: string;
  /** What stands for `@f` and `@target`. */
  readonly f?: string;
  readonly target?: string;
  readonly linkage?: string;
}

const quote = (text: string): string => `"${text.replace(/[\\"]/g, (c) => (c === '"' ? "\\22" : "\\5C"))}"`;

function program({
  asm = [],
  template = "nop",
  f = "@f",
  target = "@target",
  linkage = "internal",
}: Mention): string {
  return `
${asm.map((line) => `module asm ${quote(line)}`).join("\n")}
define ${linkage} i64 ${f}(i64 %x) noinline {
  %r = add i64 %x, 1
  ret i64 %r
}
define ${linkage} i64 ${target}(i64 %x) noinline {
  %r = add i64 %x, 2
  ret i64 %r
}
define internal i64 @site(ptr %p, i64 %x) noinline {
  %r = call i64 %p(i64 %x)
  ret i64 %r
}
define void @uses() {
  call void asm sideeffect ${quote(template)}, ""()
  ret void
}
define i64 @main(i64 %n) {
  call void @uses()
  %a = call i64 ${f}(i64 %n)
  %b = call i64 @site(ptr ${target}, i64 %a)
  ret i64 %b
}`;
}

/** Names of the functions that only listed calls enter. */
function closed(text: string): string[] {
  const { module, summary } = link(text);
  const { open } = finish(planProgram(module, summary, codegenOptions, x64Target, bodyCodec()));
  return definedFunctions(module)
    .map((fn) => fn.name)
    .filter((_, i) => open[i] === 0);
}

const mentions: Mention[] = [
  { title: "module asm", asm: ["jmp f", ".quad target"] },
  { title: "module asm, of functions that are not local", asm: ["jmp f", ".quad target"], linkage: "" },
  { title: "quoted names", asm: ['jmp "f"', '.quad "target"'] },
  { title: "quoted names of functions that are not local", asm: ['jmp "f"', '.quad "target"'], linkage: "" },
  { title: "names that need quotes", asm: ['jmp "f g"', '.quad "a-b"'], f: '@"f g"', target: '@"a-b"' },
  { title: "macros", asm: [".macro m n", "jmp \\n", ".endm"] },
  { title: "macros, of functions that are not local", asm: [".irp n, 1", "jmp f\\n", ".endr"], linkage: "" },
  { title: "what is included", asm: ['.include "x.s"'] },
  { title: "after a character constant", asm: ["movb $'#, %al; jmp f; .quad target"] },
  { title: "names that begin with a dot", asm: ["jmp .f", ".quad .target"], f: "@.f", target: "@.target" },
  { title: "private names", asm: ["jmp .Lf", ".quad .Ltarget"], linkage: "private" },
  { title: "printed names", asm: ["jmp f", ".quad target"], f: '@"\\01f"', target: '@"\\01target"' },
  {
    title: "printed names of private functions",
    asm: ["jmp f", ".quad target"],
    f: '@"\\01f"',
    target: '@"\\01target"',
    linkage: "private",
  },
  { title: "inline assembly", template: "call f; leaq target(%rip), %rax" },
  { title: "alternatives of dialects", template: "$(call f$|call no$); $(leaq target(%rip)$|no$), %rax" },
  { title: "quoted names in inline assembly", template: 'call "f"; lea "target"(%rip), %rax' },
  { title: "macros in inline assembly", template: ".macro m n; call \\n; .endm; m f" },
  { title: "private names in inline assembly", template: "call .Lf; jmp .Ltarget", linkage: "private" },
];

describe("functions that assembly mentions are open", () => {
  it("but no others", () => {
    const f = { asm: ["nop", '.ascii "call f, target"', "# call f, target"], template: "nop # f, target" };
    expect(closed(program({ title: "", ...f }))).toEqual(["f", "target", "site", "uses"]);
  });
  for (const mention of mentions)
    it(mention.title, () => {
      const found = closed(program(mention));
      // Macros may mean `@site`, too.
      expect(found.filter((name) => name !== "site" && name !== "uses")).toEqual([]);
    });
});

it("what inline assembly mentions stays open when its function is edited", () => {
  const { module, summary } = link(program({ title: "", template: "call f; lea target(%rip), %rax" }));
  for (const fn of module.functions) if (!fn.isDeclaration) fn.rewrite();
  for (const now of [updatedSummary(module, summary), summarizeModule(module)]) {
    const graph = buildCallGraph(now);
    const opened = module.globals.filter((_, i) => graph.openToCallers[graph.nodeOf[i]!] === 1);
    expect(opened.map((fn) => fn.name)).toEqual(["f", "target", "main"]);
  }
});

describe("the checker holds what is said to be closed against the assembly", () => {
  const seals = (mention: Mention): string =>
    check(compile(link(program(mention)), {}, { open: (name, open) => open && !/^[.]?[ft]|^a-b/.test(name) }))
      .violations.filter((text) => text.includes("assembly mentions it"))
      .map((text) => text.replace(/:.*/, ""))
      .sort()
      .join(" ");

  it("compiled code may mention it", () => {
    expect(seals({ title: "" })).toBe("");
  });
  it.each([
    ["module asm", { asm: ["jmp f", ".quad target"] }],
    ["quoted names", { asm: ['jmp "f"', '.quad "target"'] }],
    ["macros", { asm: [".macro m n", "jmp \\n", ".quad target", ".endm", "m f"] }],
    [
      "a function of its own",
      { asm: [".type t,@function", "t: call f; lea target(%rip), %rax; ret", ".size t, .-t"] },
    ],
    ["data", { asm: [".data", ".quad f, target"] }],
    ["a distance", { asm: [".data", "d: .long f - ., target - ."] }],
    ["inline assembly", { template: "call f; leaq target(%rip), %rax" }],
    ["alternatives of dialects", { template: "$(call f$|call no$); $(leaq target(%rip)$|no$), %rax" }],
    ["macros in inline assembly", { template: ".irp n,f\n call \\n\n.endr\n lea target(%rip), %rax" }],
  ])("%s", (title, mention) => {
    expect(seals({ title, ...mention })).toBe("@f @target");
  });
  it("padding after the assembly's last jump is no way into the function there, what is entered is", () => {
    const last = (...lines: string[]): string => seals({ title: "", asm: ["t: jmp away@PLT", ...lines] });
    expect(last(".p2align 4")).toBe("");
    expect(last("u: .p2align 4")).toBe("@f");
    expect(last("movl $1, %eax", ".p2align 4")).toBe("@f");
    expect(last("jmp 1f", "int3", "1: .p2align 4")).toBe("@f");
  });
});

describe("names in assembly that stand for a local of several files", () => {
  const linked = (...texts: string[]): string => {
    const inputs = texts.map(
      (text, i) => ({ kind: "module", module: parseModule(text, `${i}.ll`) }) as const,
    );
    const { diagnostics } = finish(linkModules(inputs, { ...defaultLinkOptions, entry: "main" }));
    return diagnostics.map((d) => d.message).join("\n");
  };
  const file = (main: string, asm: string): string => `
define internal i64 @f(i64 %x) noinline {
  ret i64 %x
}
define i64 @${main}(i64 %n) {
  ${asm}
  %a = call i64 @f(i64 %n)
  ret i64 %a
}`;
  const user = file("main", "%x = call i64 @other(i64 1)\ndeclare i64 @other(i64)".split("\n")[0]!).concat(
    "\ndeclare i64 @other(i64)",
  );
  it("inline assembly", () => {
    expect(linked(user, file("other", ""))).toBe("");
    expect(() => linked(user, file("other", 'call void asm sideeffect "call f", ""()'))).toThrow(
      "local symbol 'f' is mentioned by inline assembly in @other, but its name is not unique",
    );
  });
  it("macros mean either", () => {
    expect(linked(user, `module asm ".macro m"\nmodule asm ".endm"\n${file("other", "")}`)).toBe("");
  });
});

it("a declaration that prints as a local definition is that definition", () => {
  const text = `
define internal i64 @f(i64 %x) noinline {
  ret i64 %x
}
declare i64 @"\\01f"(i64)
define i64 @main(i64 %n) {
  %a = call i64 @f(i64 %n)
  %b = call i64 @"\\01f"(i64 %a)
  ret i64 %b
}`;
  const { assembly } = compile(link(text));
  expect(assembly.match(/(call|jmp)\tf\b/g)).toHaveLength(2);
});

it("a trampoline in assembly keeps its callers' registers", () => {
  // What `@plain` may change is known to its direct callers, not to those that come through `tramp`.
  const text = `
module asm ".globl tramp"
module asm "tramp: jmp plain"
declare i64 @tramp(i64)
@seen = global i64 0
define internal i64 @plain(i64 %x) noinline {
  call void asm sideeffect "xorl %ebx, %ebx; xorl %r14d, %r14d", "~{rbx},~{r14},~{flags}"()
  store volatile i64 %x, ptr @seen
  %r = add i64 %x, 1
  ret i64 %r
}
define i32 @main(i32 %n, ptr %v) {
  %x = sext i32 %n to i64
  %k = mul i64 %x, 7
  %l = mul i64 %x, 9
  %a = call i64 @plain(i64 %x)
  %b = call i64 @tramp(i64 %x)
  %s = add i64 %k, %l
  %t = add i64 %s, %b
  %c = icmp eq i64 %t, 18
  %r = select i1 %c, i32 0, i32 1
  ret i32 %r
}`;
  const compiled = compile(link(text));
  expect(check(compiled).violations).toEqual([]);
  const dir = mkdtempSync(join(tmpdir(), "tramp-"));
  try {
    writeFileSync(join(dir, "a.s"), compiled.assembly);
    execFileSync("cc", [join(dir, "a.s"), "-o", join(dir, "a")]);
    execFileSync(join(dir, "a"));
  } finally {
    rmSync(dir, { recursive: true });
  }
});

const described = (attributes: string, flag: string, asm: string): string => `
module asm "${asm}"
define internal i64 @f(i64 %x) noinline ${attributes} !kcfi_type !0 {
  %r = mul i64 %x, 3
  ret i64 %r
}
define i64 @main(i64 %n) ${attributes} !kcfi_type !0 {
  %a = call i64 @f(i64 %n)
  %b = call i64 @f(i64 %a)
  ret i64 %b
}
!llvm.module.flags = !{${flag}}
!0 = !{i32 1234}
!1 = !{i32 4, !"kcfi", i32 1}`;

const patched = '"patchable-function-entry"="3"';
it.each([
  ["places to patch", patched, ""],
  ["places to patch, some before the entry", `${patched} "patchable-function-prefix"="2"`, ""],
  ["numbers of types", "", "!1"],
  ["both", `${patched} "patchable-function-prefix"="2"`, "!1"],
])("what a function says of itself is no mention, but others hide behind none: %s", (_, attributes, flag) => {
  const sealed = { open: (name: string, open: boolean) => open && name !== "f" };
  const violations = (asm: string): readonly string[] =>
    check(compile(link(described(attributes, flag, asm)), {}, sealed)).violations;
  expect(violations("nop")).toEqual([]);
  expect(violations(".data; .quad f; .text")).toEqual([
    "@f: assembly mentions it, though unknown code is said not to enter the function",
  ]);
});
