/** The IPRA checker on assembly written for it: what is right passes, each kind of wrong is found. */
import { describe, expect, it } from "vitest";
import { type CheckReport, checkObject } from "../../formats/code/check.js";
import type { FunctionClaim, SiteClaim } from "../../formats/code/claims.js";
import { assemble } from "./compile.js";

const [RAX, RCX, RDX, RBX, RBP, RSI, RDI, R12] = [0, 1, 2, 3, 5, 6, 7, 12].map((r) => 1 << r) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
const convention = ~[3, 4, 5, 12, 13, 14, 15].reduce((m, r) => m | (1 << r), 0);

/** A function's code between its symbol and its size. */
const fn = (name: string, code: string, binding = "local"): string =>
  `\t.${binding === "local" ? "local" : binding}\t${name}\n\t.type\t${name},@function\n${name}:\n${code}\n\t.size\t${name}, .-${name}\n`;
const global = (name: string, code: string): string => fn(name, code, "globl");

function run(text: string, claims: readonly FunctionClaim[] = [], interposable = false): CheckReport {
  return checkObject(assemble(`\t.text\n${text}`), claims, { interposable });
}
const call = (callee: string | null, clobbers: number, fields: Partial<SiteClaim> = {}): SiteClaim => ({
  kind: "call",
  callee,
  targets: null,
  clobbers,
  results: 0,
  arguments: 0,
  returns: true,
  throws: true,
  ...fields,
});
const claim = (symbol: string, sites: SiteClaim[], results = 0): FunctionClaim => ({
  symbol,
  sites,
  results,
  undefinedRegisters: 0,
  closed: false,
  sealed: false,
  outlined: false,
  unwind: "none",
});

it("a probe of the stack leaves what is saved there", () => {
  const saved = (probe: string): string[] => [
    ...run(global("f", `pushq %rbx\n${probe}\nmovl $1, %ebx\npopq %rbx\nret`)).violations,
  ];
  for (const name of ["xor", "or", "add", "sub"]) expect(saved(`${name}q $0, (%rsp)`), name).toEqual([]);
  for (const change of ["xorq $1, (%rsp)", "andq $0, (%rsp)", "movq $0, (%rsp)", "adcq $0, (%rsp)"])
    expect(saved(change), change).toHaveLength(1);
});

it("of what is stored in the frame only the lowest part counts, whatever register leads there", () => {
  const stored = (address: string): string[] => [
    ...run(
      `${global("f", `subq $152, %rsp\nleaq 128(%rsp), %rcx\ncall g\nsete %al\nmovl %eax, ${address}\naddq $152, %rsp\nret`)}${fn("g", "cmpl $1, %edi\nmovl $7, %eax\nret")}`,
      [claim("f", [call("g", RAX)])],
    ).violations,
  ];
  expect(stored("8(%rsp)")).toEqual([]);
  expect(stored("-16(%rcx)")).toEqual([]);
  expect(stored("-16(%rdi)")).toHaveLength(1);
});

describe("who is mentioned", () => {
  it("functions whose distance from where it stands a table holds", () => {
    const code = `${global("main", "leaq t(%rip), %rax\nret")}${fn("a", "nop\nnop\nnop\nret")}${fn("b", "ret")}`;
    const data =
      '\t.section .rodata\nt:\n\t.long s-t, b-t-4\n\t.section .rodata.str1.1,"aMS",@progbits,1\ns:\t.asciz "s"\n';
    const violations = (closed: string): string[] =>
      checkObject(assemble(`\t.text\n${code}${data}`), [{ ...claim(closed, []), sealed: true }], {
        interposable: false,
        mentions: new Map(),
      }).violations.slice();
    // Four bytes further on in the table, and as much after its start.
    expect(violations("a")).toEqual([]);
    expect(violations("b").join()).toContain("@b: assembly mentions it");
  });
});

describe("what a function changes", () => {
  const changes = (code: string, more = ""): number | undefined =>
    run(`${fn("f", code)}${more}`).clobbers.get("f");

  it("a register it writes", () => expect(changes("movl $1, %ecx\nret")).toBe(RCX));
  it("parts of a register", () => expect(changes("sete %bl\nmovb $1, %dh\nret")).toBe(RBX | RDX));
  it("not one that it pushes and pops", () =>
    expect(changes("pushq %rbx\nmovl $1, %ebx\npopq %rbx\nret")).toBe(0));
  it("nor one that it keeps in its frame", () =>
    expect(
      changes(
        "subq $24, %rsp\nmovq %r12, 8(%rsp)\nxorl %r12d, %r12d\nmovq 8(%rsp), %r12\naddq $24, %rsp\nret",
      ),
    ).toBe(0));
  it("nor one that it keeps in another register", () =>
    expect(changes("movq %rbx, %rcx\nxorl %ebx, %ebx\nmovq %rcx, %rbx\nret")).toBe(RCX));
  it("pops in the wrong order", () =>
    expect(changes("pushq %rbx\npushq %r12\npopq %rbx\npopq %r12\nret")).toBe(RBX | R12));
  it("a saved register whose place was overwritten", () =>
    expect(changes("pushq %rbx\nxorl %ebx, %ebx\nmovl $0, 4(%rsp)\npopq %rbx\nret")).toBe(RBX));
  it("a register restored on one way out only", () =>
    expect(
      changes("pushq %rbx\nxorl %ebx, %ebx\ntestl %edi, %edi\nje 1f\npopq %rbx\nret\n1: addq $8, %rsp\nret"),
    ).toBe(RBX));
  it("nothing where a save is wrapped around one path", () =>
    expect(
      changes("testl %edi, %edi\nje 1f\npushq %rbx\nxorl %ebx, %ebx\nmovl %ebx, (%rsi)\npopq %rbx\n1: ret"),
    ).toBe(0));
  it("a frame of unknown size is left through the frame pointer", () =>
    expect(
      changes(
        "pushq %rbp\nmovq %rsp, %rbp\npushq %rbx\nsubq %rdi, %rsp\nandq $-32, %rsp\nxorl %ebx, %ebx\nleaq -8(%rbp), %rsp\npopq %rbx\npopq %rbp\nret",
      ),
    ).toBe(0));
  it("vector registers", () => expect(changes("pxor %xmm3, %xmm3\nret")).toBe(1 << 19));
  it("what string instructions and system calls leave behind", () =>
    expect(changes("rep stosb\nsyscall\nret")).toBe(RAX | RCX | RDI | (1 << 11)));
  it("what its callees change, in cycles too", () =>
    expect(
      changes(
        "pushq %rax\nmovl $1, %edx\ncall g\npopq %rax\nret",
        fn("g", "testl %esi, %esi\nje 1f\ncall f\n1: xorl %ecx, %ecx\nret"),
      ),
    ).toBe(RCX | RDX));
  it("not what a callee that never returns changes", () =>
    expect(changes("testl %edi, %edi\nje 1f\nret\n1: call g", fn("g", "xorl %ebx, %ebx\n1: jmp 1b"))).toBe(
      0,
    ));
  it("what a tail call changes", () =>
    expect(changes("xorl %ecx, %ecx\njmp g", fn("g", "xorl %edx, %edx\nret"))).toBe(RCX | RDX));
  it("the convention's registers at unknown calls", () => {
    for (const code of ["call *%rax\nret", "jmp *%rax", "call elsewhere@PLT\nret"])
      expect(changes(code)).toBe(convention);
  });
  it("the ways of a jump table, absolute or relative", () => {
    const table = (entry: string, section: string): string =>
      `\t.section ${section}\n\t.p2align 3\n.Ltable:\n${["1b", "2b"].map((l) => `\t${entry.replace("X", l)}\n`).join("")}`;
    const code = (jump: string): string => `${jump}\n1: xorl %ecx, %ecx\nret\n2: xorl %ebx, %ebx\nret`;
    expect(changes(code("jmp *.Ltable(,%rax,8)"), table(".quad X", ".rodata"))).toBe(RCX | RBX);
    const relative = "leaq .Ltable(%rip), %rdx\nmovslq (%rdx,%rax,4), %rax\naddq %rdx, %rax\njmp *%rax";
    expect(changes(code(relative), table(".long X-.Ltable", ".rodata"))).toBe(RAX | RCX | RDX | RBX);
  });
  it("the entries of a jump table are no ways of another jump, those of a table of labels are", () => {
    const blocks = ".L1: xorl %ecx, %ecx\nret\n.L2: xorl %ebx, %ebx\nret\n.L3: xorl %r12d, %r12d\nret";
    const data = "\t.section .rodata\n\t.p2align 3\n.Ltable:\n";
    const direct = "jmp *.Ltable(,%rdi,8)";
    const absolute = `${data}\t.quad .L2, .L3\n`;
    const other = (jump: string, table: string): number | undefined =>
      changes(
        `testl %edi, %edi\nje 9f\nret\n8: ${jump}\n9: leaq .L1(%rip), %rsi\njmp *%rdx\n${blocks}`,
        table,
      );
    expect(other(direct, absolute)).toBe(RCX | RSI);
    const relative = "leaq .Ltable(%rip), %rdx\nmovslq (%rdx,%rdi,4), %rax\naddq %rdx, %rax\njmp *%rax";
    expect(other(relative, `${data}\t.long .L2-.Ltable, .L3-.Ltable\n`)).toBe(RCX | RSI);
    const narrow = "movzbl .Ltable(%rdi), %eax\naddl $.L2, %eax\njmp *%rax";
    expect(other(narrow, `${data}\t.byte .L2-.L2, .L3-.L2\n`)).toBe(RCX | RSI);
    // Whoever holds the table, or an entry, can jump anywhere that it leads.
    const all = RCX | RBX | RSI | R12;
    const loaded = "movq .Ltable(,%rdi,8), %rax\njmp *%rax";
    expect(other(loaded, absolute)).toBe(all);
    expect(other(direct, `${absolute}\t.data\n\t.quad .Ltable\n`)).toBe(all);
    expect(other(direct, `${absolute}\t.text\n${fn("g", "leaq .Ltable(%rip), %rax\nret")}`)).toBe(all);
    expect(other(direct, `${data}\t.quad .L2\nnamed:\n\t.quad .L3\n`)).toBe(RCX | RSI | R12);
  });
  it("the ways of a jump table whose entries the assembler computes, and no further", () => {
    const table = (entry: string): string =>
      `\t.section .rodata\n.Ltable:\n\t${entry} 1f-1f, 2f-1f\n.Lother:\n\t${entry} 3f-1f\n`.replace(
        /(\d)f/g,
        ".L$1",
      );
    const blocks = ".L1: xorl %ecx, %ecx\nret\n.L2: xorl %ebx, %ebx\nret\n.L3: xorl %r12d, %r12d\nret";
    const other = `\t.text\n${fn("other", "leaq .Lother(%rip), %rdx\nret")}`;
    const absolute = (load: string): string => `${load}, %eax\naddl $.L1, %eax\njmp *%rax\n${blocks}`;
    expect(changes(absolute("movzbl .Ltable(%rax)"), table(".byte") + other)).toBe(RAX | RCX | RBX);
    expect(changes(absolute("movzwl .Ltable(,%rax,2)"), table(".short") + other)).toBe(RAX | RCX | RBX);
    const relative = (load: string): string =>
      `leaq .Ltable(%rip), %rdx\n${load}, %eax\nleaq .L1(%rip), %rdx\naddq %rdx, %rax\njmp *%rax\n${blocks}`;
    const all = RAX | RCX | RDX | RBX;
    expect(changes(relative("movzbl (%rdx,%rax)"), table(".byte") + other)).toBe(all);
    expect(changes(relative("movzwl (%rdx,%rax,2)"), table(".short") + other)).toBe(all);
  });
});

describe("violations", () => {
  const messages = (text: string, claims: FunctionClaim[] = [], interposable = false): string[] => [
    ...run(text, claims, interposable).violations,
  ];

  it("an exported function that does not preserve a register", () => {
    expect(messages(global("f", "xorl %ebx, %ebx\nret"))).toEqual([
      "@f: %rbx not preserved, though unknown code can call the function",
    ]);
    expect(messages(fn("f", "xorl %ebx, %ebx\nret"))).toEqual([]);
  });
  it("a function whose address is taken, in data or code", () => {
    const wrong = fn("f", "xorl %r12d, %r12d\nret");
    for (const use of [
      "\t.data\n\t.quad f\n",
      fn("g", "leaq f(%rip), %rax\nret"),
      fn("g", "movl $f, %eax\nret"),
    ])
      expect(messages(wrong + use)).toEqual([
        "@f: %r12 not preserved, though unknown code can call the function",
      ]);
  });
  it("but not one that follows a function which ends where its jump table leads", () => {
    const jumps = (entries: string): string =>
      fn("g", "jmp *.Ltable(,%rax,8)\n1: ret\n2:") +
      fn("f", "xorl %r12d, %r12d\nret") +
      `\t.section .rodata\n\t.p2align 3\n.Ltable:\n\t.quad ${entries}\n`;
    expect(messages(jumps("1b, 2b"))).toEqual([]);
    expect(messages(jumps("f, f"))).toHaveLength(1);
  });
  it("unless the claims list all of its callers", () => {
    const text = `${fn("f", "xorl %r12d, %r12d\nret")}${fn("g", "leaq f(%rip), %rax\npushq %rbx\ncall *%rax\npopq %rbx\nret")}`;
    const closed = { ...claim("f", []), closed: true };
    expect(messages(text, [closed, claim("g", [call(null, convention | R12, { targets: ["f"] })])])).toEqual(
      [],
    );
    expect(messages(text, [closed, claim("g", [call(null, convention, { targets: ["f"] })])])).toEqual([
      "@g+0x8: call of a pointer changes %r12, which the caller was told it preserves",
    ]);
  });
  it("a call that changes more than its mask says", () => {
    const text = `${fn("f", "xorl %ecx, %ecx\nret")}${fn("g", "call f\nret")}`;
    expect(messages(text, [claim("g", [call("f", RDX)])])).toEqual([
      "@g+0x0: call of @f changes %rcx, which the caller was told it preserves",
    ]);
    expect(messages(text, [claim("g", [call("f", RCX)])])).toEqual([]);
  });
  it("a value kept in a register that the callee changes, whatever was told", () => {
    const text = `${fn("f", "xorl %ecx, %ecx\nret")}${fn("g", "movl %edi, %ecx\ncall f\nmovl %ecx, %eax\nret")}`;
    expect(messages(text, [claim("g", [call("f", RCX)], RAX)])).toEqual([
      "@g+0x2: call of @f changes %rcx, in which the caller keeps a value",
    ]);
  });
  it("of what a shift or an insertion loses nothing is kept", () => {
    const kept = (code: string): number => {
      const text = `${fn("f", "xorl %ecx, %ecx\nret")}${fn("g", `call f\nmovb (%rdi), %cl\n${code}\nret`)}`;
      return messages(text, [claim("g", [call("f", RCX)], RAX)]).length;
    };
    const used = "movl %ecx, %eax\nnotl %eax\nsarl $1, %eax";
    expect(kept(`shll $25, %ecx\n${used}`)).toBe(0);
    expect(kept(`shll $24, %ecx\n${used}`)).toBe(0);
    expect(kept(`shll $23, %ecx\n${used}`)).toBe(1);
    expect(kept(`shlq $56, %rcx\n${used}`)).toBe(0);
    expect(kept(`shlq $55, %rcx\n${used}`)).toBe(1);
    // The second byte is one, too.
    expect(kept("shlb $1, %ch\nmovb %ch, %al")).toBe(1);
    // The last bit that it loses is the carry flag.
    expect(kept("shll $25, %ecx\nsbbl %eax, %eax")).toBe(1);
    expect(kept("pinsrb $1, %ecx, %xmm0\nmovd %xmm0, %eax\nsarl $1, %eax")).toBe(0);
    expect(kept("pinsrw $1, %ecx, %xmm0\nmovd %xmm0, %eax\nsarl $1, %eax")).toBe(1);
    expect(kept("movw (%rdi), %cx\npinsrw $1, %ecx, %xmm0\nmovd %xmm0, %eax\nsarl $1, %eax")).toBe(0);
    expect(kept("movd %ecx, %xmm0\nmovd %xmm0, %eax\nsarl $1, %eax")).toBe(1);
    expect(kept("kmovw %ecx, %k1\nvmovdqu64 %zmm0, (%rdi) {%k1}")).toBe(0);
    expect(kept("kmovd %ecx, %k1\nvmovdqu16 %zmm0, (%rdi) {%k1}")).toBe(1);
    // What is needed of the result is further down before the shift.
    const inserted = "pinsrw $1, %ecx, %xmm0\nmovd %xmm0, %eax\nsarl $1, %eax";
    expect(kept(`shll $8, %ecx\norl $255, %ecx\n${inserted}`)).toBe(0);
    expect(kept(`shll $7, %ecx\norl $255, %ecx\n${inserted}`)).toBe(1);
    expect(kept(`shll $9, %ecx\n${inserted}`)).toBe(0);
    expect(kept(`shlq $16, %rcx\n${inserted}`)).toBe(0);
    expect(kept("shlw $7, %cx\nmovb %ch, %al")).toBe(1);
  });
  it("flags need what they are made of, each as far as it is asked for", () => {
    const kept = (code: string): number => {
      const text = `${fn("f", "xorl %ecx, %ecx\nret")}${fn("g", `call f\nmovb (%rdi), %cl\norl %edx, %ecx\n${code}\n1: movb %cl, (%rdi)\nret`)}`;
      return messages(text, [claim("g", [call("f", RCX)])]).length;
    };
    expect(kept("jne 1f\nnop")).toBe(1);
    expect(kept("decl %edx\njne 1f\nnop")).toBe(0);
    // The carry flag is as it was before.
    expect(kept("decl %edx\njbe 1f\nnop")).toBe(1);
    expect(kept("subl $1, %edx\njbe 1f\nnop")).toBe(0);
  });
  it("nothing is kept in the register that a conversion with VEX takes its upper lanes from", () => {
    const kept = (code: string): number => {
      const text = `${fn("f", "xorps %xmm15, %xmm15\nret")}${fn("g", `call f\n${code}\nret`)}`;
      return messages(text, [claim("g", [call("f", 1 << 31)], RAX | (1 << 16))]).length;
    };
    expect(kept("vcvtsi2sdl %edi, %xmm15, %xmm0")).toBe(0);
    expect(kept("vcvtsi2ssq (%rdi), %xmm15, %xmm0")).toBe(0);
    expect(kept("vsqrtsd (%rdi), %xmm15, %xmm0")).toBe(0);
    expect(kept("vcvtss2sd %xmm15, %xmm15, %xmm0")).toBe(1);
    expect(kept("vaddsd (%rdi), %xmm15, %xmm0")).toBe(1);
  });
  it("a frame pointer that does not survive a call", () => {
    const text = `${fn("f", "xorl %ebp, %ebp\nret")}${fn("g", "pushq %rbp\nmovq %rsp, %rbp\nsubq $16, %rsp\ncall f\nleave\nret")}`;
    const found = messages(text, [claim("g", [call("f", RBP)])]);
    expect(found).toContain("@g+0x8: call of @f changes %rbp, in which the caller keeps a value");
    expect(found.some((m) => m.includes("does not hold the frame"))).toBe(true);
  });
  it("a stack pointer that is not where it was", () => {
    expect(messages(fn("f", "pushq %rax\nret"))).toEqual([
      "@f+0x1: leaves with the stack pointer displaced or unknown",
    ]);
    expect(messages(fn("f", "testl %edi, %edi\nje 1f\npushq %rax\n1: ret"))).toHaveLength(1);
  });
  it("narrow masks at calls that another definition may answer", () => {
    const caller = fn("g", "pushq %rbx\ncall f@PLT\npopq %rbx\nret");
    const told = [claim("g", [call("f", RCX)])];
    const weak = fn("f", "xorl %ecx, %ecx\nret", "weak") + caller;
    const visible = global("f", "xorl %ecx, %ecx\nret") + caller;
    expect(messages(weak, told)).toHaveLength(1);
    expect(messages(visible, told)).toEqual([]);
    expect(messages(visible, told, true)).toHaveLength(1);
    expect(messages(`\t.hidden f\n${visible}`, told, true)).toEqual([]);
    // Another name of the function may be another definition's, while this one is not.
    const renamed = `${visible}\t.weak\th\n\t.type\th,@function\n\t.set\th, f\n`;
    expect(messages(renamed, told)).toEqual([]);
    expect(messages(renamed.replace("call f@PLT", "call h@PLT"), told)).toHaveLength(1);
  });
  it("a callee's results and a byte of a register are no kept values", () => {
    const text = `${fn("f", "movl $1, %eax\nxorl %ecx, %ecx\nret")}${fn("g", "call f\nsete %cl\nandl %ecx, %eax\nmovzbl %al, %eax\nret")}`;
    expect(messages(text, [claim("g", [call("f", RAX | RCX, { results: RAX })], RAX)])).toEqual([]);
  });
  it("code that falls off its end, and calls that nobody listed", () => {
    expect(messages(fn("f", "nop"))).toEqual(["@f+0x1: control runs off the end"]);
    expect(messages(`${fn("g", "pushq %rbx\ncall elsewhere\npopq %rbx\nret")}`, [claim("g", [])])).toEqual([
      "@g: its calls are not those that code generation lists",
    ]);
  });
  it("an unaligned stack where something relies on it, through calls and jumps", () => {
    const message = "with the stack not aligned to 16 bytes";
    expect(messages(fn("f", "call elsewhere\nret"))).toEqual([`@f+0x0: call of @elsewhere ${message}`]);
    const unknown = fn("f", "pushq %rbx\ncall elsewhere\npopq %rbx\nret");
    expect(messages(unknown)).toEqual([]);
    expect(messages(`${unknown}${fn("g", "call f\nret")}`)).toEqual([`@g+0x0: call of @f ${message}`]);
    const between = `${unknown}${fn("g", "jmp f")}${fn("h", "call g\nret")}`;
    expect(messages(between)).toEqual([`@h+0x0: call of @g ${message}`]);
    expect(messages(`${fn("f", "ret")}${fn("g", "call f\nret")}`)).toEqual([]);
  });
  it("outlined code is entered with the stack as it was where its code stood", () => {
    const shared = { ...claim("o", [call("elsewhere", -1)]), outlined: true };
    const told = (callee: string): FunctionClaim => claim("g", [call(callee, -1)]);
    // What it pushes itself aligns the stack, from a place where that is not aligned.
    const text = (code: string): string =>
      `${fn("o", "pushq %rdi\nsubq $8, %rsp\ncall elsewhere\naddq $16, %rsp\nret")}${fn("g", code)}`;
    const unaligned = "call o\nret";
    expect(messages(text(unaligned), [shared, told("o")])).toEqual([]);
    expect(messages(text(unaligned), [told("o")])).toHaveLength(2);
    const aligned = "pushq %rax\ncall o\npopq %rax\nret";
    expect(messages(text(aligned), [shared, told("o")])).toEqual([
      "@g+0x1: call of @o with the stack not aligned to 16 bytes",
    ]);
    // It relies on one alignment.
    const both = `${fn("o", "call elsewhere\npushq %rbx\ncall elsewhere\npopq %rbx\nret")}`;
    const twice = { ...claim("o", [call("elsewhere", -1), call("elsewhere", -1)]), outlined: true };
    expect(messages(both, [twice])).toEqual([
      "@o+0x6: call of @elsewhere with the stack not aligned to 16 bytes",
    ]);
  });
  it("outlined code stores to its caller's frame, and loads from there", () => {
    const shared = { ...claim("o", []), outlined: true };
    const open = (code: string, callee = "o"): string[] =>
      messages(
        `${fn("o", code)}${global("g", `pushq %rbx\nxorl %ebx, %ebx\nsubq $16, %rsp\ncall ${callee}\naddq $16, %rsp\npopq %rbx\nret`)}`,
        [shared, claim("g", [call(callee, -1)])],
      );
    expect(open("movl %edi, 16(%rsp)\nret")).toEqual([]);
    const lost = "@g: %rbx not preserved, though unknown code can call the function";
    expect(open("movl %edi, 24(%rsp)\nret")).toEqual([lost]);
    expect(open("movq %rdi, 20(%rsp)\nret")).toEqual([lost]);
    // What it saves and brings back itself is there, wherever it is done.
    const kept = (last: string): string[] =>
      messages(
        `${fn("o", "movq %rbx, 8(%rsp)\nxorl %ebx, %ebx\nret")}${fn("p", last)}${global("g", "subq $24, %rsp\ncall o\ncall p\naddq $24, %rsp\nret")}`,
        [shared, { ...claim("p", []), outlined: true }, claim("g", [call("o", -1), call("p", -1)])],
      );
    expect(kept("movq 8(%rsp), %rbx\nret")).toEqual([]);
    expect(kept("movq 16(%rsp), %rbx\nret")).toEqual([lost]);
    // Outlined code that ends in a jump, to outlined code and to others.
    const jumps = (callee: string, changes: string): string[] =>
      messages(
        `${fn("o", `movl %edi, 24(%rsp)\njmp ${callee}`)}${fn("h", changes)}${global("g", "pushq %rbx\nsubq $16, %rsp\ncall o\naddq $16, %rsp\npopq %rbx\nret")}`,
        [
          { ...shared, sites: [{ ...call(callee, -1), kind: "tail" }] },
          { ...claim("h", []), outlined: callee === "h" && changes.includes("rsp") },
          claim("g", [call("o", -1)]),
        ],
      );
    expect(jumps("h", "xorl %ecx, %ecx\nret")).toEqual([lost]);
    expect(jumps("h", "movq %rbx, 24(%rsp)\nret")).toEqual([]);
  });
  it("outlined code spills to its caller's frame by whatever register", () => {
    const shared = { ...claim("o", []), outlined: true };
    const kept = (address: string, spill: string, outlined: string): number => {
      // Only the lowest byte of eax is known where all of it is stored.
      const text = `${fn("f", "xorl %eax, %eax\nret")}${fn("o", `${outlined}\nret`)}${fn("g", `subq $24, %rsp\n${address}\ncall f\nmovb $1, %al\n${spill}\ncall o\naddq $24, %rsp\nret`)}`;
      return messages(text, [shared, claim("g", [call("f", RAX), call("o", -1)])]).length;
    };
    expect(kept("leaq 8(%rsp), %rcx", "movl %eax, (%rcx)", "nop")).toBe(0);
    expect(kept("leaq 8(%rsp), %rcx", "nop", "movl %eax, (%rcx)")).toBe(0);
    expect(kept("nop", "nop", "leaq 16(%rsp), %rcx\nmovl %eax, (%rcx)")).toBe(0);
    expect(kept("movq %rdi, %rcx", "nop", "movl %eax, (%rcx)")).toBe(1);
    // A call in it: whether the address is in the frame is known where the code stands.
    const within = (address: string): number => {
      const outlined = "pushq %rax\ncall f\nmovb $1, %al\nmovl %eax, (%rdx)\npopq %rdx\nret";
      const text = `${fn("f", "xorl %eax, %eax\nret")}${fn("o", outlined)}${fn("g", `subq $24, %rsp\n${address}\ncall o\naddq $24, %rsp\nret`)}`;
      return messages(text, [{ ...shared, sites: [call("f", RAX)] }, claim("g", [call("o", -1)])]).length;
    };
    expect(within("leaq 8(%rsp), %rdx")).toBe(0);
    expect(within("movq %rdi, %rdx")).toBe(1);
  });
  it("outlined code that zeroes upper halves keeps what is in the lower ones", () => {
    const zeroed = (outlined: boolean, code = "vzeroupper"): number => {
      const text = `${fn("o", `${code}\nret`)}${fn("p", "call o\nret")}${fn("g", "movd %edi, %xmm3\ncall p\nmovd %xmm3, %eax\nret")}`;
      const claims = ["o", "p"].map((name) => ({
        ...claim(name, name === "p" ? [call("o", 0)] : []),
        outlined,
      }));
      return messages(text, [...claims, claim("g", [call("p", 0)], RAX)]).length;
    };
    expect(zeroed(true)).toBe(0);
    expect(zeroed(false)).toBeGreaterThan(0);
    expect(zeroed(true, "xorps %xmm3, %xmm3")).toBeGreaterThan(0);
  });
  it("aligned accesses of an unaligned place", () => {
    const store = (at: number): string =>
      fn("f", `subq $24, %rsp\nmovaps %xmm0, ${at}(%rsp)\naddq $24, %rsp\nret`);
    expect(messages(store(0))).toEqual([]);
    expect(messages(store(8))).toEqual(["@f+0x4: aligned access to an unaligned place"]);
    expect(messages(`${store(0)}${fn("g", "call f\nret")}`)).toHaveLength(1);
  });
  it("malformed objects are refused", () => {
    const good = assemble(fn("f", "ret"));
    expect(() => checkObject(good.subarray(0, 100), [], { interposable: false })).toThrow(/malformed/);
    expect(() => checkObject(new Uint8Array(200), [], { interposable: false })).toThrow(/not a relocatable/);
  });
  it("an argument register is no kept value of an earlier call", () => {
    const text = `${fn("f", "xorl %esi, %esi\nret")}${fn("g", "call f\ncall f\nret")}`;
    expect(messages(text, [claim("g", [call("f", RSI), call("f", RSI)])])).toEqual([]);
    expect(messages(text, [claim("g", [call("f", RSI), call("f", RSI, { arguments: RSI })])])).toHaveLength(
      1,
    );
  });
  it("the rest of an argument's register may be left over, its lowest part may not", () => {
    const text = `${fn("f", "xorl %esi, %esi\nret")}${fn("g", "call f\nmovb $1, %sil\ncall f\nret")}`;
    const sites = [call("f", RSI), call("f", RSI, { arguments: RSI })];
    expect(messages(text, [claim("g", sites)])).toEqual([]);
    expect(messages(text.replace("movb $1, %sil", "nop"), [claim("g", sites)])).toHaveLength(1);
  });
  it("a bit scan needs its source, not its target", () => {
    const scan = (from: string): string =>
      `${fn("f", "xorl %ecx, %ecx\nret")}${fn("g", `call f\nbsfl ${from}, %ecx\nmovl %ecx, %eax\nret`)}`;
    expect(messages(scan("%edi"), [claim("g", [call("f", RCX)], RAX)])).toEqual([]);
    expect(messages(scan("%ecx"), [claim("g", [call("f", RCX)], RAX)])).toHaveLength(1);
  });
  it("undefined values are excused, in saved registers only their own, and only where the caller was told", () => {
    const text = (kept: string): string =>
      `${fn("f", "xorl %ecx, %ecx\nxorl %r12d, %r12d\nret")}${fn("g", `call f\nmovl ${kept}, %eax\nret`)}`;
    const complaints = (kept: string, undefinedRegisters: number, told: number): number =>
      messages(text(kept), [{ ...claim("g", [call("f", told)], RAX), undefinedRegisters }]).length;
    expect(complaints("%ecx", RCX, RCX | R12)).toBe(0);
    expect(complaints("%ecx", 0, RCX | R12)).toBe(1);
    expect(complaints("%ecx", RCX, R12)).toBe(2);
    expect(complaints("%r12d", R12, RCX | R12)).toBe(0);
    expect(complaints("%r12d", RCX, RCX | R12)).toBe(1);
  });
  it("a stack pointer pushed before it moved and restored later is where it was", () => {
    const restored = "pushq %rsp\npopq %rcx\nsubq %rdi, %rsp\nmovq %rcx, %rsp\n";
    const text = (rest: string): string => fn("g", `pushq %rbx\n${restored}${rest}popq %rbx\nret`);
    expect(messages(text("call elsewhere\n"))).toEqual([]);
    expect(messages(text("pushq %rax\ncall elsewhere\npopq %rax\n"))).toEqual([
      "@g+0xa: call of @elsewhere with the stack not aligned to 16 bytes",
    ]);
  });
});
