/**
 * Which vector instructions a function may use, by its attributes `target-cpu` and `target-features`.
 *
 * Clang spells out all features that a processor has; other compilers name the processor alone, or what is asked for
 * beyond it. Source: X86.td and X86TargetParser.cpp of LLVM 22.
 */
import type { AttributeSet } from "../../ir/attributes.js";

export interface VectorFeatures {
  readonly ssse3: boolean;
  readonly sse41: boolean;
  readonly sse42: boolean;
  readonly avx: boolean;
  readonly avx2: boolean;
  readonly fma: boolean;
  readonly f16c: boolean;
  /** AVX-512F, with registers of 512 bits. */
  readonly avx512: boolean;
  /** On bytes and words. */
  readonly bw: boolean;
  readonly dq: boolean;
  /** Of 128 and 256 bits, too. */
  readonly vl: boolean;
  readonly cd: boolean;
  readonly vbmi: boolean;
  readonly vpopcntdq: boolean;
  readonly bitalg: boolean;
  /** Sums of products of bytes, and of words, have EVEX encoding alone. */
  readonly onlyEvexInt8: boolean;
  readonly onlyEvexInt16: boolean;
}

const sse41 = ["ssse3", "sse41"];
const sse42 = [...sse41, "sse42"];
const avx1 = [...sse42, "avx"];
const avx512 = [...avx1, "avx2", "fma", "f16c", "avx512"];
const allOf512 = [...avx512, "bw", "dq", "vl", "cd"];
const icelake = [...allOf512, "vbmi", "vpopcntdq", "bitalg"];

/** What each feature brings along, as far as it matters here. */
const brings: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^avx512.*$/, avx512],
  [/^avx512(bw|fp16|bitalg|vbmi2?|bf16)$/, ["bw"]],
  [/^avx512(dq|fp16)$/, ["dq"]],
  [/^avx512(vl|fp16)$/, ["vl"]],
  [/^avx512cd$/, ["cd"]],
  [/^avx512vbmi$/, ["vbmi"]],
  [/^avx512vpopcntdq$/, ["vpopcntdq"]],
  [/^avx512bitalg$/, ["bitalg"]],
  [/^avx10.*$/, icelake],
  [/^avx10\.2/, ["avx10.2"]],
  [/^avxvnniint8$/, ["vnniint8"]],
  [/^avxvnniint16$/, ["vnniint16"]],
  [/^(avx2|vaes|vpclmulqdq|sha512|sm4|avxvnni.*|avxifma|avxneconvert)$/, [...avx1, "avx2"]],
  [/^(avx|xop|fma4|sm3)$/, avx1],
  [/^fma$/, [...avx1, "fma"]],
  [/^f16c$/, [...avx1, "f16c"]],
  [/^ssse3$/, ["ssse3"]],
  [/^sse4\.1$/, sse41],
  [/^sse4\.2$/, sse42],
];

const gone512 = ["avx512", "bw", "dq", "vl", "cd", "vbmi", "vpopcntdq", "bitalg"];
const goneAvx = ["avx", "avx2", "fma", "f16c", ...gone512];
/** What is gone with a feature. */
const takes: Readonly<Record<string, readonly string[]>> = {
  ssse3: [...sse42, ...goneAvx],
  "sse4.1": ["sse41", "sse42", ...goneAvx],
  "sse4.2": ["sse42", ...goneAvx],
  avx: goneAvx,
  avx2: ["avx2", ...gone512],
  fma: ["fma", ...gone512],
  f16c: ["f16c", ...gone512],
  avx512f: gone512,
  // Registers of 512 bits, with LLVM 18 to 21.
  evex512: gone512,
  avx512bw: ["bw", "vbmi", "bitalg"],
  avx512dq: ["dq"],
  avx512vl: ["vl"],
  avx512cd: ["cd"],
  avx512vbmi: ["vbmi"],
  avx512vpopcntdq: ["vpopcntdq"],
  avx512bitalg: ["bitalg"],
  "avx10.2": ["avx10.2"],
  avxvnniint8: ["vnniint8"],
  avxvnniint16: ["vnniint16"],
};

const sandyBridge = avx1;
const ivyBridge = [...avx1, "f16c"];
const haswell = [...avx1, "avx2", "fma", "f16c"];
const processors: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(core2|bonnell|atom|btver1)$/, ["ssse3"]],
  [/^penryn$/, sse41],
  [/^(x86-64-v2|nehalem|corei7|westmere|silvermont|slm|goldmont|goldmont-plus|tremont)$/, sse42],
  [/^(sandybridge|corei7-avx|btver2|bdver1)$/, sandyBridge],
  [/^(ivybridge|core-avx-i)$/, ivyBridge],
  [/^(bdver[23])$/, [...ivyBridge, "fma"]],
  [/^(x86-64-v3|haswell|core-avx2|broadwell|skylake|bdver4|znver[123])$/, haswell],
  [
    /^(alderlake|raptorlake|meteorlake|arrowlake|arrowlake-s|lunarlake|pantherlake|gracemont|sierraforest|grandridge|clearwaterforest)$/,
    haswell,
  ],
  [/^(knl|knm)$/, [...avx512, "cd"]],
  [/^(x86-64-v4|skylake-avx512|skx|cascadelake|cooperlake)$/, allOf512],
  [/^cannonlake$/, [...allOf512, "vbmi"]],
  [/^(icelake-client|icelake-server|rocketlake|tigerlake|sapphirerapids|emeraldrapids)$/, icelake],
  [/^(graniterapids|graniterapids-d|diamondrapids|novalake|znver[456])$/, icelake],
];

function compute({ strings }: AttributeSet): VectorFeatures {
  const has = new Set<string>();
  const cpu = strings.get("target-cpu") ?? "";
  for (const [names, features] of processors) if (names.test(cpu)) for (const f of features) has.add(f);
  for (const word of (strings.get("target-features") ?? "").split(",")) {
    const name = word.slice(1);
    if (word[0] === "+") {
      for (const [names, features] of brings) if (names.test(name)) for (const f of features) has.add(f);
    } else for (const gone of takes[name] ?? []) has.delete(gone);
  }
  return {
    ssse3: has.has("ssse3"),
    sse41: has.has("sse41"),
    sse42: has.has("sse42"),
    avx: has.has("avx"),
    avx2: has.has("avx2"),
    fma: has.has("fma"),
    f16c: has.has("f16c"),
    avx512: has.has("avx512"),
    bw: has.has("bw"),
    dq: has.has("dq"),
    vl: has.has("vl"),
    cd: has.has("cd"),
    vbmi: has.has("vbmi"),
    vpopcntdq: has.has("vpopcntdq"),
    bitalg: has.has("bitalg"),
    onlyEvexInt8: has.has("avx10.2") && !has.has("vnniint8"),
    onlyEvexInt16: has.has("avx10.2") && !has.has("vnniint16"),
  };
}

const known = new WeakMap<AttributeSet, VectorFeatures>();

/** @param set the function's own attributes */
export function vectorFeatures(set: AttributeSet): VectorFeatures {
  let features = known.get(set);
  if (features === undefined) known.set(set, (features = compute(set)));
  return features;
}
