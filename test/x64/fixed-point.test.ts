/** Fixed-point arithmetic against exact integers, masks of vectors of pointers, first elements: by running the code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { Random } from "../support/random.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();

async function status(text: string): Promise<number> {
  const [input, output, program] = ["a.ll", "a.s", "a.out"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(input, text);
  const linked = await tscLto([input, "--verify", "--check-regalloc", "-o", output], { cwd: folder });
  expect(linked.err).toBe("");
  expect((await run(["cc", output, "-o", program])).stderr).toBe("");
  return (await run([program])).status;
}

const floorDivide = (a: bigint, b: bigint): bigint => {
  const quotient = a / b;
  return quotient * b !== a && a < 0n !== b < 0n ? quotient - 1n : quotient;
};

/** What the intrinsic gives; null where that is undefined. */
function exact(name: string, width: number, scale: number, a: bigint, b: bigint): bigint | null {
  const signed = name.startsWith("s");
  const isProduct = name.includes("mul");
  if (!isProduct && b === 0n) return null;
  const value = isProduct ? (a * b) >> BigInt(scale) : floorDivide(a << BigInt(scale), b);
  const bits = BigInt(signed ? width - 1 : width);
  const [low, high] = [signed ? -(1n << bits) : 0n, (1n << bits) - 1n];
  if (value >= low && value <= high) return value;
  if (!name.endsWith(".sat")) return null;
  return value < low ? low : high;
}

const names = ["mul", "div"].flatMap((op) =>
  ["", ".sat"].flatMap((sat) => [`s${op}.fix${sat}`, `u${op}.fix${sat}`]),
);

describe.each([7, 8, 16, 31, 32, 64])("i%d", (width) => {
  it("is exact", async () => {
    const random = new Random(width);
    const checks: string[] = [];
    const globals: string[] = [];
    const bits = BigInt(width);
    const number = (signed: boolean): bigint => {
      const word =
        (BigInt(random.below(2 ** 31)) << 33n) ^
        (BigInt(random.below(2 ** 31)) << 16n) ^
        BigInt(random.below(2 ** 31));
      const few = random.below(2) === 0 ? word & 15n : random.below(3) === 0 ? 1n << (bits - 1n) : word;
      return signed ? BigInt.asIntN(width, few) : BigInt.asUintN(width, few);
    };
    let last = "true";
    for (const name of names) {
      const signed = name.startsWith("s");
      for (let i = 0; i < 12; i++) {
        const scale = random.below(width);
        const [a, b] = [number(signed), number(signed)];
        const expected = exact(name, width, scale, a, b);
        if (expected === null) continue;
        const n = globals.length / 2;
        globals.push(`@a${n} = global i${width} ${a}`, `@b${n} = global i${width} ${b}`);
        checks.push(
          `  %a${n} = load volatile i${width}, ptr @a${n}`,
          `  %b${n} = load volatile i${width}, ptr @b${n}`,
          `  %v${n} = call i${width} @llvm.${name}.i${width}(i${width} %a${n}, i${width} %b${n}, i32 ${scale})`,
          `  %c${n} = icmp eq i${width} %v${n}, ${expected}`,
          `  %o${n} = and i1 ${last}, %c${n}`,
        );
        last = `%o${n}`;
      }
    }
    expect(globals.length).toBeGreaterThan(60);
    const declared = names.map(
      (name) => `declare i${width} @llvm.${name}.i${width}(i${width}, i${width}, i32 immarg)`,
    );
    const end = `  %r = select i1 ${last}, i32 42, i32 1\n  ret i32 %r\n}\n`;
    expect(
      await status(`${[...globals, ...declared, "define i32 @main() {", ...checks].join("\n")}\n${end}`),
    ).toBe(42);
  });
});

it("pointers are masked lane by lane", async () => {
  const text = `
@p = global [2 x i64] [i64 4095, i64 -1]
declare <2 x ptr> @llvm.ptrmask.v2p0.v2i64(<2 x ptr>, <2 x i64>)
define i32 @main() {
  %p = load volatile <2 x ptr>, ptr @p
  %m = call <2 x ptr> @llvm.ptrmask.v2p0.v2i64(<2 x ptr> %p, <2 x i64> <i64 -16, i64 58>)
  %x = ptrtoint <2 x ptr> %m to <2 x i64>
  %a = extractelement <2 x i64> %x, i32 0
  %b = extractelement <2 x i64> %x, i32 1
  %s = sub i64 %a, 4080
  %t = add i64 %s, %b
  %u = sub i64 %t, 16
  %r = trunc i64 %u to i32
  ret i32 %r
}`;
  expect(await status(text)).toBe(42);
});

it.each([2, 3, 4, 8, 16, 32, 64, 70])(
  "the first of %d elements that holds is found, or their number",
  async (count) => {
    const places = [...new Set([0, 1, count >> 1, count - 1, count])];
    const lanes = (place: number): string =>
      Array.from({ length: count }, (_, lane) => `i8 ${lane === place || lane === place + 2 ? 5 : 0}`).join(
        ", ",
      );
    const name = `@llvm.experimental.cttz.elts.i64.v${count}i1`;
    const body = places.map(
      (place, n) => `  %v${n} = load volatile <${count} x i8>, ptr @g${n}
  %m${n} = icmp ugt <${count} x i8> %v${n}, splat (i8 4)
  %r${n} = call i64 ${name}(<${count} x i1> %m${n}, i1 false)
  %c${n} = icmp eq i64 %r${n}, ${place}
  %o${n} = and i1 ${n === 0 ? "true" : `%o${n - 1}`}, %c${n}`,
    );
    const text = `${places.map((place, n) => `@g${n} = global <${count} x i8> <${lanes(place)}>`).join("\n")}
declare i64 ${name}(<${count} x i1>, i1 immarg)
define i32 @main() {
${body.join("\n")}
  %r = select i1 %o${places.length - 1}, i32 42, i32 1
  ret i32 %r
}`;
    expect(await status(text)).toBe(42);
  },
);
