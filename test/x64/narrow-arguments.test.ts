/** Narrow arguments and results as native code finds them: extended as their attributes say, constant or computed. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { compile, link } from "../ipra/compile.js";

const dir = mkdtempSync(join(tmpdir(), "narrow-"));
afterAll(() => rmSync(dir, { recursive: true }));

const widths = [1, 2, 7, 8, 12, 16, 24, 32];
interface Value {
  readonly bits: number;
  readonly value: bigint;
  readonly extension: "zeroext" | "signext" | "";
}
const values: Value[] = [];
for (const bits of widths)
  for (const value of new Set([0n, 1n, -1n, 2n ** BigInt(bits - 1), 2n ** BigInt(bits - 1) - 1n]))
    for (const extension of ["zeroext", "signext", ""] as const)
      values.push({ bits, value: BigInt.asIntN(bits, value), extension });

/** The 32 bits that the other side may rely on: what they are, and which of them. */
function wanted({ bits, value, extension }: Value): readonly [bits: number, mask: number] {
  if (extension === "zeroext") return [Number(BigInt.asUintN(bits, value)), -1];
  if (extension === "signext") return [Number(value), -1];
  return [Number(BigInt.asUintN(bits, value)), Number(BigInt.asIntN(32, (1n << BigInt(bits)) - 1n))];
}

/** What takes one argument and returns the 32 bits at its place; a name for each width. */
const finders = {
  reg: "movl %edi, %eax",
  stack: "movl 8(%rsp), %eax",
  far: "movl 24(%rsp), %eax",
  last: "movl %esi, %eax",
};
const native = Object.entries(finders)
  .map(
    ([name, code]) =>
      `.text\n${widths.map((w) => `.globl ${name}${w}\n${name}${w}:`).join("\n")}\n  ${code}\n  ret\n`,
  )
  .join("");
const six = Array.from({ length: 6 }, (_, i) => `i32 ${i}`).join(", ");
const places: Record<string, (argument: string, bits: number) => string> = {
  "in a register": (argument, bits) => `@reg${bits}(${argument})`,
  "on the stack, by push": (argument, bits) => `@stack${bits}(${six}, ${argument})`,
  "on the stack, by store": (argument, bits) =>
    `@far${bits}(${six}, x86_fp80 0xK3FFF8000000000000000, ${argument})`,
  variadic: (argument, bits) => `(i32, ...) @last${bits}(i32 0, ${argument})`,
};
const declarations = widths
  .map(
    (bits) => `
declare i32 @reg${bits}(i${bits})
declare i32 @stack${bits}(i32, i32, i32, i32, i32, i32, i${bits})
declare i32 @far${bits}(i32, i32, i32, i32, i32, i32, x86_fp80, i${bits})
declare i32 @last${bits}(i32, ...)`,
  )
  .join("");

/** `main` that returns whether any call returns other bits. @param call the instructions of one, the result in %r and its number */
function main(call: (value: Value, i: number) => readonly string[]): string {
  const lines = values.flatMap((value, i) => {
    const [bits, mask] = wanted(value);
    return [
      ...call(value, i),
      `  %x${i} = xor i32 %r${i}, ${bits}`,
      `  %m${i} = and i32 %x${i}, ${mask}`,
      `  %s${i + 1} = or i32 %s${i}, %m${i}`,
    ];
  });
  return `define i32 @main() {
  %p = alloca i64
  %s0 = add i32 0, 0
${lines.join("\n")}
  %wrong = icmp ne i32 %s${values.length}, 0
  %status = zext i1 %wrong to i32
  ret i32 %status
}`;
}

/** The exit status of a program. @param other assembly beside it */
function status(text: string, level: "O0" | "O2" | "Oz", other = ""): number {
  const { assembly } = compile(link(text), { level });
  writeFileSync(join(dir, "a.s"), `${assembly}\n${other}`);
  execFileSync("cc", [join(dir, "a.s"), "-o", join(dir, "a")]);
  try {
    execFileSync(join(dir, "a"));
    return 0;
  } catch (e) {
    return (e as { status: number }).status;
  }
}

describe.each(Object.keys(places))("arguments %s", (place) => {
  it.each(["constant", "computed"])("%s", (kind) => {
    const text = main(({ bits, value, extension }, i) => {
      const type = `i${bits}`;
      const call = (v: string | bigint): string =>
        `  %r${i} = call i32 ${places[place]!(`${type} ${extension} ${v}`, bits)}`;
      if (kind === "constant") return [call(value)];
      return [
        `  store volatile ${type} ${value}, ptr %p`,
        `  %v${i} = load volatile ${type}, ptr %p`,
        call(`%v${i}`),
      ];
    });
    for (const level of ["O0", "Oz"] as const)
      expect(status(`${declarations}\n${text}`, level, native), level).toBe(0);
  });
});

it("results", () => {
  const functions = values.map(
    ({ bits, value, extension }, i) =>
      `define ${extension} i${bits} @f${i}() noinline {\n  ret i${bits} ${value}\n}`,
  );
  const used = `@llvm.used = appending global [${values.length} x ptr] [${values.map((_, i) => `ptr @f${i}`).join(", ")}], section "llvm.metadata"`;
  const declared = values.map((_, i) => `declare i32 @g${i}()`);
  const text = main((_, i) => [`  %r${i} = call i32 @g${i}()`]);
  const stubs = values.map((_, i) => `.text\n.globl g${i}\ng${i}: jmp f${i}\n`).join("");
  for (const level of ["O0", "Oz"] as const)
    expect(status([...functions, ...declared, used, text].join("\n"), level, stubs), level).toBe(0);
});

it("a constant boolean is 1 in assembly, too", () => {
  const text = `@flag = global i1 true
define i32 @main() {
  %a = call i32 asm "movl $1, $0", "=r,i"(i1 true)
  %b = call i32 asm "movzbl \${1:b}, $0", "=r,r"(i1 true)
  %c = call i32 asm "movzbl $1, $0", "=r,*m"(ptr elementtype(i1) @flag)
  %d = add i32 %a, %b
  %e = add i32 %d, %c
  %f = sub i32 %e, 3
  ret i32 %f
}`;
  for (const level of ["O0", "Oz"] as const) expect(status(text, level)).toBe(0);
});
