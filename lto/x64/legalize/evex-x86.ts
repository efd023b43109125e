/**
 * The machine's own intrinsics of AVX-512: the frequent ones onto instructions of the table, by name; all others are inline
 * assembly, made from the name and from a description of their operands (Intel Intrinsics Guide for the order).
 */
import { intResize } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type CallInst, Op } from "../../ir/instructions.js";
import { i32, i64, type Type } from "../../ir/types.js";
import { constInt, type Value, zeroOf } from "../../ir/values.js";
import { assembly } from "./assembly.js";
import { isWidest, vex } from "./avx-registers.js";
import { fromMask, makeMask, storeUnderMask, toMask, wordType } from "./evex-assembly.js";
import { evexGather, evexScatter } from "./evex-gather.js";
import { maskOfWord, wordOf } from "./evex-masks.js";
import type { Evex } from "./evex-parts.js";
import { toRegister } from "./vectors-lanes.js";
import { shapeOf } from "./vectors-shape.js";
import { as, imm, letterOf, v2i64 } from "./vectors-sse.js";

/** Intrinsic after `x86.`, without its width → the instruction that `V` names; its operands pass through. */
const direct: Readonly<Record<string, string>> = {
  "avx512.conflict.d": "Pconflictd",
  "avx512.conflict.q": "Pconflictq",
  "avx512.packssdw": "Packssdw",
  "avx512.packsswb": "Packsswb",
  "avx512.packusdw": "Packusdw",
  "avx512.packuswb": "Packuswb",
  "avx512.pavg.b": "Pavgb",
  "avx512.pavg.w": "Pavgw",
  "avx512.pmaddubs.w": "Pmaddubsw",
  "avx512.pmaddw.d": "Pmaddwd",
  "avx512.pmul.hr.sw": "Pmulhrsw",
  "avx512.pmulh.w": "Pmulhw",
  "avx512.pmulhu.w": "Pmulhuw",
  "avx512.pmultishift.qb": "Pmultishiftqb",
  "avx512.psad.bw": "Psadbw",
  "avx512.pshuf.b": "Pshufb",
  "avx512.psllv.d": "Psllvd",
  "avx512.psllv.q": "Psllvq",
  "avx512.psllv.w": "Psllvw",
  "avx512.psrav.d": "Psravd",
  "avx512.psrav.q": "Psravq",
  "avx512.psrav.w": "Psravw",
  "avx512.psrlv.d": "Psrlvd",
  "avx512.psrlv.q": "Psrlvq",
  "avx512.psrlv.w": "Psrlvw",
  "avx512.pternlog.d": "Pternlogd",
  "avx512.pternlog.q": "Pternlogq",
  "avx512.vpdpbusd": "Pdpbusd",
  "avx512.vpdpbusds": "Pdpbusds",
  "avx512.vpdpwssd": "Pdpwssd",
  "avx512.vpdpwssds": "Pdpwssds",
  "avx512.vpermi2var.d": "Permt2d",
  "avx512.vpermi2var.hi": "Permt2w",
  "avx512.vpermi2var.pd": "Permt2pd",
  "avx512.vpermi2var.ps": "Permt2ps",
  "avx512.vpermi2var.q": "Permt2q",
  "avx512.vpermi2var.qi": "Permt2b",
  "avx512.vpermilvar.pd": "Permilpd",
  "avx512.vpermilvar.ps": "Permilps",
  "avx512.vpmadd52h.uq": "Pmadd52huq",
  "avx512.vpmadd52l.uq": "Pmadd52luq",
  "aesni.aesenc": "Aesenc",
  "aesni.aesenclast": "Aesenclast",
  "aesni.aesdec": "Aesdec",
  "aesni.aesdeclast": "Aesdeclast",
  pclmulqdq: "Pclmulqdq",
};

/** The index, or what the instruction's text has first, is the second operand. */
const swapped: Readonly<Record<string, string>> = {
  "avx512.permvar.df": "PermpdVar",
  "avx512.permvar.di": "PermqVar",
  "avx512.permvar.hi": "Permw",
  "avx512.permvar.qi": "Permb",
  "avx512.permvar.sf": "Permps",
  "avx512.permvar.si": "Permd",
};

/** Rounded as the machine is set, these are instructions of the table. */
const rounded: Readonly<Record<string, string>> = {
  add: "Add",
  sub: "Sub",
  mul: "Mul",
  div: "Div",
  max: "Max",
  min: "Min",
  sqrt: "Sqrt",
  vfmadd: "Fmadd213",
  vfmaddsub: "Fmaddsub213",
};

/**
 * Operands of what is inline assembly, in the order of the intrinsic: sources `a` and `b`, `c` a source that is the result as
 * well, `p` the same where the mask leaves it, `r` what lanes have where the mask is clear, `m` the mask, `i` an immediate, `e` a
 * rounding mode, `s` whether exceptions are suppressed, `g` a general register. What is missing at the end is not there.
 */
const shapes: readonly (readonly [RegExp, (match: RegExpExecArray) => string, string])[] = [
  // AVX10.2. Its conversions are like names of others (below).
  [/^mask\.(getexp|rcp|rsqrt)\.bf16$/, (m) => `v${m[1]}bf16`, "arm"],
  [/^mask\.(getmant|reduce|rndscale)\.bf16$/, (m) => `v${m[1]}bf16`, "airm"],
  [/^mask\.scalef\.bf16$/, () => "vscalefbf16", "abrm"],
  [/^v(add|sub|mul|div|max|min)bf16$/, (m) => `v${m[1]}bf16`, "ab"],
  [/^vminmax(bf16|p[hsd])$/, (m) => `vminmax${m[1]}`, "abi"],
  [/^mask\.vminmax([ps][hsd])(?:\.round)?$/, (m) => `vminmax${m[1]}`, "abirms"],
  [/^(vf(?:nm|m)(?:add|sub)(?:132|213|231)bf16)$/, (m) => m[1]!, "cab"],
  [/^(vdpphps|vpdp[bw][su][su]ds?)$/, (m) => `{evex} ${m[1]}`, "cab"],
  [/^vmpsadbw$/, () => "vmpsadbw", "abi"],
  [/^mask\.vcvt2ps2phx$/, () => "vcvt2ps2phx", "abrme"],
  [/^mask\.(vcvtbiasph2[bh]f8s?)$/, (m) => m[1]!, "abrm"],
  [/^mask\.(vcvt(?:hf82ph|ph2[bh]f8s?))$/, (m) => m[1]!, "arm"],
  [/^(vcvt2ph2[bh]f8s?)$/, (m) => m[1]!, "ab"],
  [/^(vcvtt?bf162iu?bs)$/, (m) => m[1]!, "a"],
  [/^mask\.(vcvttp[hs]2iu?bs|vcvttp[sd]2u?(?:dq|qq)s)(?:\.round)?$/, (m) => m[1]!, "arms"],
  [/^mask\.(vcvtp[hs]2iu?bs)$/, (m) => m[1]!, "arme"],
  [/^(vcvtts[sd]2u?sis)(?:64)?$/, (m) => m[1]!, "as"],
  [/^(add|sub|mul|div)\.(p[dsh])$/, (m) => `v${m[1]}${m[2]}`, "abe"],
  [/^(max|min)\.(p[dsh])$/, (m) => `v${m[1]}${m[2]}`, "abs"],
  [/^sqrt\.(p[dsh])$/, (m) => `vsqrt${m[1]}`, "ae"],
  [/^(vfmadd|vfmaddsub)\.(p[dsh])$/, (m) => `${m[1]}213${m[2]}`, "cbae"],
  [/^vfmadd\.f(16|32|64)$/, (m) => `vfmadd213s${{ 16: "h", 32: "s", 64: "d" }[m[1]!]!}`, "cbae"],
  [/^mask\.(add|sub|mul|div|sqrt)\.(s[dsh])(?:\.round)?$/, (m) => `v${m[1]}${m[2]}`, "abrme"],
  [/^mask\.(max|min)\.(s[dsh])\.round$/, (m) => `v${m[1]}${m[2]}`, "abrms"],
  [/^mask\.v?(cvts[dsh]2s[dsh])\.round$/, (m) => `v${m[1]}`, "abrmE"],
  [/^mask\.getexp\.(p[dsh])$/, (m) => `vgetexp${m[1]}`, "arms"],
  [/^mask\.getexp\.(s[dsh])$/, (m) => `vgetexp${m[1]}`, "abrms"],
  [/^(?:mask\.)?(rcp14|rsqrt14|rcp|rsqrt)\.(p[dsh])$/, (m) => `v${m[1]}${m[2]}`, "arm"],
  [/^(?:mask\.)?(rcp14|rsqrt14|rcp|rsqrt)\.(s[dsh])$/, (m) => `v${m[1]}${m[2]}`, "abrm"],
  [/^mask\.range\.(p[ds])$/, (m) => `vrange${m[1]}`, "abirms"],
  [/^mask\.(reduce|rndscale|getmant)\.(p[dsh])$/, (m) => `v${m[1]}${m[2]}`, "airms"],
  [/^mask\.(range|reduce|rndscale)\.(s[dsh])$/, (m) => `v${m[1]}${m[2]}`, "abrmis"],
  [/^mask\.getmant\.(s[dsh])$/, (m) => `vgetmant${m[1]}`, "abirms"],
  [/^mask\.scalef\.([ps][dsh])$/, (m) => `vscalef${m[1]}`, "abrme"],
  [/^maskz?\.fixupimm\.([ps][ds])$/, (m) => `vfixupimm${m[1]}`, "pabims"],
  [/^mask\.vcvtps2ph$/, () => "vcvtps2ph", "airm"],
  [/^mask\.v?(cvt(?:t\w+|ps2pd|ph2psx?|ph2pd))$/, (m) => `v${m[1]}`, "arms"],
  [/^mask\.v?(cvt\w+)$/, (m) => `v${m[1]}`, "arme"],
  [/^dbpsadbw$/, () => "vdbpsadbw", "abi"],
  [/^v?cvtu?si(?:2|642)s[dsh](?:32|64)?$/, () => "", "age"],
  [/^v?cvtt(s[dsh]2u?si)(?:32|64)?$/, (m) => `vcvtt${m[1]}`, "as"],
  [/^vcvt(s[dsh]2u?si)(?:32|64)?$/, (m) => `vcvt${m[1]}`, "ae"],
  [/^([su])itofp\.round\.v\d+f(\d+)\.v\d+i(\d+)$/, conversionName, "ae"],
  [/^mask\.(v(?:fmul|fcmul))\.c([ps])h$/, (m) => `${m[1]}c${m[2]}h`, "abrme"],
  [/^maskz?\.(v(?:fmadd|fcmadd))\.c([ps])h$/, (m) => `${m[1]}c${m[2]}h`, "abpme"],
  [/^cvtne2ps2bf16$/, () => "vcvtne2ps2bf16", "ab"],
  [/^cvtneps2bf16$/, () => "vcvtneps2bf16", "a"],
  [/^mask\.cvtneps2bf16$/, () => "vcvtneps2bf16", "arm"],
  [/^dpbf16ps$/, () => "vdpbf16ps", "cab"],
  [/^mask\.(compress|expand)\.v\d+([fi])(\d+)$/, packName, "arm"],
  [/^mask\.(pmovu?s?)\.(\w+)$/, (m) => `v${m[1]}${m[2]}`, "arm"],
];

function conversionName([, sign, float, int]: RegExpExecArray): string {
  const from = { 16: "w", 32: "dq", 64: "qq" }[int!]!;
  const to = { 16: "ph", 32: "ps", 64: "pd" }[float!]!;
  return `vcvt${sign === "u" ? "u" : ""}${from}2${to}`;
}

function packName([, kind, file, bits]: RegExpExecArray): string {
  if (file === "f") return `v${kind}p${bits === "32" ? "s" : "d"}`;
  return `vp${kind}${letterOf(Number(bits))}`;
}

/** The parts of a call; null: it is none of these. @param name after `x86.` */
export function evexMachineIntrinsic(
  l: Lowering,
  name: string,
  inst: CallInst,
  args: readonly Value[],
  evex: Evex,
): Parts | null {
  const stem = name.replace(name.startsWith("avx10.") ? /\.?(?:128|256|512)$/ : /\.(?:128|256|512)$/, "");
  const types = l.partTypes(inst.type);
  const result = types[0]!;
  const isVector = result?.kind === "vector";
  const values = (): Value[] => args.map((a) => operand(l, a, evex));
  const instruction = direct[stem];
  if (instruction !== undefined && (stem.startsWith("avx512") || /256|512/.test(name)))
    return [
      vex(l, instruction, result, ...values().map((v) => (v.valueKind === "int" ? imm(v.num & 0xff) : v))),
    ];
  const reversed = swapped[stem];
  if (reversed !== undefined) {
    const [source, index] = values() as [Value, Value];
    return [vex(l, reversed, result, index, source)];
  }
  const shift = /^avx512\.ps(ll|rl|ra)(i?)\.([wdq])$/.exec(stem);
  if (shift !== null) return [shiftAll(l, `Ps${shift[1]}${shift[3]}`, shift[2] === "i", values())];
  const crypto = /^(vgf2p8(?:mulb|affineqb|affineinvqb))$/.exec(stem);
  if (crypto !== null) return [assemble(l, crypto[1]!, "abi", result, values())];
  const toBfloat = /^vcvtneps2bf16(?:128|256)$/.test(name);
  if (toBfloat) return [assemble(l, "vcvtneps2bf16", "a", result, values())];
  const family = /^avx(?:512(?:fp16|bf16)?|10)\.(.*)$/.exec(stem)?.[1];
  if (family === undefined) return beyond(l, stem, result, values, evex);
  const nontemporal = /^vmovrs[bwdq]$/.exec(family)?.[0];
  if (nontemporal !== undefined)
    return [assembly(l, `${nontemporal} ($1), $0`, "=x,r,~{memory}", result!, values())];
  if (/^mask\.(?:gather|scatter)/.test(family)) {
    if (family.includes("gather")) return [evexGather(l, family, result, args, evex)];
    evexScatter(l, family, args, evex);
    return [];
  }
  if (isVector || types.length === 1) {
    const plain = asSet(l, family, result, args);
    if (plain !== null) return plain;
  }
  const masks = ofMasks(l, family, inst.type, args, evex);
  if (masks !== null) return masks;
  const store = /^mask\.(pmovu?s?)\.(\w+)\.mem$/.exec(stem.slice("avx512.".length));
  if (store !== null) {
    const [pointer, value, word] = args.map((a) => operand(l, a, evex)) as [Value, Value, Value];
    storeUnderMask(l, `v${store[1]}${store[2]}`, word.type.bits, word, value, pointer);
    return [];
  }
  for (const [pattern, mnemonic, roles] of shapes) {
    const match = pattern.exec(family);
    if (match === null) continue;
    if (result === undefined) return null;
    if (roles === "age") return [fromGeneral(l, family, result, values())];
    return [assemble(l, mnemonic(match), roles, result, values(), stem.includes(".maskz."))];
  }
  return null;
}

/** Of later extensions, what has forms of 512 bits, or masks. @param stem of the name */
function beyond(
  l: Lowering,
  stem: string,
  result: Type | undefined,
  values: () => Value[],
  { features }: Evex,
): Parts | null {
  if (result === undefined) return null;
  if (/^vsm4(?:key|rnds)4512$/.test(stem))
    return [assemble(l, `{evex} ${stem.slice(0, -3)}`, "ab", result, values())];
  const product = /^avx2\.(vpdp([bw])[su][su]ds?)$/.exec(stem);
  if (product === null || !(product[2] === "b" ? features.onlyEvexInt8 : features.onlyEvexInt16)) return null;
  return [assemble(l, `{evex} ${product[1]}`, "cab", result, values())];
}

/** Of the low lanes; a NaN is equal to none, and no comparison but `neq` holds. */
function compareBfloats(l: Lowering, condition: string, [a, b]: Value[]): Value {
  // Flags are as after a comparison of unsigned numbers; a NaN sets those of "below" and "equal", and parity.
  if (condition === "eq" || condition === "neq") {
    const [set, other] = condition === "eq" ? ["sete", 0] : ["setne", 1];
    const text = `vcomisbf16 $2, $1\n\tmovl $$0, \${0:k}\n\t${set} \${0:b}\n\tcmovpl \${3:k}, \${0:k}`;
    return assembly(l, text, "=&r,x,x,r", i32, [a!, b!, constInt(i32, other as number)], false);
  }
  const [first, second] = condition.startsWith("l") ? [b!, a!] : [a!, b!];
  const set = condition.endsWith("t") ? "seta" : "setae";
  const text = `vcomisbf16 $2, $1\n\tmovl $$0, \${0:k}\n\t${set} \${0:b}`;
  return assembly(l, text, "=&r,x,x", i32, [first, second], false);
}

/** An operand as one value: a mask as its bits. */
function operand(l: Lowering, value: Value, evex: Evex): Value {
  if (value.valueKind === "int") return value;
  const { type } = value;
  if (type.kind === "vector" && shapeOf(type).representation === "mask")
    return wordOf(l, evex.avx, type, l.parts(value));
  return l.value(value);
}

/** What is rounded as the machine is set: the last operand says so. */
function asSet(l: Lowering, family: string, result: Type, args: readonly Value[]): Parts | null {
  const match = /^(\w+)\.(p[ds]|f32|f64)$/.exec(family);
  const name = match === null ? undefined : rounded[match[1]!];
  const mode = args.at(-1);
  if (name === undefined || mode?.valueKind !== "int" || (mode.num & 4) === 0) return null;
  if (name === "Fmaddsub213" && !isWidest(result)) return null;
  const kind = { ps: "ps", pd: "pd", f32: "ss", f64: "sd" }[match![2]!]!;
  return [vex(l, `${name}${kind}`, result, ...args.slice(0, -1).map((a) => l.value(a)))];
}

/** The text of a rounding mode. */
function modeText(role: string, mode: number): string {
  if ((mode & 8) === 0) return "";
  if (role === "s") return "{sae}, ";
  return `{r${["n", "d", "u", "z"][mode & 3]!}-sae}, `;
}

/** Inline assembly by the roles of operands (see `shapes`). */
function assemble(
  l: Lowering,
  mnemonic: string,
  roles: string,
  result: Type,
  args: readonly Value[],
  zeroing = false,
): Value {
  const operands: Value[] = [];
  const constraints: string[] = [];
  const place = (value: Value, constraint: string): number => {
    operands.push(value);
    constraints.push(constraint);
    return operands.length;
  };
  let immediate = "";
  let mode = "";
  let mask = "";
  let before = "";
  const sources: string[] = [];
  args.forEach((value, i) => {
    const role = roles[i];
    switch (role) {
      case "a":
      case "b":
        sources.push(`$${place(value, "x")}`);
        break;
      case "c":
      case "p":
        place(value, "0");
        break;
      case "r":
        if (value.valueKind === "zero" || value.valueKind === "undef") zeroing = true;
        else place(value, "0");
        break;
      case "m": {
        if (value.valueKind === "int" && isAll(value)) {
          mask = "none";
          break;
        }
        before = toMask(value.type.bits, place(value, "r"));
        mask = " {%k1}";
        break;
      }
      case "i":
        immediate = `$$${(value as { num: number }).num & 0xff}, `;
        break;
      case "e":
      case "s":
      case "E":
        mode = modeText(role === "E" ? conversionRole(mnemonic) : role, (value as { num: number }).num);
        break;
      default:
        throw l.unsupported(`${mnemonic} with an operand more`);
    }
  });
  // Zeroing without a mask has no encoding, and needs none.
  const z = zeroing && mask !== "" && mask !== "none" ? "{z}" : "";
  // In the text of this syntax the last source is first.
  const text = `${before}${mnemonic} ${immediate}${mode}${sources.reverse().join(", ")}, $0${mask === "none" ? "" : mask}${z}`;
  // Complex multiplications want the result apart from the sources.
  const early = /c[ps]h$/.test(mnemonic) ? "&" : "";
  return assembly(
    l,
    text,
    [result.kind === "int" ? "=r" : `=${early}x`, ...constraints].join(","),
    result,
    operands,
    false,
  );
}

/** Conversions that are exact have no rounding. */
const conversionRole = (mnemonic: string): string =>
  ["vcvtss2sd", "vcvtsh2ss", "vcvtsh2sd"].includes(mnemonic) ? "s" : "e";

/** Whether a constant mask has all lanes. */
const isAll = (mask: Value): boolean =>
  mask.valueKind === "int" && BigInt.asUintN(mask.type.bits, ~mask.value) === 0n;

/** All lanes by one count; past the lane that clears it, or fills it with the sign. */
function shiftAll(l: Lowering, instruction: string, byNumber: boolean, [v, amount]: Value[]): Value {
  const { type } = v!;
  if (!byNumber) return vex(l, instruction, type, v!, as(l, amount!, v2i64));
  if (amount!.valueKind === "int") {
    const n = Number(BigInt.asUintN(32, amount!.value));
    const { bits } = type.element;
    if (n === 0) return v!;
    if (n >= bits && !instruction.startsWith("Psra")) return zeroOf(type);
    return vex(l, instruction, type, v!, imm(Math.min(n, bits - 1)));
  }
  return vex(l, instruction, type, v!, toRegister(l, l.cast(Op.ZExt, amount!, i64), v2i64));
}

/** Of a number in a general register: the low lane. */
function fromGeneral(l: Lowering, family: string, result: Type, [lanes, value, mode]: Value[]): Value {
  const [, unsigned, to] = /^v?cvt(u?)si(?:2|642)(s[dsh])/.exec(family)!;
  const suffix = value!.type.bits === 64 ? "q" : "l";
  const modifier = value!.type.bits === 64 ? "q" : "k";
  const rounding = modeText("e", (mode as { num: number }).num);
  const text = `vcvt${unsigned}si2${to}${suffix} \${2:${modifier}}, ${rounding}$1, $0`;
  return assembly(l, text, "=x,x,r", result, [lanes!, value!], false);
}

/** What gives masks, or bits of one. */
function ofMasks(l: Lowering, family: string, type: Type, args: readonly Value[], evex: Evex): Parts | null {
  const operands = (): Value[] => args.map((a) => operand(l, a, evex));
  const isMask = type.kind === "vector" && shapeOf(type).representation === "mask";
  const number = (value: Value): number => (value as { num: number }).num & 0xff;
  const packed = /^fpclass\.(p[dsh]|bf16)$/.exec(family);
  if (packed !== null && isMask) {
    const [a, code] = operands() as [Value, Value];
    return maskOfWord(
      l,
      evex.avx,
      type,
      makeMask(l, `vfpclass${packed[1]} $$${number(code)}, $1`, type.count, [a]),
    );
  }
  if (family === "vpshufbitqmb" && isMask)
    return maskOfWord(l, evex.avx, type, makeMask(l, "vpshufbitqmb $2, $1", type.count, operands()));
  if (/^kadd\./.test(family)) {
    const [a, b] = operands() as [Value, Value];
    return maskOfWord(l, evex.avx, type, l.bin(Op.Add, a, b));
  }
  const test = /^ktest([cz])\./.exec(family);
  if (test !== null) {
    const [a, b] = operands() as [Value, Value];
    const first = test[1] === "z" ? a : l.bin(Op.Xor, a, constInt(a.type, -1n));
    const common = l.bin(Op.And, first, b);
    return [l.cast(Op.ZExt, l.icmp("eq", common, zeroOf(common.type)), i32)];
  }
  const scalar = /^mask\.(cmp|fpclass)\.(s[dsh])$/.exec(family);
  if (scalar !== null) {
    const isCompare = scalar[1] === "cmp";
    const all = operands();
    const sources = all.slice(0, isCompare ? 2 : 1);
    const word = all[isCompare ? 3 : 2]!;
    const code = number(all[isCompare ? 2 : 1]!);
    const mode = isCompare ? modeText("s", number(all[4]!)) : "";
    const n = sources.length + 1;
    const order = isCompare ? "$2, $1" : "$1";
    const text = `${toMask(8, n)}v${scalar[1]}${scalar[2]} $$${code}, ${mode}${order}, %k1 {%k1}${fromMask(8, 0)}`;
    return [assembly(l, text, `=r${",x".repeat(sources.length)},r`, wordType(8), [...sources, word], false)];
  }
  const flags = /^vcomisbf16(eq|neq|[gl][te])$/.exec(family)?.[1];
  if (flags !== undefined) return [compareBfloats(l, flags, operands())];
  const compared = /^vcomi\.(s[dsh])$/.exec(family);
  if (compared !== null) {
    const [a, b, predicate, mode] = operands() as [Value, Value, Value, Value];
    const text = `vcmp${compared[1]} $$${number(predicate)}, ${modeText("s", number(mode))}$2, $1`;
    const word = makeMask(l, text, 8, [a, b]);
    return intResize(l, 32, 32, [l.and(l.cast(Op.ZExt, word, i32), constInt(i32, 1))], false);
  }
  return null;
}
