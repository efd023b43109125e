/**
 * Which vector instructions a function may use, by its attributes `target-cpu` and `target-features`.
 *
 * Clang spells out all features that a processor has; other compilers name the processor alone, or what is asked for
 * beyond it. Source: X86.td and X86TargetParser.cpp of LLVM 22.
 */
import type { AttributeSet } from "../../ir/attributes.js";

export interface VectorFeatures {
  readonly avx: boolean;
  readonly avx2: boolean;
  readonly fma: boolean;
  readonly f16c: boolean;
  /** 512 bits are there, which code generation does not use. */
  readonly avx512: boolean;
}

/** What each feature brings along, as far as it matters here. */
const brings: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^avx(512.*|10.*)$/, ["avx", "avx2", "fma", "f16c", "avx512"]],
  [/^(avx2|vaes|vpclmulqdq|sha512|sm4|avxvnni.*|avxifma|avxneconvert)$/, ["avx", "avx2"]],
  [/^(avx|xop|fma4|sm3)$/, ["avx"]],
  [/^fma$/, ["avx", "fma"]],
  [/^f16c$/, ["avx", "f16c"]],
];

/** What is gone with a feature. */
const takes: Readonly<Record<string, readonly string[]>> = {
  avx: ["avx", "avx2", "fma", "f16c", "avx512"],
  avx2: ["avx2", "avx512"],
  fma: ["fma", "avx512"],
  f16c: ["f16c", "avx512"],
  avx512f: ["avx512"],
};

const sandyBridge = ["avx"];
const ivyBridge = ["avx", "f16c"];
const haswell = ["avx", "avx2", "fma", "f16c"];
const skylakeServer = [...haswell, "avx512"];
const processors: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(sandybridge|corei7-avx|btver2|bdver1)$/, sandyBridge],
  [/^(ivybridge|core-avx-i)$/, ivyBridge],
  [/^(bdver[23])$/, ["avx", "f16c", "fma"]],
  [/^(x86-64-v3|haswell|core-avx2|broadwell|skylake|bdver4|znver[123])$/, haswell],
  [
    /^(alderlake|raptorlake|meteorlake|arrowlake|arrowlake-s|lunarlake|pantherlake|gracemont|sierraforest|grandridge|clearwaterforest)$/,
    haswell,
  ],
  [
    /^(x86-64-v4|knl|knm|skylake-avx512|skx|cascadelake|cooperlake|cannonlake|icelake-client|icelake-server)$/,
    skylakeServer,
  ],
  [
    /^(rocketlake|tigerlake|sapphirerapids|emeraldrapids|graniterapids|graniterapids-d|znver[456])$/,
    skylakeServer,
  ],
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
    avx: has.has("avx"),
    avx2: has.has("avx2"),
    fma: has.has("fma"),
    f16c: has.has("f16c"),
    avx512: has.has("avx512"),
  };
}

const known = new WeakMap<AttributeSet, VectorFeatures>();

/** @param set the function's own attributes */
export function vectorFeatures(set: AttributeSet): VectorFeatures {
  let features = known.get(set);
  if (features === undefined) known.set(set, (features = compute(set)));
  return features;
}
