/**
 * Each reason for which a function keeps to the convention, or a mask is wider than its body, taken away: the
 * checker or an assertion has to notice. Beside each, the same program compiled in earnest passes.
 */

import { describe, expect, it } from "vitest";
import { type MFunction, unlistedCall } from "../../lto/codegen/mir.js";
import type { FunctionFacts } from "../../lto/codegen/program/facts.js";
import {
  hasRegister,
  isEmptySet,
  minus,
  noRegisters,
  type RegisterSet,
  withoutRegister,
} from "../../lto/codegen/register-set.js";
import { callClobbers, calleeSavedMask, maskOf, R8, R14, RBX, RCX } from "../../lto/x64/isa/registers.js";
import { type Compiled, check, compile, type Lies, link } from "./compile.js";

const declarations = `
declare i64 @ext(i64)
declare void @sink(ptr)
`;
/** Writes a callee-saved register: its parameter lives across a call of unknown code. */
const writer = (name: string, linkage = "internal", attributes = ""): string => `
define ${linkage} i64 @${name}(i64 %x) ${attributes} {
  %a = call i64 @ext(i64 %x)
  %r = add i64 %a, %x
  ret i64 %r
}
`;
/** A leaf that changes few registers. */
const leaf = (name: string, linkage = "internal"): string => `
define ${linkage} i64 @${name}(i64 %x) {
  %r = mul i64 %x, %x
  ret i64 %r
}
`;
/** Keeps its parameter across a call of `callee`. */
const keeper = (name: string, callee: string, linkage = "internal"): string => `
define ${linkage} i64 @${name}(i64 %x) {
  %a = call i64 @${callee}(i64 %x)
  %r = add i64 %a, %x
  ret i64 %r
}
`;
const mainCalling = (callee: string): string => `
define i64 @main(i64 %n) {
  %r = call i64 @${callee}(i64 %n)
  ret i64 %r
}
`;

/** Calls its first parameter and keeps the second one across the call. */
const pointerSite = `
define internal i64 @site(ptr %p, i64 %x) noinline {
  %a = call i64 %p(i64 %x)
  %r = add i64 %a, %x
  ret i64 %r
}
`;
const mainPassing = `
define i64 @main(i64 %n) {
  %a = call i64 @site(ptr @f, i64 %n)
  %b = call i64 @site(ptr @g, i64 %a)
  ret i64 %b
}`;

interface Case {
  readonly title: string;
  readonly text: string;
  readonly lies: Lies;
  /** What the report must say. */
  readonly says: RegExp;
  readonly options?: Parameters<typeof compile>[1];
  readonly shared?: boolean;
}

const dropCalls = (of: string, keep: (call: FunctionFacts["calls"][number]) => boolean): Lies => ({
  facts: (name, facts) => (name === of ? { ...facts, calls: facts.calls.filter(keep) } : facts),
});
const forget = (of: string, registers: RegisterSet): Lies => ({
  facts: (name, facts) => (name === of ? { ...facts, written: minus(facts.written, registers) } : facts),
});
const nothingLive: Lies = {
  facts: (_, facts) => ({ ...facts, calls: facts.calls.map((c) => ({ ...c, liveAcross: noRegisters })) }),
};

const cases: Case[] = [
  {
    title: "condition 1: a function that is not local preserves",
    text: `${declarations}${writer("f", "dso_local")}${mainCalling("f")}`,
    shared: true,
    options: { relocation: "pic" },
    lies: { open: () => false },
    says: /@f: %rbx not preserved, though unknown code/,
  },
  {
    title: "condition 2: a function whose address is taken preserves",
    text: `${declarations}${writer("f")}
define i64 @main(i64 %n) {
  call void @sink(ptr @f)
  %r = call i64 @f(i64 %n)
  ret i64 %r
}`,
    lies: { open: (name, open) => open && name !== "f" },
    says: /@f: %rbx not preserved, though unknown code/,
  },
  {
    title: "condition 3: what is kept across a recursive call",
    text: `${declarations}
define internal i64 @f(i64 %x) {
  %done = icmp slt i64 %x, 2
  br i1 %done, label %end, label %more
more:
  %y = sub i64 %x, 1
  %a = call i64 @f(i64 %y)
  %b = call i64 @ext(i64 %x)
  %r = add i64 %a, %b
  ret i64 %r
end:
  ret i64 %x
}
${mainCalling("f")}`,
    lies: nothingLive,
    says: /@f\+\w+: call of @f changes %rbx.*keeps a value/,
  },
  {
    title: "condition 3: every member of a recursive component publishes what all change",
    text: `${declarations}
define internal i64 @even(i64 %x) {
  %done = icmp eq i64 %x, 0
  br i1 %done, label %end, label %more
more:
  %y = sub i64 %x, 1
  %r = call i64 @odd(i64 %y)
  ret i64 %r
end:
  ret i64 1
}
define internal i64 @odd(i64 %x) {
  %done = icmp eq i64 %x, 0
  br i1 %done, label %end, label %more
more:
  call void asm sideeffect "xorl %r8d, %r8d", "~{r8},~{r9}"()
  %y = sub i64 %x, 1
  %r = call i64 @even(i64 %y)
  ret i64 %r
end:
  ret i64 0
}
${keeper("top", "even")}${mainCalling("top")}`,
    // As if members did not call each other.
    lies: { published: (name, mask) => (name === "even" ? withoutRegister(mask, R8) : mask) },
    says: /call of @even changes %r8, which the caller was told it preserves/,
  },
  {
    title: "condition 4: a tail call takes the frame away, so its caller cannot save for it",
    text: `${declarations}
define internal i64 @f(i64 %x) {
  call void asm sideeffect "xorl %ebx, %ebx; xorl %r14d, %r14d", "~{rbx},~{r14},~{flags}"()
  %r = call i64 @ext(i64 %x)
  ret i64 %r
}
define internal i64 @jumps(i64 %x) {
  %r = musttail call i64 @f(i64 %x)
  ret i64 %r
}
${keeper("top", "jumps")}${keeper("other", "f")}
define i64 @main(i64 %n) {
  %a = call i64 @top(i64 %n)
  %r = add i64 %a, %n
  ret i64 %r
}`,
    lies: {
      facts: (_, facts) => ({ ...facts, calls: facts.calls.map((c) => ({ ...c, tail: false })) }),
      saved: (name, saves) => (name === "f" ? noRegisters : name === "jumps" ? maskOf(RBX, R14) : saves),
    },
    says: /changes %(rbx|r14)/,
  },
  {
    title: "bug 1: the frame pointer is kept across calls, though no operand shows it",
    text: `${declarations}
define internal i64 @greedy(i64 %x) {
  call void asm sideeffect "", "~{rbp},~{rbx}"()
  ret i64 %x
}
define i64 @main(i64 %n) {
  %p = alloca i8, i64 %n, align 64
  call void @sink(ptr %p)
  %r = call i64 @greedy(i64 %n)
  call void @sink(ptr %p)
  ret i64 %r
}`,
    lies: nothingLive,
    says: /changes the register the frame is addressed by/,
  },
  {
    title: "bug 4: registers that inline assembly clobbers",
    text: `${declarations}
define internal i64 @f(i64 %x) {
  call void asm sideeffect "xorl %ebx, %ebx", "~{rbx}"()
  ret i64 %x
}
${keeper("top", "f")}${mainCalling("top")}`,
    lies: forget("f", maskOf(RBX)),
    says: /call of @f changes %rbx, which the caller was told it preserves/,
  },
  {
    title: "bug 5: masks are not narrowed through the PLT",
    text: `${leaf("f", "")}${keeper("g", "f", "")}`,
    shared: true,
    options: { relocation: "pie" },
    lies: {},
    says: /@g\+\w+: call of @f changes .*told it preserves/,
  },
  {
    title: "bug 7: what a tail call changes counts as changed by its caller",
    text: `${declarations}${leaf("wide").replace("%r =", 'call void asm sideeffect "xorl %ecx, %ecx", "~{r8},~{rcx}"()\n  %r =')}
define internal i64 @jumps(i64 %x) {
  %r = musttail call i64 @wide(i64 %x)
  ret i64 %r
}
${keeper("top", "jumps")}${mainCalling("top")}`,
    lies: dropCalls("jumps", (call) => !call.tail),
    says: /call of @jumps changes .*%rcx.*, which the caller was told it preserves/,
  },
  {
    title: "bug 8: a callee that calls back into its caller",
    text: `${declarations}${leaf("inner")}
define internal i64 @a(i64 %x) {
  %c = icmp sgt i64 %x, 0
  br i1 %c, label %more, label %end
more:
  %y = sub i64 %x, 1
  %r = call i64 @b(i64 %y)
  %s = add i64 %r, %x
  ret i64 %s
end:
  ret i64 0
}
define internal i64 @b(i64 %x) {
  %r = call i64 @a(i64 %x)
  %t = call i64 @ext(i64 %r)
  %s = add i64 %t, %x
  ret i64 %s
}
${mainCalling("a")}`,
    lies: nothingLive,
    says: /keeps a value/,
  },
  {
    title: "bug 10: a definition that may be replaced is no source of masks",
    text: `${leaf("f", "weak")}${keeper("g", "f", "")}`,
    shared: true,
    options: { relocation: "pie" },
    lies: { exact: ["f"] },
    says: /@g\+\w+: call of @f changes .*told it preserves/,
  },
  {
    title: "pointers: a closed function lets go only of what no call that may reach it keeps",
    text: `${declarations}${writer("f")}${writer("g")}${pointerSite}${mainPassing}`,
    lies: {
      facts: (_, facts) => ({ ...facts, calls: facts.calls.map((c) => ({ ...c, liveAcross: noRegisters })) }),
    },
    says: /call of a pointer changes %rbx.*keeps a value/,
  },
  {
    title: "pointers: what the callees change is changed by a call of one of them",
    text: `${declarations}${leaf("f")}${leaf("g").replace("%r =", 'call void asm sideeffect "xorl %r8d, %r8d", "~{r8}"()\n  %r =')}${pointerSite}${mainPassing}`,
    lies: { published: (name, mask) => (name === "g" ? withoutRegister(mask, R8) : mask) },
    says: /call of a pointer changes %r8, which the caller was told it preserves/,
  },
  {
    title: "pointers: a call that may reach more than is known changes all that the convention allows",
    text: `${declarations}declare ptr @give()\n${leaf("f")}${pointerSite}
define i64 @main(i64 %n) {
  %p = call ptr @give()
  %a = call i64 @site(ptr @f, i64 %n)
  %b = call i64 @site(ptr %p, i64 %a)
  ret i64 %b
}`,
    lies: {
      indirect: (known) => ({ ...known, sets: known.sets.map((set) => ({ ...set, unknown: false })) }),
    },
    says: /call of a pointer changes .*%r8.*, which the caller was told it preserves/,
  },
  {
    title: "pointers: a function whose address gets out preserves",
    text: `${declarations}${writer("f")}${writer("g")}${pointerSite.replace("%a, %x", "%a, 1")}${mainPassing.replace("%a =", "call void @sink(ptr @f)\n  %a =")}`,
    lies: { open: (name, open) => open && name !== "f" },
    says: /@f: %rbx not preserved, though unknown code/,
  },
  {
    title: "a call of unknown code changes all that the convention allows",
    text: `${declarations}${writer("f")}${keeper("top", "f")}${mainCalling("top")}`,
    lies: { published: (name, mask) => (name === "f" ? withoutRegister(mask, RCX) : mask) },
    says: /call of @f changes %rcx, which the caller was told it preserves/,
  },
];

function reportOf(c: Case, lies: Lies): string {
  let compiled: Compiled;
  try {
    compiled = compile(link(c.text, c.shared === true ? "shared" : "executable"), c.options, lies);
  } catch (e) {
    return String(e);
  }
  return check(compiled, c.shared === true).violations.join("\n");
}

describe("exclusions", () => {
  for (const c of cases) {
    it(c.title, () => {
      const honest = { ...c, options: c.shared === true ? { relocation: "pic" as const } : {} };
      expect(reportOf(honest, {})).toBe("");
      expect(reportOf(c, c.lies)).toMatch(c.says);
    });
  }
});

it("a call through a pointer that was made anew may be any of those that are listed", () => {
  const text = `${declarations}declare ptr @give()\n${writer("f")}
define internal i64 @site(ptr %p, i64 %x) noinline {
  %q = call ptr @give()
  %a = call i64 %p(i64 %x)
  %b = call i64 %q(i64 %x)
  %s = add i64 %a, %b
  %r = add i64 %s, %x
  ret i64 %r
}
define i64 @main(i64 %n) {
  %a = call i64 @site(ptr @f, i64 %n)
  %r = add i64 %a, %n
  ret i64 %r
}`;
  /** Makes the calls of `@site` as if the pass that made them knew no sets. */
  const forgetting =
    (set: number) =>
    (mf: MFunction): void => {
      let calls = 0;
      for (const { insts } of mf.blocks)
        for (const inst of insts)
          if (inst.extra?.kind === "call" && inst.extra.callee === null && mf.name === "site") {
            calls++;
            if (inst.extra.calleeSet >= 0) inst.extra = { ...inst.extra, calleeSet: set };
          }
      if (mf.name === "site") expect(calls).toBe(2);
    };
  const violations = (set: number): string => {
    const { assembly, claims } = compile(link(text), {}, { selected: forgetting(set) });
    const told = claims.map((claim) => ({
      ...claim,
      sites: claim.sites!.map((site, i) =>
        claim.symbol === "site" && i === 1 ? { ...site, targets: ["f"] } : site,
      ),
    }));
    return check({ assembly, claims: told }).violations.join();
  };
  expect(violations(unlistedCall)).toBe("");
  expect(violations(-1)).toMatch(/@site.*: call of a pointer changes %rbx, which the caller was told/);
});

describe("dropped saves", () => {
  const text = `${declarations}${writer("f")}${keeper("top", "f")}${mainCalling("top")}`;

  it("a push and its pop left out of the assembly", () => {
    const { assembly, claims } = compile(link(text), { ipra: false });
    expect(check({ assembly, claims }).violations).toEqual([]);
    const without = assembly
      .replace(/\tpushq\t%rbx\n/, "\tpushq\t%rax\n")
      .replace(/\tpopq\t%rbx\n/, "\tpopq\t%rcx\n");
    expect(without).not.toBe(assembly);
    expect(check({ assembly: without, claims }).violations.join("\n")).toMatch(/%rbx/);
  });

  it("any register that any function saves", () => {
    const names: string[] = [];
    const note = (name: string, saves: RegisterSet): RegisterSet => {
      if (!isEmptySet(saves)) names.push(name);
      return saves;
    };
    compile(link(text), {}, { saved: note });
    expect(names.length).toBeGreaterThan(0);
    for (const dropped of names) {
      const compiled = compile(
        link(text),
        {},
        { saved: (name, saves) => (name === dropped ? noRegisters : saves) },
      );
      expect(check(compiled).violations).not.toEqual([]);
    }
  });

  it("masks: no register of a mask that is relied on may go missing", () => {
    let found = 0;
    for (let r = 0; r < 32; r++) {
      if (!hasRegister(callClobbers, r) || hasRegister(calleeSavedMask, r)) continue;
      const compiled = compile(
        link(text),
        {},
        { published: (name, m) => (name === "f" ? withoutRegister(m, r) : m) },
      );
      if (check(compiled).violations.length > 0) found++;
    }
    expect(found).toBe(25);
  });
});
