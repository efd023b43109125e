/**
 * The table of flags: what clang's assembly shows for each, and that ours shows the same, or what is said instead. The
 * compiler in the package makes the bitcode; it has no code generator of this machine, so that what clang shows is
 * looked at where there is a clang of the version that the table was written by.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "@yowasp/clang";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

import { run } from "../tools/process.js";
import { findProgram } from "../tools/root.js";

const source = `
extern void sink(void *);
extern int (*pointer)(int);
extern int _setjmp(void *) __attribute__((returns_twice));
extern void *there;
int buffer(int n) { char text[32]; sink(text); return text[n]; }
int large(int n) { char text[20000]; sink(text); return text[n]; }
int huge(int n) { char text[200000]; sink(text); return text[n]; }
int dynamic(int n) { char *p = __builtin_alloca(n); sink(p); return p[0]; }
int indirect(int n) { return pointer(n) + 1; }
int tail(int n) { return pointer(n); }
int twice(void) { if (_setjmp(there)) return 1; sink(there); return 0; }
int leaf(int a, int b) { int v[4] = {a, b, a, b}; return v[a & 3]; }
static int closed(int a) { return a * 3; }
__attribute__((noinline)) static int listed(int a) { return a * 5; }
int (*list[])(int) = {listed};
int calls(int a) { return closed(a) + indirect(closed(a + 1)); }
int many(int x) {
  switch (x) {
    case 0: return indirect(1) * 3; case 1: return indirect(7) / 3; case 2: return indirect(4) ^ 2;
    case 3: return indirect(9) | 4; case 4: return indirect(31) - 9; case 5: return indirect(5) + 100;
  }
  return 0;
}
`;

interface Row {
  readonly flag: string;
  /** Of a function, or "" for the file: what both show. */
  readonly shows?: Readonly<Record<string, RegExp>>;
  /** What neither shows. */
  readonly lacks?: Readonly<Record<string, RegExp>>;
  /** Instead of code: what is said. */
  readonly says?: string;
}

const canary = {
  buffer:
    /movq\t%fs:40, %(\w+)[\s\S]*movq\t%\1, [-\d]+\(%r[sb]p\)[\s\S]*%fs:40[\s\S]*cmpq[\s\S]*__stack_chk_fail/,
};
const pages = /(?:subq\t\$4096, %rsp[^\n]*\n(?:\t\.cfi[^\n]*\n)?\tmovq\t\$0, \(%rsp\)\n[\s\S]*?){4}/;
/** A call, however it is written. */
const call = (what: string): RegExp => new RegExp(`callq?\\t${what}`);
/** A call or jump through r11 after a check of the type before it. */
const checked = (offset: number, jump = "callq?"): RegExp =>
  new RegExp(
    `movl\\t\\$(?:-329620|4294637676), %r10d[^\\n]*\\n\\taddl\\t-${offset}\\(%r11\\), %r10d\\n\\tje[\\s\\S]*ud2\n\\t\\.section\\t\\.kcfi_traps,"ao"[\\s\\S]*\\t${jump}\\t\\*%r11`,
  );
const entered = (what: string): RegExp =>
  new RegExp(`^[^:]*:[^\\n]*\\n(?:[.#\\s][^\\n]*\\n|\\t\\.cfi[^\\n]*\\n)*?\\t${what}`);

const rows: readonly Row[] = [
  { flag: "", lacks: { "": /%fs:40|endbr64|int3|retpoline|thunk|__fentry__|mcount|nops|\$0, \(%rsp\)/ } },
  { flag: "-fstack-protector", shows: canary, lacks: { leaf: /%fs/ } },
  { flag: "-fstack-protector-strong", shows: { ...canary, leaf: /%fs:40/ }, lacks: { indirect: /%fs/ } },
  { flag: "-fstack-protector-all", shows: { ...canary, indirect: /%fs:40[\s\S]*__stack_chk_fail/ } },
  {
    flag: "-fstack-protector-strong -mstack-protector-guard=global",
    shows: { buffer: /__stack_chk_guard[\s\S]*cmpq[\s\S]*__stack_chk_fail/ },
    lacks: { "": /%fs/ },
  },
  {
    flag: "-fstack-protector-strong -mstack-protector-guard-reg=gs -mstack-protector-guard-offset=80",
    shows: { buffer: /%gs:80[\s\S]*%gs:80/ },
  },
  {
    flag: "-fstack-protector-strong -mstack-protector-guard-symbol=guard",
    shows: { buffer: /guard@GOTPCREL\(%rip\), %(\w+)\n[\s\S]*%fs:\(%\1\)/ },
  },
  {
    flag: "-fcf-protection=full",
    shows: {
      buffer: entered("endbr64"),
      listed: entered("endbr64"),
      twice: /callq?\t_setjmp[^\n]*\n\tendbr64/,
      many: /notrack\s+jmpq?\t\*/,
      "": /\.note\.gnu\.property/,
    },
  },
  { flag: "-fcf-protection=branch", shows: { leaf: entered("endbr64") } },
  { flag: "-fcf-protection=return", shows: { "": /\.note\.gnu\.property/ }, lacks: { "": /endbr64/ } },
  {
    flag: "-fstack-clash-protection",
    shows: {
      large: pages,
      huge: /subq\t\$4096, %rsp[^\n]*\n\tmovq\t\$0, \(%rsp\)\n\tcmpq\t%\w+, %rsp\n\tjne/,
      dynamic:
        /xorq\t\$0, \(%rsp\)\n\tsubq\t\$4096, %rsp[^\n]*\n\tcmpq\t%rsp, %(\w+)\n\tjl[\s\S]*movq\t%\1, %rsp/,
    },
    lacks: { buffer: /\$0, \(%rsp\)/ },
  },
  { flag: "-fstack-clash-protection -mstack-probe-size=8192", shows: { large: /subq\t\$8192, %rsp/ } },
  { flag: "-mharden-sls=return", shows: { leaf: /retq?\n\tint3/ }, lacks: { tail: /int3/ } },
  { flag: "-mharden-sls=indirect-jmp", shows: { tail: /jmpq?\t\*[^\n]*\n\tint3/ }, lacks: { leaf: /int3/ } },
  { flag: "-mharden-sls=all", shows: { leaf: /retq?\n\tint3/, tail: /jmpq?\t\*[^\n]*\n\tint3/ } },
  {
    flag: "-mretpoline",
    shows: {
      indirect: /%r11\n\tcallq?\t__llvm_retpoline_r11/,
      tail: /%r11\n\tjmp\t__llvm_retpoline_r11/,
      "": /__llvm_retpoline_r11:[\s\S]*pause\n\tlfence[\s\S]*movq\t%r11, \(%rsp\)/,
    },
    lacks: { many: /jmpq?\t\*/ },
  },
  {
    flag: "-mretpoline -mretpoline-external-thunk",
    shows: { indirect: call("__x86_indirect_thunk_r11") },
    lacks: { "": /lfence/ },
  },
  {
    flag: "-mfunction-return=thunk-extern",
    shows: { leaf: /jmp\t__x86_return_thunk/ },
    lacks: { leaf: /\tretq?\n/ },
  },
  {
    flag: "-fzero-call-used-regs=used-gpr",
    shows: { leaf: /xorl\t%edi, %edi\n[\s\S]*ret/ },
    lacks: { leaf: /xorps/ },
  },
  { flag: "-fzero-call-used-regs=used-gpr-arg", shows: { leaf: /xorl\t%esi, %esi\n[\s\S]*ret/ } },
  {
    flag: "-fzero-call-used-regs=all",
    shows: {
      leaf: /(?:fldz\n\t){8}(?:fstp\t%st\(0\)\n\t){8}[\s\S]*xorl\t%r11d, %r11d[\s\S]*xorps\t%xmm15, %xmm15\n[\s\S]*ret/,
    },
    lacks: { leaf: /xorl\t%eax, %eax|xorl\t%ebx/ },
  },
  { flag: "-fzero-call-used-regs=skip", lacks: { leaf: /xorl\t%edi/ } },
  {
    flag: "-fpatchable-function-entry=5,2",
    shows: { "": /__patchable_function_entries,"awo",@progbits,leaf[\s\S]*\.quad/ },
  },
  { flag: "-pg", shows: { leaf: call("mcount") } },
  { flag: "-pg -mfentry", shows: { leaf: entered("callq?\\t__fentry__") } },
  {
    flag: "-finstrument-functions",
    shows: {
      leaf: /__cyg_profile_func_enter[\s\S]*__cyg_profile_func_exit/,
      closed: call("__cyg_profile_func_enter"),
    },
  },
  {
    flag: "-finstrument-functions-after-inlining",
    shows: { leaf: /__cyg_profile_func_enter[\s\S]*__cyg_profile_func_exit/ },
  },
  { flag: "-finstrument-function-entry-bare", shows: { leaf: call("__cyg_profile_func_enter_bare") } },
  {
    flag: "-fsanitize=function",
    shows: {
      "": /\.long\t(?:3238382334|-1056584962)[^\n]*\n\t\.long[^\n]*\nleaf:/,
      indirect: /cmpl\t\$-1056584962, -8/,
    },
  },
  {
    flag: "-fsanitize=kcfi",
    shows: {
      "": /__cfi_leaf:\n(?:\tnop\n|\t\.nops[^\n]*\n)+\tmovl\t\$1457894821, %eax[\s\S]*\nleaf:/,
      indirect: checked(4),
      tail: checked(4, "jmpq?"),
    },
  },
  { flag: "-fsanitize=kcfi -fpatchable-function-entry=5,3", shows: { indirect: checked(7) } },
  {
    flag: "-fsanitize=kcfi -mretpoline",
    shows: { tail: /-4\(%r11\), %r10d[\s\S]*jmp\t__llvm_retpoline_r11/ },
  },
  { flag: "-mno-red-zone", shows: { leaf: /(?:subq\t\$\d+, %rsp|push)/ }, lacks: { leaf: /-\d+\(%rsp/ } },
  {
    flag: "-mstackrealign",
    shows: { indirect: /movq\t%rsp, %rbp[\s\S]*andq\t\$-16, %rsp/, tail: /callq?\t\*/ },
  },
  { flag: "-fno-omit-frame-pointer", shows: { leaf: /pushq\t%rbp[\s\S]*movq\t%rsp, %rbp/ } },
  { flag: "-fno-jump-tables", lacks: { many: /jmpq?\t\*/ } },
  { flag: "-fno-optimize-sibling-calls", shows: { tail: /callq?\t\*/ } },

  { flag: "-fsanitize=kcfi -fsanitize-kcfi-arity", says: 'unsupported: module flag "kcfi-arity" = 1' },
  {
    flag: "-mcmodel=medium -mlarge-data-threshold=7",
    shows: { "": /\t\.section\t\.ldata,"awl",@progbits[\s\S]*\nlist:/ },
  },
  {
    flag: "-mcmodel=large -fno-pic",
    shows: {
      indirect: /movabsq\t\$pointer, %(\w+)[\s\S]*callq?\t\*/,
      buffer: /movabsq\t\$sink, %(\w+)\n[\s\S]*callq?\t\*%\1/,
      many: /movabsq\t\$\.LJTI[^\n]*, %(\w+)\n\tjmpq?\t\*\(%\1,%\w+,8\)/,
      "": /\t\.section\t\.ldata,"awl",@progbits[\s\S]*\nlist:/,
    },
    lacks: { "": /callq?\t[a-z_]|\(%rip\)/ },
  },
  {
    flag: "-mcmodel=large -fpic",
    shows: {
      leaf: /ret/,
      indirect: /movabsq\t\$_GLOBAL_OFFSET_TABLE_-[^\n]*\n\taddq[\s\S]*movabsq\t\$pointer@GOT, /,
      buffer: /movabsq\t\$sink@GOT, %(\w+)\n[\s\S]*callq?\t\*/,
    },
    lacks: { leaf: /_GLOBAL_OFFSET_TABLE_/, "": /callq?\t[a-z_]|(?:[a-z]{3}|PCREL)\(%rip\)/ },
  },
  {
    flag: "-mcmodel=large -fno-pic -fcf-protection=branch",
    shows: { leaf: entered("endbr64"), listed: entered("endbr64") },
  },
  {
    flag: "-mcmodel=kernel -fno-pic -mno-red-zone -fstack-protector",
    shows: { buffer: /movq\t%gs:40, %/, many: /jmpq?\t\*\.LJTI[^\n]*\(,%r\w+,8\)/ },
    lacks: { "": /%fs|movl\t\$[a-zA-Z_.]/ },
  },
  { flag: "-fsplit-stack", says: 'unsupported: attribute "split-stack"' },
  { flag: "-fxray-instrument", says: 'unsupported: attribute "xray-instruction-threshold"="200"' },
  { flag: "-fsanitize=safe-stack", says: "unsupported: attribute safestack" },
  { flag: "-fsanitize=shadow-call-stack", says: "unsupported: attribute shadowcallstack" },
  { flag: "-mspeculative-load-hardening", says: "unsupported: attribute speculative_load_hardening" },
  { flag: "-mlvi-cfi", says: "unsupported: target feature +lvi-cfi" },
  { flag: "-mlvi-hardening", says: "unsupported: target feature +lvi-load-hardening" },
  { flag: "-mseses", says: "unsupported: target feature +seses" },
  { flag: "-mindirect-branch-cs-prefix", says: 'unsupported: module flag "indirect_branch_cs_prefix" = 1' },
  {
    flag: "-mstack-alignment=64",
    // LLVM's counts on its callers.
    shows: { indirect: /(?:andq\t\$-64, %rsp|subq\t\$56, %rsp)[\s\S]*callq?\t\*/ },
    lacks: { leaf: /andq/ },
  },
  { flag: "-mstack-alignment=8", says: 'unsupported: module flag "override-stack-alignment" = 8' },
  { flag: "-mno-implicit-float", says: "unsupported: attribute noimplicitfloat" },
  { flag: "-mno-sse", says: "unsupported: target feature -sse" },
  { flag: "-fms-hotpatch", says: 'unsupported: attribute "patchable-function"="prologue-short-redirect"' },
];

const folder = temporaryFolder();
const silent = { stderr: () => {}, stdout: () => {}, fetchProgress: () => {} };

async function bitcode(flags: readonly string[]): Promise<Uint8Array> {
  const args = ["-target", "x86_64-linux-gnu", "-O2", ...flags, "-emit-llvm", "-c", "a.c", "-o", "a.bc"];
  const output = await commands["clang"]!(args, { "a.c": source }, silent);
  return output!["a.bc"] as Uint8Array;
}

const reference = findProgram("clang-22");

async function clangAssembly(clang: string, flags: readonly string[]): Promise<string> {
  writeFileSync(join(folder, "a.c"), source);
  const args = [
    "-target",
    "x86_64-linux-gnu",
    "-O2",
    ...flags,
    "-S",
    join(folder, "a.c"),
    "-o",
    join(folder, "clang.s"),
  ];
  const compiled = await run([clang, ...args]);
  expect(compiled.status).toBe(0);
  return readFileSync(join(folder, "clang.s"), "utf8");
}

/** The text of a function; of the file for "". */
function part(text: string, name: string): string {
  if (name === "") return text;
  return new RegExp(`^${name}:[\\s\\S]*?^\\t\\.size\\t${name},`, "m").exec(text)?.[0] ?? "";
}

describe.each(rows)("clang $flag", ({ flag, shows = {}, lacks = {}, says }) => {
  const flags = flag.split(" ").filter((word) => word !== "");
  it(says === undefined ? "shows what clang shows" : "is refused", { timeout: 60_000 }, async () => {
    const file = join(folder, "a.bc");
    writeFileSync(file, await bitcode(flags));
    const checks = ["--verify", "--check-ipra", "--check-regalloc", "--check-packing"];
    const ours = await tscLto([file, "-r", ...checks, "-o", "-"], { cwd: folder });
    if (says !== undefined) {
      expect(ours.code).toBe(1);
      expect(ours.err).toContain(`${says}`);
      return;
    }
    expect(ours.err.replace(/.*not checked: @code outside of functions.*\n/g, "")).toBe("");
    const texts = [["ours", ours.out]];
    if (reference !== undefined) texts.push(["clang's", await clangAssembly(reference, flags)]);
    for (const [who, text] of texts as [string, string][]) {
      for (const [name, pattern] of Object.entries(shows))
        expect(part(text, name), `${who}, ${name}`).toMatch(pattern);
      for (const [name, pattern] of Object.entries(lacks)) {
        expect(part(text, name), `${who}, ${name}`).not.toBe("");
        expect(part(text, name), `${who}, ${name}`).not.toMatch(pattern);
      }
    }
    writeFileSync(join(folder, "a.s"), ours.out);
    const assembled = await run(["cc", "-c", join(folder, "a.s"), "-o", join(folder, "a.o")]);
    expect(assembled.stderr).toBe("");
  });
});
