/**
 * The machine's own intrinsics of AVX, AVX2, FMA and F16C, onto instructions of the same name (Intel Intrinsics Guide for the
 * order of operands), and of SSE those that may say more in VEX encoding.
 */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type CallInst, Op } from "../../ir/instructions.js";
import { i32, i64, type Type } from "../../ir/types.js";
import { type Value, zeroOf } from "../../ir/values.js";
import { assembly } from "./assembly.js";
import { maskedLoad, maskedStore } from "./avx-memory.js";
import { vex } from "./avx-registers.js";
import { avx2Gather } from "./evex-gather.js";
import { toRegister } from "./vectors-lanes.js";
import { as, imm, letterOf, v2i64 } from "./vectors-sse.js";

/** Intrinsic after `x86.` → the instruction that `V` names; its operands pass through. */
const direct: Readonly<Record<string, string>> = {
  "aesni.aesdec.256": "Aesdec",
  "aesni.aesdeclast.256": "Aesdeclast",
  "aesni.aesenc.256": "Aesenc",
  "aesni.aesenclast.256": "Aesenclast",
  "avx.addsub.pd.256": "Addsubpd",
  "avx.addsub.ps.256": "Addsubps",
  "avx.cmp.pd.256": "Cmppd",
  "avx.cmp.ps.256": "Cmpps",
  "avx.cvt.pd2.ps.256": "Cvtpd2ps",
  "avx.cvt.pd2dq.256": "Cvtpd2dq",
  "avx.cvt.ps2dq.256": "Cvtps2dq",
  "avx.cvtt.pd2dq.256": "Cvttpd2dq",
  "avx.cvtt.ps2dq.256": "Cvttps2dq",
  "avx.dp.ps.256": "Dpps",
  "avx.hadd.pd.256": "Haddpd",
  "avx.hadd.ps.256": "Haddps",
  "avx.hsub.pd.256": "Hsubpd",
  "avx.hsub.ps.256": "Hsubps",
  "avx.max.pd.256": "Maxpd",
  "avx.max.ps.256": "Maxps",
  "avx.min.pd.256": "Minpd",
  "avx.min.ps.256": "Minps",
  "avx.movmsk.pd.256": "Movmskpd",
  "avx.movmsk.ps.256": "Movmskps",
  "avx.rcp.ps.256": "Rcpps",
  "avx.rsqrt.ps.256": "Rsqrtps",
  "avx.round.pd.256": "Roundpd",
  "avx.round.ps.256": "Roundps",
  "avx.sqrt.pd.256": "Sqrtpd",
  "avx.sqrt.ps.256": "Sqrtps",
  "avx.vpermilvar.pd": "Permilpd",
  "avx.vpermilvar.pd.256": "Permilpd",
  "avx.vpermilvar.ps": "Permilps",
  "avx.vpermilvar.ps.256": "Permilps",
  "avx.vperm2f128.pd.256": "Perm2f128",
  "avx.vperm2f128.ps.256": "Perm2f128",
  "avx.vperm2f128.si.256": "Perm2f128",
  "avx2.mpsadbw": "Mpsadbw",
  "avx2.packssdw": "Packssdw",
  "avx2.packsswb": "Packsswb",
  "avx2.packusdw": "Packusdw",
  "avx2.packuswb": "Packuswb",
  "avx2.pavg.b": "Pavgb",
  "avx2.pavg.w": "Pavgw",
  "avx2.phadd.d": "Phaddd",
  "avx2.phadd.sw": "Phaddsw",
  "avx2.phadd.w": "Phaddw",
  "avx2.phsub.d": "Phsubd",
  "avx2.phsub.sw": "Phsubsw",
  "avx2.phsub.w": "Phsubw",
  "avx2.pmadd.ub.sw": "Pmaddubsw",
  "avx2.pmadd.wd": "Pmaddwd",
  "avx2.pmovmskb": "Pmovmskb",
  "avx2.pmul.hr.sw": "Pmulhrsw",
  "avx2.pmulh.w": "Pmulhw",
  "avx2.pmulhu.w": "Pmulhuw",
  "avx2.psad.bw": "Psadbw",
  "avx2.pshuf.b": "Pshufb",
  "avx2.psign.b": "Psignb",
  "avx2.psign.d": "Psignd",
  "avx2.psign.w": "Psignw",
  "avx2.psllv.d": "Psllvd",
  "avx2.psllv.d.256": "Psllvd",
  "avx2.psllv.q": "Psllvq",
  "avx2.psllv.q.256": "Psllvq",
  "avx2.psrav.d": "Psravd",
  "avx2.psrav.d.256": "Psravd",
  "avx2.psrlv.d": "Psrlvd",
  "avx2.psrlv.d.256": "Psrlvd",
  "avx2.psrlv.q": "Psrlvq",
  "avx2.psrlv.q.256": "Psrlvq",
  "avx2.vperm2i128": "Perm2i128",
  "fma.vfmaddsub.pd": "Fmaddsub213pd",
  "fma.vfmaddsub.pd.256": "Fmaddsub213pd",
  "fma.vfmaddsub.ps": "Fmaddsub213ps",
  "fma.vfmaddsub.ps.256": "Fmaddsub213ps",
  "fma.vfmsubadd.pd": "Fmsubadd213pd",
  "fma.vfmsubadd.pd.256": "Fmsubadd213pd",
  "fma.vfmsubadd.ps": "Fmsubadd213ps",
  "fma.vfmsubadd.ps.256": "Fmsubadd213ps",
  "pclmulqdq.256": "Pclmulqdq",
  "vcvtph2ps.128": "Cvtph2ps",
  "vcvtph2ps.256": "Cvtph2ps",
  "vcvtps2ph.128": "Cvtps2ph",
  "vcvtps2ph.256": "Cvtps2ph",
  // Predicates of VEX encoding have five bits.
  "sse.cmp.ps": "Cmpps",
  "sse2.cmp.pd": "Cmppd",
};

/** With the operands in the order of the instruction's text: the index, or what is chosen where the mask is clear, first. */
const swapped: Readonly<Record<string, string>> = { "avx2.permd": "Permd", "avx2.permps": "Permps" };
const blends: Readonly<Record<string, string>> = {
  "avx.blendv.pd.256": "Blendvpd",
  "avx.blendv.ps.256": "Blendvps",
  "avx2.pblendvb": "Pblendvb",
};
/** Tests whose flags say whether there is a common bit, and whether the second has any besides. */
const flags: Readonly<Record<string, string>> = { z: "e", c: "b", nzc: "a" };

/** Sums of products, of AVX-VNNI and AVX-IFMA: as those of AVX-512, but in VEX encoding. */
const accumulating = /^avx(?:2\.v(?=pdp[bw])|512\.v)(?:(pdp[a-z]+)|(pmadd52[hl])\.uq)\.(?:128|256)$/;

/**
 * What is inline assembly: pattern of the name, instruction, and the operands of its text from the last, which is the result: `c`
 * a source that is the result as well, `a` a source, `m` memory that is read, `i` an immediate. Sources are the intrinsic's arguments in
 * the order of the letters.
 */
const assembled: readonly (readonly [RegExp, (match: RegExpExecArray) => string, string])[] = [
  [/^(vcvtne[eo](?:ph|bf16)2ps|vbcstne(?:sh|bf16)2ps)(?:128|256)$/, (m) => m[1]!, "m"],
  [/^vcvtneps2bf16(?:128|256)$/, () => "{vex} vcvtneps2bf16", "a"],
  [/^(vsha512msg[12])$/, (m) => m[1]!, "ca"],
  [/^(vsha512rnds2|vsm3msg[12])$/, (m) => m[1]!, "caa"],
  [/^(vsm3rnds2)$/, (m) => m[1]!, "caai"],
  [/^(vsm4(?:key|rnds)4)(?:128|256)$/, (m) => m[1]!, "aa"],
  [/^xop\.(vfrcz)\.([ps][sd])(?:\.256)?$/, (m) => `${m[1]}${m[2]}`, "a"],
  [/^xop\.(vph(?:add|sub)\w+)(?:\.256)?$/, (m) => m[1]!, "a"],
  [/^xop\.(vpsh[al][bwdq])$/, (m) => m[1]!, "aa"],
  [/^xop\.(vpmac\w+|vpmadcs?swd|vpperm)$/, (m) => m[1]!, "aaa"],
  [/^xop\.(vpermil2p[sd])(?:\.256)?$/, (m) => m[1]!, "aaai"],
];

/** Null: it is none of these. */
function assemble(l: Lowering, name: string, result: Type, values: () => Value[]): Value | null {
  for (const [pattern, mnemonic, roles] of assembled) {
    const match = pattern.exec(name);
    if (match === null) continue;
    const sources: string[] = [];
    const constraints = ["=x"];
    const operands: Value[] = [];
    values().forEach((value, i) => {
      const role = roles[i];
      if (role === "i") sources.push(`$$${(value as { num: number }).num & 0xff}`);
      else operands.push(value);
      if (role === "c") constraints.push("0");
      if (role === "a" || role === "m") constraints.push(role === "a" ? "x" : "r");
      if (role === "a") sources.push(`$${operands.length}`);
      if (role === "m") sources.push(`($${operands.length})`);
    });
    const readsMemory = roles.includes("m");
    if (readsMemory) constraints.push("~{memory}");
    const text = `${mnemonic(match)} ${sources.reverse().join(", ")}, $0`;
    return assembly(l, text, constraints.join(","), result, operands, readsMemory);
  }
  return null;
}

/** The parts of a call; null: it is none of these. @param name after `x86.` */
export function avxMachineIntrinsic(
  l: Lowering,
  name: string,
  inst: CallInst,
  args: readonly Value[],
): Parts | null {
  const values = (): Value[] => args.map((a) => (a.valueKind === "int" ? a : l.value(a)));
  const result = inst.type;
  const instruction = direct[name];
  if (instruction !== undefined) return [vex(l, instruction, result, ...values().map(immediate))];
  const reversed = swapped[name];
  if (reversed !== undefined) {
    const [source, index] = values() as [Value, Value];
    return [vex(l, reversed, result, index, source)];
  }
  const blend = blends[name];
  if (blend !== undefined) return [vex(l, blend, result, ...values())];
  const test = /^avx\.(?:ptest(z|c|nzc)\.256|vtest(z|c|nzc)\.(p[sd])(?:\.256)?)$/.exec(name);
  if (test !== null)
    return [
      vex(
        l,
        `${test[3] === undefined ? "Ptest" : `Test${test[3]}`}.${flags[test[1] ?? test[2]!]}`,
        i32,
        ...values(),
      ),
    ];
  const scalar = /^sse2?\.cmp\.(s[sd])$/.exec(name);
  if (scalar !== null) return [vex(l, `Cmp${scalar[1]}`, result, ...values().map(immediate))];
  const shift = /^avx2\.ps(ll|rl|ra)(i?)\.([wdq])$/.exec(name);
  if (shift !== null) return [lowerShift(l, `Ps${shift[1]}`, shift[2] === "i", values())];
  const masked = /^avx2?\.mask(load|store)\.(ps|pd|d|q)(?:\.256)?$/.exec(name);
  if (masked !== null) {
    const [pointer, mask, data] = values() as [Value, Value, Value?];
    if (data === undefined) return [maskedLoad(l, result, pointer, mask)];
    maskedStore(l, data, pointer, mask);
    return [];
  }
  if (name.startsWith("avx2.gather.")) return [avx2Gather(l, result, args)];
  const accumulated = accumulating.exec(name);
  if (accumulated !== null) {
    const [sum, a, b] = values() as [Value, Value, Value];
    const [, product, part] = accumulated;
    const mnemonic = product ?? `${part}uq`;
    const text = `{vex} v${mnemonic} $2, $1, $0`;
    return [assembly(l, text, "=x,x,x,0", result, [a, b, sum], false)];
  }
  const galois = /^v(gf2p8\w+)\.256$/.exec(name);
  if (galois !== null) {
    const [a, b, byte] = values() as [Value, Value, Value?];
    const number = byte?.valueKind === "int" ? `$$${byte.num & 0xff}, ` : "";
    return [assembly(l, `v${galois[1]} ${number}$2, $1, $0`, "=x,x,x", result, [a, b], false)];
  }
  const made = assemble(l, name, l.partTypes(result)[0]!, values);
  if (made !== null) return [made];
  switch (name) {
    case "avx.ldu.dq.256":
      return [l.load(result, l.value(args[0]!), 1)];
    case "avx.vzeroupper":
    case "avx.vzeroall":
      // What is above values that are in use is zeroed wherever SSE code may follow.
      return [];
    default:
      return null;
  }
}

/** Numbers that an instruction has beside its operands are bytes. */
const immediate = (value: Value): Value => (value.valueKind === "int" ? imm(value.num & 0xff) : value);

/** All lanes by one count; past the lane that clears it, or fills it with the sign. */
function lowerShift(l: Lowering, name: string, byNumber: boolean, [v, amount]: Value[]): Value {
  const { type } = v!;
  const { bits } = type.element;
  const instruction = `${name}${letterOf(bits)}`;
  if (!byNumber) return vex(l, instruction, type, v!, as(l, amount!, v2i64));
  if (amount!.valueKind === "int") {
    const n = Number(BigInt.asUintN(32, amount!.value));
    if (n === 0) return v!;
    if (n >= bits && name !== "Psra") return zeroOf(type);
    return vex(l, instruction, type, v!, imm(Math.min(n, bits - 1)));
  }
  return vex(l, instruction, type, v!, toRegister(l, l.cast(Op.ZExt, amount!, i64), v2i64));
}
