/** Which instructions functions have by the features that they are for. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const head = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
`;

/** Code of functions named by what they do, each `TYPE(ARGUMENTS)` and a body that gives %r. */
async function compiled(
  name: string,
  result: string,
  parameters: string,
  body: string,
  attributes: string,
): Promise<string> {
  const source = join(folder, `${name}.ll`);
  const declarations = [...body.matchAll(/call (.*?) (@llvm\.[\w.]+)\((.*)\)/g)].map(([, type, fn, args]) => {
    const types = args!.split(/, (?![^<]*>)/).map((arg) => arg.replace(/ (%\w+|true|false|-?\d+)$/, ""));
    return `declare ${type} ${fn}(${types.join(", ")})\n`;
  });
  writeFileSync(
    source,
    `${head}define ${result} @f(${parameters}) #0 {\n${body}\n  ret ${result} %r\n}\n${declarations.join("")}attributes #0 = { ${attributes} }\n`,
  );
  const output = join(folder, `${name}.s`);
  const { code, err } = await tscLto(["-r", "-O2", source, "-o", output], { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  return readFileSync(output, "utf8");
}

const shuffleOf = (type: string, count: number, mask: string): string =>
  `  %r = shufflevector ${type} %a, ${type} %b, <${count} x i32> <${mask
    .split(" ")
    .map((i) => `i32 ${i}`)
    .join(", ")}>`;
const bytes = "3 0 2 9 15 4 4 1 7 6 11 10 8 5 12 13";

/** What it is, its types and body, the instruction of SSSE3 (3), 4.1 (4) or 4.2 (5). */
const cases: readonly (readonly [
  what: string,
  type: string,
  body: string,
  instruction: string,
  level: 3 | 4 | 5,
])[] = [
  ["bytes", "<16 x i8>", shuffleOf("<16 x i8>", 16, bytes), "pshufb", 3],
  ["neighbours", "<4 x i32>", shuffleOf("<4 x i32>", 4, "1 2 3 4"), "palignr", 3],
  ["absolute", "<4 x i32>", "  %r = call <4 x i32> @llvm.abs.v4i32(<4 x i32> %a, i1 false)", "pabsd", 3],
  ["product", "<4 x i32>", "  %r = mul <4 x i32> %a, %b", "pmulld", 4],
  ["least", "<4 x i32>", "  %r = call <4 x i32> @llvm.umin.v4i32(<4 x i32> %a, <4 x i32> %b)", "pminud", 4],
  ["floor", "<4 x float>", "  %r = call <4 x float> @llvm.floor.v4f32(<4 x float> %a)", "roundps", 4],
  ["words", "<8 x i16>", shuffleOf("<8 x i16>", 8, "0 9 2 11 4 5 14 7"), "pblendw", 4],
  ["inserted float", "<4 x float>", shuffleOf("<4 x float>", 4, "0 1 7 3"), "insertps", 4],
  [
    "choice",
    "<4 x float>",
    "  %c = fcmp olt <4 x float> %a, %b\n  %r = select <4 x i1> %c, <4 x float> %b, <4 x float> %a",
    "blendvps",
    4,
  ],
  [
    "extension",
    "<4 x i32>",
    "  %n = trunc <4 x i32> %a to <4 x i8>\n  %x = xor <4 x i8> %n, <i8 1, i8 2, i8 3, i8 4>\n  %r = sext <4 x i8> %x to <4 x i32>",
    "pmovsxbd",
    4,
  ],
  [
    "lane to lane",
    "<2 x i64>",
    "  %l = extractelement <2 x i64> %a, i32 1\n  %m = mul i64 %l, 77\n  %r = insertelement <2 x i64> %b, i64 %m, i32 1",
    "pinsrq",
    4,
  ],
  [
    "order of quadwords",
    "<2 x i64>",
    "  %c = icmp sgt <2 x i64> %a, %b\n  %r = sext <2 x i1> %c to <2 x i64>",
    "pcmpgtq",
    5,
  ],
];
const features = ["+sse2", "+ssse3", "+sse4.1", "+sse4.2", "+avx"];

describe("an instruction is there from its level on", () => {
  test.each(cases)("%s", async (what, type, body, instruction, level) => {
    const has: boolean[][] = [];
    for (const [i, feature] of features.entries()) {
      const name = `${what.replaceAll(" ", "-")}-${i}`;
      const attributes = `"target-features"="${feature}"`;
      const text = await compiled(name, type, `${type} %a, ${type} %b`, body, attributes);
      has.push(["", "v"].map((prefix) => new RegExp(`\\t${prefix}${instruction}\\b`).test(text)));
    }
    // Levels here are those of features: SSE2 is 2.
    expect(has).toEqual(features.map((_, i) => [i + 2 >= level && i < 4, i === 4]));
  });
});

test("a processor's name says as much", async () => {
  const product = "  %r = mul <4 x i32> %a, %b";
  const type = "<4 x i32>";
  const of = (cpu: string): Promise<string> =>
    compiled(cpu, type, `${type} %a, ${type} %b`, product, `"target-cpu"="${cpu}"`);
  expect(await of("x86-64-v2")).toMatch(/\tpmulld\t/);
  expect(await of("x86-64-v3")).toMatch(/\tvpmulld\t/);
  expect(await of("x86-64")).not.toMatch(/pmulld/);
});

test("negation of half-precision numbers changes the sign of each lane", async () => {
  const type = "<32 x half>";
  const attributes = '"target-features"="+avx512f,+avx512bw"';
  const text = await compiled("negated", type, `${type} %a`, `  %r = fneg ${type} %a`, attributes);
  expect(text).toMatch(/8000800080008000/);
});

describe("what is read of memory alone is read there", () => {
  const cases = [
    [
      "lane",
      "%p, <4 x i32> %a",
      "  %x = load i32, ptr %p\n  %r = insertelement <4 x i32> %a, i32 %x, i32 2",
      "pinsrd",
    ],
    [
      "byte",
      "%p, <16 x i8> %a",
      "  %x = load i8, ptr %p\n  %r = insertelement <16 x i8> %a, i8 %x, i32 5",
      "pinsrb",
    ],
    [
      "extended",
      "%p",
      "  %x = load <4 x i8>, ptr %p, align 1\n  %r = zext <4 x i8> %x to <4 x i32>",
      "pmovzxbd",
    ],
  ] as const;
  test.each(cases)("%s", async (what, parameters, body, instruction) => {
    const type = what === "byte" ? "<16 x i8>" : "<4 x i32>";
    for (const [i, feature] of ["+sse4.1", "+avx2"].entries()) {
      const attributes = `"target-features"="${feature}"`;
      const text = await compiled(`${what}-memory-${i}`, type, `ptr ${parameters}`, body, attributes);
      expect(text).toMatch(new RegExp(`\\t${i === 1 ? "v" : ""}${instruction}\\t(?:\\$\\d, )?\\(%rdi\\), `));
    }
  });
});

test("what an immediate chooses of a register is not read of its place in memory", async () => {
  // Of memory insertps takes what is there, whatever the immediate says of lanes.
  const clobbers = Array.from({ length: 16 }, (_, i) => `~{xmm${i}}`).join(",");
  const body = `  call void asm sideeffect "", "${clobbers}"()
  %r = call <4 x float> @llvm.x86.sse41.insertps(<4 x float> %a, <4 x float> %b, i8 -48)`;
  for (const feature of ["+sse4.1", "+avx"]) {
    const attributes = `"target-features"="${feature}"`;
    const type = "<4 x float>";
    const text = await compiled(`insertps${feature}`, type, `${type} %a, ${type} %b`, body, attributes);
    expect(text).toMatch(/\tv?insertps\t\$208, %xmm\d, %xmm\d/);
  }
});

test("bits of lanes that are compared with zero are their signs", async () => {
  for (const [lanes, bits] of [
    [16, 8],
    [8, 16],
    [4, 32],
    [32, 8],
    [8, 32],
    [4, 64],
  ] as const) {
    const type = `<${lanes} x i${bits}>`;
    const body = `  %m = icmp slt ${type} %a, zeroinitializer\n  %r = bitcast <${lanes} x i1> %m to i${lanes}`;
    const wide = lanes * bits === 256;
    const attributes = `"target-features"="${wide ? "+avx2" : "+sse2"}"`;
    const text = await compiled(`signs-${lanes}-${bits}`, `i${lanes}`, `${type} %a`, body, attributes);
    expect(text).toMatch(/movmsk/);
    expect(text).not.toMatch(/cmp/);
  }
});

test("masks of 256 bits are combined as such", async () => {
  const type = "<32 x i8>";
  const body = `  %x = icmp eq ${type} %a, splat (i8 1)
  %y = icmp eq ${type} %a, splat (i8 2)
  %z = icmp sgt ${type} %a, splat (i8 7)
  %o = or <32 x i1> %x, %y
  %p = and <32 x i1> %o, <${Array.from({ length: 32 }, (_, i) => `i1 ${i % 3 !== 0}`).join(", ")}>
  %q = xor <32 x i1> %p, %z
  %r = bitcast <32 x i1> %q to i32`;
  const text = await compiled("masks", "i32", `${type} %a`, body, '"target-features"="+avx2"');
  expect(text.match(/\tv(?:orps|andps|xorps|por|pand|pxor)\t.*%ymm/g)?.length).toBe(3);
  expect(text).not.toMatch(/f128|i128/);
});

test("a conversion for speed waits for no vector register that is written", async () => {
  const body = "  %r = sitofp i32 %a to double";
  const text = await compiled("converted", "double", "i32 %a", body, '"target-features"="+avx"');
  expect(text).toMatch(/\tvcvtsi2sdl?\t%edi, %xmm15, %xmm0\n/);
});

test("products that are summed read memory, and leave their sum where it was", async () => {
  const body =
    "  %x = load double, ptr %p\n  %y = fadd double %s, %t\n  %r = call double @llvm.fma.f64(double %x, double %t, double %y)";
  const attributes = '"target-features"="+avx2,+fma"';
  const text = await compiled("summed", "double", "ptr %p, double %s, double %t", body, attributes);
  expect(text).toMatch(/\tvaddsd\t.*, %xmm0\n\tvfmadd231sd\t\(%rdi\), %xmm1, %xmm0\n/);
});

const f16 = "<16 x float>";
const skx = '"target-features"="+avx512f,+avx512bw,+avx512dq,+avx512vl"';
/** Lines of code alone. */
const linesOf = (text: string, wanted: RegExp): string[] =>
  text.split("\n").filter((line) => wanted.test(line));

test("an operation whose lanes a comparison chooses is done under its mask, with AVX-512", async () => {
  const body = `  %m = fcmp olt ${f16} %a, %b\n  %s = fadd ${f16} %c, %a\n  %r = select <16 x i1> %m, ${f16} %s, ${f16} %c`;
  const text = await compiled("under-mask", f16, `${f16} %a, ${f16} %b, ${f16} %c`, body, skx);
  expect(text).toMatch(/vcmpps \$1, %zmm1, %zmm0, %k1\n\tvaddps %zmm0, %zmm2, %zmm\d+ \{%k1\}/);
  expect(text).not.toMatch(/kmov|vblendm|\tvaddps\t/);
});

test("comparisons that must both hold are one mask, and zero is where it is clear", async () => {
  const body = `  %m = fcmp olt ${f16} %a, %b\n  %n = fcmp ogt ${f16} %a, %c\n  %k = and <16 x i1> %m, %n
  %s = fmul ${f16} %a, %b\n  %r = select <16 x i1> %k, ${f16} %s, ${f16} zeroinitializer`;
  const text = await compiled("both-hold", f16, `${f16} %a, ${f16} %b, ${f16} %c`, body, skx);
  expect(linesOf(text, /vcmpps/)).toHaveLength(2);
  expect(text).toMatch(/%k1 \{%k1\}\n\tvmulps .* \{%k1\}\{z\}/);
  expect(text).not.toMatch(/kmov/);
});

test("a mask of another block, or of three comparisons, is moved", async () => {
  const body = `  %m = fcmp olt ${f16} %a, %b\n  br i1 %d, label %x, label %y\nx:\n  %s = fadd ${f16} %a, %b
  %t = select <16 x i1> %m, ${f16} %s, ${f16} %a\n  br label %y\ny:\n  %r = phi ${f16} [ %t, %x ], [ %b, %0 ]`;
  const moved = await compiled("moved-mask", f16, `${f16} %a, ${f16} %b, i1 %d`, body, skx);
  expect(linesOf(moved, /vcmpps/)).toHaveLength(1);
  const three = `  %m = fcmp olt ${f16} %a, %b\n  %n = fcmp ogt ${f16} %a, %c\n  %o = fcmp une ${f16} %b, %c
  %k = and <16 x i1> %m, %n\n  %l = and <16 x i1> %k, %o\n  %r = select <16 x i1> %l, ${f16} %a, ${f16} %c`;
  const text = await compiled("three-masks", f16, `${f16} %a, ${f16} %b, ${f16} %c`, three, skx);
  expect(linesOf(text, /vcmpps/)).toHaveLength(3);
  expect(text).toMatch(/kmovw/);
});

test("bitwise operations on bytes, which no mask applies to, are chosen from", async () => {
  const type = "<64 x i8>";
  const body = `  %m = icmp ugt ${type} %a, %b\n  %s = and ${type} %a, %b\n  %r = select <64 x i1> %m, ${type} %s, ${type} %b`;
  const text = await compiled("bytes-and", type, `${type} %a, ${type} %b`, body, skx);
  expect(text).toMatch(/vpblendmb/);
  expect(text).toMatch(/\tvpandd?q?\t/);
});

describe("lanes that are held within the bounds of narrower ones are packed as they are", () => {
  const bounded = (type: string, low: string, high: string, kinds: readonly [string, string], to: string) => {
    const suffix = type.replace(/^<(\d+) x (.*)>$/, "v$1$2");
    return `  %x = call ${type} @llvm.${kinds[0]}.${suffix}(${type} %a, ${type} splat (${low}))
  %y = call ${type} @llvm.${kinds[1]}.${suffix}(${type} %x, ${type} splat (${high}))
  %r = trunc ${type} %y to ${to}`;
  };
  const clamp = ["smax", "umin"] as const;
  const cases = [
    ["to bytes", "<8 x i32>", "i32 0", "i32 255", clamp, "<8 x i8>", "packssdw packuswb"],
    ["to signed bytes", "<8 x i16>", "i16 -128", "i16 127", ["smax", "smin"], "<8 x i8>", "packsswb"],
    ["to signed words", "<8 x i32>", "i32 32767", "i32 -32768", ["smin", "smax"], "<8 x i16>", "packssdw"],
    ["not to other bounds", "<8 x i32>", "i32 1", "i32 255", clamp, "<8 x i8>", null],
    ["not of unsigned numbers", "<8 x i16>", "i16 255", "i16 0", ["umin", "smax"], "<8 x i8>", null],
  ] as const;
  test.each(cases)("%s", async (what, type, low, high, kinds, to, packs) => {
    for (const feature of ["+sse2", "+avx2"]) {
      const body = bounded(type, low, high, kinds, to);
      const name = `clamp-${what.replaceAll(" ", "-")}${feature}`;
      const text = await compiled(name, to, `${type} %a`, body, `"target-features"="${feature}"`);
      const own = [...text.matchAll(/\tv?(p(?!ush)\w+)\t/g)].map((m) => m[1]);
      if (packs === null) expect(own.some((op) => /^p(?:min|max|cmpgt)/.test(op!))).toBe(true);
      else expect(own).toEqual(packs.split(" "));
    }
  });
});

test("a lane extended and multiplied by extended words takes neither shifts nor masks", async () => {
  const body = `  %i = insertelement <8 x i8> poison, i8 %s, i64 0
  %v = shufflevector <8 x i8> %i, <8 x i8> poison, <8 x i32> zeroinitializer
  %w = sext <8 x i8> %v to <8 x i32>
  %x = sext <8 x i16> %a to <8 x i32>
  %r = mul <8 x i32> %w, %x`;
  const text = await compiled("words", "<8 x i32>", "<8 x i16> %a, i8 %s", body, '"target-features"="+sse2"');
  expect(text.match(/\tpmaddwd\t/g)?.length).toBe(2);
  expect(text).not.toMatch(/psra|pmuludq|andps|pand\b/);
});

test("an amount in all lanes goes to the shift without a detour, and lanes that loops keep are taken as they are", async () => {
  const body = `  %i = insertelement <4 x i32> poison, i32 %n, i64 0
  %v = shufflevector <4 x i32> %i, <4 x i32> poison, <4 x i32> zeroinitializer
  br label %l
l:
  %p = phi <4 x i32> [ %a, %0 ], [ %s, %l ]
  %t = add <4 x i32> %p, splat (i32 7)
  %s = lshr <4 x i32> %t, %v
  %e = extractelement <4 x i32> %s, i32 0
  %c = icmp eq i32 %e, 0
  br i1 %c, label %x, label %l
x:
  %r = add <4 x i32> %s, %a`;
  const of = (feature: string): Promise<string> =>
    compiled(`count${feature}`, "<4 x i32>", "<4 x i32> %a, i32 %n", body, `"target-features"="${feature}"`);
  const narrow = await of("+sse2");
  expect(narrow).toMatch(/\tpsrld\t%xmm/);
  expect(narrow).not.toMatch(/movq\t/);
  expect(await of("+avx2")).toMatch(/\tvpsrlvd\t/);
});

test("lanes chosen by the sign of numbers need no comparison", async () => {
  const body = `  %c = icmp slt <4 x i32> %a, zeroinitializer
  %r = select <4 x i1> %c, <4 x i32> %b, <4 x i32> %a`;
  const type = "<4 x i32>";
  const text = await compiled("sign", type, `${type} %a, ${type} %b`, body, '"target-features"="+avx2"');
  expect(text).toMatch(/\tvblendvps\t/);
  expect(text).not.toMatch(/cmpgt/);
});
