/** What inline assembly changes without saying so: what is known of instructions, and that callers reckon with it. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { MInst, RegOperand } from "../../lto/codegen/mir.js";
import { includesSet, registersIn, single } from "../../lto/codegen/register-set.js";
import { impliedChanges, untoldChanges } from "../../lto/x64/isa/assembly-effects.js";
import { X } from "../../lto/x64/isa/ops.js";
import { callClobbers, registerNames } from "../../lto/x64/isa/registers.js";
import { removeWorkspaces, Workspace } from "../cc/driver.js";
import { builtDriver } from "../shell/built-driver.js";

removeWorkspaces();
const driver = builtDriver();

const names = (set: ReturnType<typeof impliedChanges>): string =>
  registersIn(set)
    .map((register) => registerNames[8]![register]!)
    .join(" ");

/** Of assembly with an operand in rdi. */
function untold(template: string, intel = false): string {
  const inst = new MInst(X.Asm, 8);
  inst.uses = [new RegOperand(0, single(7))];
  inst.uses[0]!.loc = 7;
  inst.extra = { kind: "asm", template, intel, operands: [{ kind: "use", index: 0, size: 8 }], unwind: null };
  const set = untoldChanges(inst);
  return includesSet(set, callClobbers) ? "all" : names(set);
}

describe("instructions change besides their operands", () => {
  it.each([
    ["cpuid", "rax rcx rdx rbx"],
    ["CPUID", "rax rcx rdx rbx"],
    ["push %rbx; cpuid\n\tmov %ebx, $1; pop %rbx", "rax rcx rdx rbx"],
    ["syscall", "rax rcx r11"],
    ["mov $$60, %eax\nsyscall", "rax rcx r11"],
    ["lfence\n\trdtsc", "rax rdx"],
    ["rdtscp", "rax rcx rdx"],
    ["rep movsb", "rcx rsi rdi"],
    ["rep; movsq", "rcx rsi rdi"],
    ["rep\n movsl", "rcx rsi rdi"],
    ["movsb (%rsi), (%rdi)", "rsi rdi"],
    ["rep stosq", "rcx rdi"],
    ["repne scasb", "rcx rdi"],
    ["lodsb", "rax rsi"],
    ["rep movsb byte ptr [rdi], byte ptr [rsi]", "rcx rsi rdi"],
    ["mulq $3", "rax rdx"],
    ["imul $1, $0", ""],
    ["lock cmpxchgl $1, $0", "rax"],
    ["lock; cmpxchg16b $0", "rax rdx"],
    ["1: dec $0\n\tloop 1b", "rcx"],
    ["pcmpestri $$12, $1, $0", "rcx"],
    ["movsd $1, $0", ""],
    ["movsbl $1, $0", ""],
    ["# cpuid", ""],
    ["/* rdtsc */ nop", ""],
    ["", ""],
  ])("%s: %s", (template, expected) => {
    expect(names(impliedChanges(template))).toBe(expected);
  });
});

describe("callers take for changed", () => {
  it.each([
    // Nothing is there to change anything.
    ["", ""],
    ["  # $0", ""],
    // What the assembly is given and what it names.
    ["decl $0", "rdi"],
    ["1: dec $0; jnz 1b", "rdi"],
    ["mov %ecx, %r8d; bswap $0", "rcx rdi r8"],
    ["movaps %xmm3, %xmm0", "rdi xmm0 xmm3"],
    // Preserved registers are not changed in secret.
    ["xchg %rbx, $0; cpuid; xchg %rbx, $0", "rdi"],
    ["vaddps $1, $2, $0", "rdi"],
    ["kmovw $0, %k1", "rdi"],
    // Whatever it does not know, or is elsewhere.
    ["call helper", "all"],
    ["call *$0", "all"],
    ["jmp helper", "all"],
    ["int $$0x80", "all"],
    ["sysenter", "all"],
    [".byte 0x0f, 0xa2", "all"],
    ['.ascii "\\x0f\\x05"', "all"],
    [".macro m\n nop\n.endm", "all"],
    ["vzeroupper", "all"],
    ["zap $0", "all"],
    ["nop\n\tvmcall", "all"],
    ["enter $$0, $$0", "all"],
  ])("%s: %s", (template, expected) => {
    expect(untold(template)).toBe(expected === "" ? "" : expected.replaceAll(/xmm(\d)/g, "xmm$1"));
  });

  it("registers without a mark in Intel syntax", () => {
    expect(untold("mov r9, $0", true)).toBe("rdi r9");
    expect(untold("mov r9, $0")).toBe("rdi");
  });
});

/** Functions whose assembly says less than it does, each right for callers that keep to the platform's convention. */
const sloppy = `
#define F __attribute__((noinline)) static
F long cpuid_(long a) { int r, d; __asm__ volatile("push %%rbx; cpuid; pop %%rbx" : "=a"(r), "=d"(d) : "a"((int)a)); return 0; }
F long ticks(long a) { unsigned lo; __asm__ volatile("rdtsc" : "=a"(lo)); return a; }
F long ask(long a) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(39L) : "memory"); return r > 0 ? a : -1; }
F long old(long a) { long r; __asm__ volatile("int $0x80" : "=a"(r) : "0"(20L) : "memory"); return a; }
static char from[64], to[64];
F void copy(char *d, const char *s, long n) { __asm__ volatile("rep movsb" :: "D"(d), "S"(s), "c"(n) : "memory"); }
F void fill(char *d, long n) { __asm__ volatile("cld; rep; stosb" :: "D"(d), "c"(n), "a"(7) : "memory"); }
F void delay(long n) { __asm__ volatile("1: dec %0; jnz 1b" :: "r"(n)); }
F long scratch(long a) { long r; __asm__ volatile("lea 5(%1), %%r8; mov %%r8, %0; xor %%r9d, %%r9d; pxor %%xmm5, %%xmm5" : "=r"(r) : "r"(a)); return r; }
__attribute__((used, noinline)) long helper(long a) { return a * 3; }
F long calls(long a) { long r = a; __asm__ volatile("sub $8, %%rsp; mov %0, %%rdi; call helper; mov %%rax, %0; add $8, %%rsp" : "+b"(r)); return r; }
F long bytes(long a) { long r; __asm__ volatile(".byte 0x49, 0xc7, 0xc2, 1, 0, 0, 0; .byte 0x48, 0x31, 0xf6; mov %1, %0" : "=a"(r) : "d"(a)); return r; }
F long stack(long a) { long r; __asm__ volatile("pushq %1; pushq $9; popq %%rcx; popq %0" : "=a"(r) : "d"(a)); return r + 0; }
`;
const uses = `
int printf(const char *, ...);
#define KEEP(call) { long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7], i = p[8]; \\
  double x = q[0], y = q[1], z = q[2]; long r = call; \\
  printf("%ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %g %g %g\\n", r, a, b, c, d, e, f, g, h, i, x, y, z); }
volatile long p[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}; volatile double q[3] = {1.5, 2.5, 3.5};
int main(int argc, char **argv) {
  for (int k = 0; k < argc; k++) {
    KEEP(cpuid_(a)) KEEP(ticks(b)) KEEP(ask(c)) KEEP((copy(to, from, i), to[0])) KEEP((fill(to, i), to[8]))
    KEEP((delay(d), e)) KEEP(scratch(f)) KEEP(calls(g)) KEEP(bytes(h)) KEEP(stack(i)) KEEP(old(a))
    /* Three of them at a time keep few registers that are preserved. */
    long n = argc; copy(to, from, n + 2); delay(n + 3); fill(to, n + 4); printf("%ld %d\\n", n, to[1]);
  }
}
`;

it.each(["-O0", "-O2", "-Oz"])(
  "programs with such assembly run as without link-time optimisation (%s)",
  (level) => {
    const w = new Workspace({ "a.c": sloppy + uses });
    expect(
      spawnSync("cc", ["-O1", "a.c", "-o", "native"], { cwd: w.directory, encoding: "utf8" }).stderr,
    ).toBe("");
    expect(driver(w, [level, "a.c", "-o", "ours"])).toMatchObject({ code: 0, stderr: "" });
    const run = (program: string) => {
      const { status, signal, stdout } = spawnSync(w.path(program), [], { encoding: "utf8" });
      return { status, signal, lines: stdout.split("\n") };
    };
    expect(run("ours")).toEqual(run("native"));
  },
  60_000,
);
