/**
 * Instructions that GNU as has learned since its version 2.40, or has not yet: their encodings, and lines of assembly with them as
 * bytes, so that programs link with the assembler that is there.
 *
 * Operands are registers, and memory behind a register; a line with others stays as it is, for an assembler that knows it.
 * Source: Intel AVX10.2 Architecture Specification; Intel SDM volume 2, 2.3 and 2.7; Intel Architecture Instruction Set Extensions
 * Programming Reference.
 */

/** Encoding, map of opcodes, number of the mandatory prefix (none, 66, F3, F2), W → mnemonics with their opcode. */
const groups: Readonly<Record<string, string>> = {
  "evex 2 0 0":
    "vcvtbiasph2bf8:74 vdpphps:52 vpdpbuud:50 vpdpbuuds:51 vpdpwuud:d2 vpdpwuuds:d3 tcvtrowps2phh:6d",
  "evex 2 1 0": "vcvt2ps2phx:67 vpdpwusd:d2 vpdpwusds:d3 tcvtrowps2phl:6d tilemovrow:4a",
  "evex 2 2 0":
    "vcvtph2bf8:74 vpdpbsud:50 vpdpbsuds:51 vpdpwsud:d2 vpdpwsuds:d3 vsm4key4:da tcvtrowd2ps:4a tcvtrowps2bf16l:6d",
  "evex 2 3 0": "vcvt2ph2bf8:74 vpdpbssd:50 vpdpbssds:51 vsm4rnds4:da tcvtrowps2bf16h:6d",
  "evex 3 0 0": "vminmaxph:52 vminmaxsh:53 tcvtrowps2phh#:07",
  "evex 3 1 0": "vminmaxps:52 vminmaxss:53 tilemovrow#:07",
  "evex 3 1 1": "vminmaxpd:52 vminmaxsd:53",
  "evex 3 2 0": "vmpsadbw:42 tcvtrowd2ps#:07 tcvtrowps2bf16l#:77",
  "evex 3 3 0":
    "vcmpbf16:c2 vfpclassbf16:66 vgetmantbf16:26 vminmaxbf16:52 vreducebf16:56 vrndscalebf16:08 tcvtrowps2bf16h#:07 tcvtrowps2phl#:77",
  "evex 1 2 0": "vcomxss:2f vucomxss:2e",
  "evex 1 3 1": "vcomxsd:2f vucomxsd:2e",
  "evex 5 0 0":
    "vcvtbiasph2bf8s:74 vcvtbiasph2hf8:18 vcvtbiasph2hf8s:1b vcvtph2ibs:69 vcvtph2iubs:6b vcvttph2ibs:68 vcvttph2iubs:6a vcvttps2dqs:6d vcvttps2udqs:6c",
  "evex 5 0 1": "vcvttpd2dqs:6d vcvttpd2udqs:6c",
  "evex 5 1 0":
    "vaddbf16:58 vcomisbf16:2f vcvtps2ibs:69 vcvtps2iubs:6b vcvttps2ibs:68 vcvttps2iubs:6a vcvttps2qqs:6d vcvttps2uqqs:6c vdivbf16:5e vmaxbf16:5f vminbf16:5d vmulbf16:59 vsqrtbf16:51 vsubbf16:5c",
  "evex 5 1 1": "vcvttpd2qqs:6d vcvttpd2uqqs:6c",
  "evex 5 2 0":
    "vcomxsh:2f vucomxsh:2e vcvtph2bf8s:74 vcvtph2hf8:18 vcvtph2hf8s:1b vcvttss2sis:6d vcvttss2usis:6c vmovrsd:6f",
  "evex 5 2 1": "vcvttss2sis:6d vcvttss2usis:6c vmovrsq:6f",
  "evex 5 3 0":
    "vcvt2ph2bf8s:74 vcvt2ph2hf8:18 vcvt2ph2hf8s:1b vcvtbf162ibs:69 vcvtbf162iubs:6b vcvthf82ph:1e vcvttbf162ibs:68 vcvttbf162iubs:6a vcvttsd2sis:6d vcvttsd2usis:6c vmovrsb:6f",
  "evex 5 3 1": "vcvttsd2sis:6d vcvttsd2usis:6c vmovrsw:6f",
  "evex 6 0 0":
    "vfmadd132bf16:98 vfmadd213bf16:a8 vfmadd231bf16:b8 vfmsub132bf16:9a vfmsub213bf16:aa vfmsub231bf16:ba vfnmadd132bf16:9c vfnmadd213bf16:ac vfnmadd231bf16:bc vfnmsub132bf16:9e vfnmsub213bf16:ae vfnmsub231bf16:be vgetexpbf16:42 vrcpbf16:4c vrsqrtbf16:4e vscalefbf16:2c",
  "vex 2 0 0": "vpdpbuud:50 vpdpbuuds:51 vpdpwuud:d2 vpdpwuuds:d3 vsm3msg1:da tcmmrlfp16ps:6c",
  "vex 2 1 0": "vpdpwusd:d2 vpdpwusds:d3 vsm3msg2:da tcmmimfp16ps:6c tileloaddrst1:4a tmmultf32ps:48",
  "vex 2 2 0": "vpdpbsud:50 vpdpbsuds:51 vpdpwsud:d2 vpdpwsuds:d3 vsm4key4:da",
  "vex 2 3 0":
    "vpdpbssd:50 vpdpbssds:51 vsha512msg1:cc vsha512msg2:cd vsha512rnds2:cb vsm4rnds4:da tileloaddrs:4a",
  "vex 3 1 0": "vsm3rnds2:de vmpsadbw:42",
  "vex 5 0 0": "tdpbf8ps:fd",
  "vex 5 1 0": "tdphf8ps:fd",
  "vex 5 2 0": "tdphbf8ps:fd",
  "vex 5 3 0": "tdpbhf8ps:fd",
  "plain 1 0 0": "prefetchrst2:18",
  "plain 2 0 0": "aaddl:fc movrsb:8a movrsl:8b",
  "plain 2 0 1": "aaddq:fc movrsq:8b",
  "plain 2 1 0": "aandl:fc movrsw:8b",
  "plain 2 1 1": "aandq:fc",
  "plain 2 2 0": "axorl:fc",
  "plain 2 2 1": "axorq:fc",
  "plain 2 3 0": "aorl:fc",
  "plain 2 3 1": "aorq:fc",
};

interface Form {
  readonly kind: string;
  readonly map: number;
  readonly prefix: number;
  readonly w: number;
  readonly opcode: number;
}

/** By mnemonic; one that takes a number where it has a register otherwise has a `#` behind it. */
function readGroups(): Map<string, Form[]> {
  const forms = new Map<string, Form[]>();
  for (const [group, names] of Object.entries(groups)) {
    const [kind, map, prefix, w] = group.split(" ") as [string, string, string, string];
    for (const entry of names.split(" ")) {
      const [name, opcode] = entry.split(":") as [string, string];
      const form = {
        kind,
        map: Number(map),
        prefix: Number(prefix),
        w: Number(w),
        opcode: Number.parseInt(opcode, 16),
      };
      forms.set(name, [...(forms.get(name) ?? []), form]);
    }
  }
  return forms;
}
let read: ReadonlyMap<string, Form[]> | null = null;
/** Read when somebody asks: most programs have no assembly. */
const forms = (): ReadonlyMap<string, Form[]> => (read ??= readGroups());

type Operand =
  | { readonly kind: "register"; readonly number: number; readonly bytes: number; readonly isTile: boolean }
  | { readonly kind: "memory"; readonly base: number; readonly index: number }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "mode"; readonly rounding: number; readonly suppresses: boolean };
type Place = Extract<Operand, { kind: "register" | "memory" }>;

const general = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

/** Number and bytes of a register; null: it is none that these instructions have. */
function registerOf(name: string): Extract<Operand, { kind: "register" }> | null {
  const made = (number: number, bytes: number, isTile = false) =>
    ({ kind: "register", number, bytes, isTile }) as const;
  const vector = /^([xyz])mm(\d+)$/.exec(name);
  if (vector !== null) return made(Number(vector[2]), { x: 16, y: 32, z: 64 }[vector[1]!]!);
  const other = /^(k|tmm)([0-7])$/.exec(name);
  if (other !== null) return made(Number(other[2]), 0, other[1] === "tmm");
  const numbered = /^r(\d+)([bwd]?)$/.exec(name);
  if (numbered !== null) return made(Number(numbered[1]), { b: 1, w: 2, d: 4 }[numbered[2]!] ?? 8);
  const old = /^([re]?)(\w\w)$/.exec(name);
  const number = general.indexOf(old?.[2] ?? "");
  if (number >= 0) return made(number, { r: 8, e: 4 }[old![1]!] ?? 2);
  const low = /^([abcd]|sp|bp|si|di)l$/.exec(name)?.[1];
  if (low === undefined) return null;
  return made(general.indexOf(low.length === 1 ? `${low}x` : low), 1);
}

const modes = ["{rn-sae}", "{rd-sae}", "{ru-sae}", "{rz-sae}"];

function operandOf(text: string): Operand | null {
  if (text === "{sae}") return { kind: "mode", rounding: 0, suppresses: true };
  if (modes.includes(text)) return { kind: "mode", rounding: modes.indexOf(text), suppresses: false };
  const number = /^\$(\d+|0x[\da-f]+)$/.exec(text);
  if (number !== null) return { kind: "number", value: Number(number[1]) };
  const memory = /^\(%(\w+)(?:, ?%(\w+)(?:, ?1)?)?\)$/.exec(text);
  if (memory !== null) {
    const base = registerOf(memory[1]!);
    const index = memory[2] === undefined ? null : registerOf(memory[2]);
    const isAddress =
      base?.bytes === 8 && (memory[2] === undefined || (index?.bytes === 8 && index.number !== 4));
    return isAddress ? { kind: "memory", base: base.number, index: index?.number ?? -1 } : null;
  }
  return text.startsWith("%") ? registerOf(text.slice(1)) : null;
}

/** Operands of an instruction as its encoding has them. */
interface Encoded {
  readonly reg: number;
  readonly vvvv: number;
  readonly rm: Place;
}

/** What the numbers in `rm` add to a prefix's bits and what follows the opcode. */
function modrm(reg: number, rm: Place): number[] {
  const low = (reg & 7) << 3;
  if (rm.kind === "register") return [0xc0 | low | (rm.number & 7)];
  const base = rm.base & 7;
  const needsSib = rm.index >= 0 || base === 4;
  // Of rbp and r13 as a base there is no form without displacement.
  const displaced = base === 5;
  const bytes = [(displaced ? 0x40 : 0) | low | (needsSib ? 4 : base)];
  if (needsSib) bytes.push(((rm.index < 0 ? 4 : rm.index & 7) << 3) | base);
  if (displaced) bytes.push(0);
  return bytes;
}

const bit = (number: number, at: number): number => (number >> at) & 1;
const low = (rm: Place): number => (rm.kind === "register" ? rm.number : rm.base);
/** The upper bit of an index, or the fifth of a vector register. */
const outer = (rm: Place): number =>
  rm.kind === "register" ? bit(rm.number, 4) : rm.index < 0 ? 0 : bit(rm.index, 3);

function evex(
  form: Form,
  w: number,
  { reg, vvvv, rm }: Encoded,
  length: number,
  decoration: Decoration,
): number[] {
  const flip = (b: number, at: number): number => (b ^ 1) << at;
  const first =
    flip(bit(reg, 3), 7) | flip(outer(rm), 6) | flip(bit(low(rm), 3), 5) | flip(bit(reg, 4), 4) | form.map;
  const second = (w << 7) | ((~vvvv & 15) << 3) | 4 | form.prefix;
  const mode = decoration.mode < 0 ? length << 5 : (decoration.mode << 5) | 0x10;
  const third = ((decoration.zeroes ? 1 : 0) << 7) | mode | flip(bit(vvvv, 4), 3) | decoration.mask;
  return [0x62, first, second, third, form.opcode, ...modrm(reg, rm)];
}

function vex(form: Form, { reg, vvvv, rm }: Encoded, length: number): number[] {
  const index = rm.kind === "memory" && rm.index >= 8 ? 0 : 1;
  const first = ((bit(reg, 3) ^ 1) << 7) | (index << 6) | ((bit(low(rm), 3) ^ 1) << 5) | form.map;
  return [
    0xc4,
    first,
    (form.w << 7) | ((~vvvv & 15) << 3) | (length << 2) | form.prefix,
    form.opcode,
    ...modrm(reg, rm),
  ];
}

function plain(form: Form, { reg, rm }: Encoded, needsRex: boolean): number[] {
  const bytes = form.prefix === 0 ? [] : [[0x66, 0xf3, 0xf2][form.prefix - 1]!];
  const index = rm.kind === "memory" && rm.index >= 8 ? 2 : 0;
  const rex = (form.w << 3) | (bit(reg, 3) << 2) | index | bit(low(rm), 3);
  if (rex !== 0 || needsRex) bytes.push(0x40 | rex);
  return [...bytes, 0x0f, ...(form.map === 2 ? [0x38] : []), form.opcode, ...modrm(reg, rm)];
}

/** What stands behind the result, and the mode of rounding; -1: none. */
interface Decoration {
  readonly mask: number;
  readonly zeroes: boolean;
  readonly mode: number;
}

/** Registers of tiles: in the text the third operand of the encoding is first. */
const isReversed = (mnemonic: string): boolean => /^t(?:dp|cmm|mmul|cvtrow|ilemovrow)/.test(mnemonic);

/** @param places operands that are no numbers, in the order of the text */
function encodedOperands(mnemonic: string, places: readonly Place[]): Encoded | null {
  const number = (place: Place | undefined): number => (place?.kind === "register" ? place.number : -1);
  const last = places.at(-1);
  if (last === undefined) return null;
  if (mnemonic === "prefetchrst2") return places.length === 1 ? { reg: 4, vvvv: 0, rm: last } : null;
  if (last.kind === "memory")
    return places.length === 2 ? { reg: number(places[0]), vvvv: 0, rm: last } : null;
  if (places.length === 2) return { reg: number(last), vvvv: 0, rm: places[0]! };
  if (places.length !== 3) return null;
  const [a, b] = places as [Place, Place];
  const [rm, vvvv] = isReversed(mnemonic) ? [b, a] : [a, b];
  return { reg: number(last), vvvv: number(vvvv), rm };
}

const takesNumber = /^(?:vminmax|vmpsadbw|vcmpbf16|vfpclass|vgetmant|vreduce|vrndscale|vsm3rnds2)/;
const takesMemory = /^(?:v?movrs|tileload|a(?:add|and|or|xor)|prefetch)/;
const rounds = /^vcvt(?:2ps2phx|(?:ph|ps)2iu?bs)$/;
const suppresses = /^v(?:minmax[ps][hsd]|u?comxs|cvttp|cvtts[sd])/;
const isScalar = /^v(?:minmaxs|u?comxs|cvtts[sd])/;

/** Whether the mnemonic has a form with these operands, as far as that is not said by registers. */
function hasForm(name: string, operands: readonly Operand[], bytes: number): boolean {
  const numbers = operands.filter(({ kind }) => kind === "number").length;
  if (numbers !== (takesNumber.test(name) || (numbers === 1 && forms().has(`${name}#`)) ? 1 : 0))
    return false;
  if (operands.some(({ kind }) => kind === "memory") && !takesMemory.test(name)) return false;
  const mode = operands.find((o) => o.kind === "mode");
  if (mode?.kind !== "mode") return true;
  if (bytes !== 64 && !isScalar.test(name)) return false;
  return mode.suppresses ? suppresses.test(name) : rounds.test(name);
}

/** The bytes of one instruction; null: it is none of these, or its operands are others. */
function encode(statement: string): number[] | null {
  const match = /^(?:\{(vex|evex)\}\s+)?([a-z]\w*)\s+(.*?)\s*$/.exec(statement);
  if (match === null) return null;
  const [, asked, written, rest] = match as unknown as [string, string | undefined, string, string];
  const name = forms().has(written) ? written : written.slice(0, -1);
  // Of memory the mnemonic says how wide it is; of registers it may.
  if (!forms().has(name) || (name !== written && !/[xyz]$/.test(written))) return null;
  const decorations = /^(.*?)\s*(?:\{%k([1-7])\})?\s*(\{z\})?$/.exec(rest)!;
  const parts = decorations[1]!.split(/,\s*(?![^(]*\))/).map((part) => operandOf(part.trim()));
  if (parts.includes(null)) return null;
  const operands = parts as Operand[];
  const places = operands.filter((o): o is Place => o.kind === "register" || o.kind === "memory");
  const encoded = encodedOperands(name, places);
  if (encoded === null || encoded.reg < 0 || encoded.vvvv < 0) return null;
  const registers = places.filter((place) => place.kind === "register");
  const decoration = {
    mask: Number(decorations[2] ?? 0),
    zeroes: decorations[3] !== undefined,
    mode: modeOf(operands),
  };
  const bytes = Math.max(...registers.map((r) => r.bytes));
  if (!hasForm(name, operands, bytes)) return null;
  const isDecorated = decoration.mask !== 0 || decoration.zeroes || decoration.mode >= 0;
  const isWide = isDecorated || bytes === 64 || registers.some(({ number }) => number >= 16);
  const immediates = operands.filter(({ kind }) => kind === "number");
  const byNumber = immediates.length > 0 ? forms().get(`${name}#`) : undefined;
  const all = byNumber ?? forms().get(name)!;
  const last = registers.at(-1);
  const w = last?.bytes === 8 ? 1 : 0;
  const short = all.find(({ kind }) => kind !== "evex");
  const form =
    asked !== "evex" && !isWide && short !== undefined ? short : all.find(({ kind }) => kind === "evex");
  if (form === undefined || (asked === "vex" && form.kind !== "vex")) return null;
  const length = bytes === 64 ? 2 : bytes === 32 ? 1 : 0;
  const immediate = immediates.map((o) => (o as { value: number }).value & 0xff);
  // The same conversions to words of 4 and 8 bytes.
  const chosenW = all.some((f) => f.kind === form.kind && f.w !== form.w) ? w : form.w;
  const code =
    form.kind === "evex"
      ? evex(form, chosenW, encoded, length, decoration)
      : form.kind === "vex"
        ? vex(form, encoded, length)
        : plain(
            form,
            encoded,
            registers.some(({ bytes: b, number }) => b === 1 && number >= 4),
          );
  return [...code, ...immediate];
}

function modeOf(operands: readonly Operand[]): number {
  const mode = operands.find((o) => o.kind === "mode");
  return mode?.kind === "mode" ? mode.rounding : -1;
}

/** Any of them, for a quick look. */
let mayHave: RegExp | null = null;
const mnemonics = (): RegExp => (mayHave ??= new RegExp(`\\b(?:${recentMnemonics().join("|")})[xyz]?\\b`));

/** Assembly in AT&T's syntax, with these instructions as bytes; each has its text beside it. Linear in the text. */
export function withRecentAsBytes(text: string): string {
  if (!mnemonics().test(text) || text.includes("/*")) return text;
  return text.replace(/[^\n;]+/g, (statement) => {
    const bytes = encode(statement.trim());
    if (bytes === null) return statement;
    const hex = bytes.map((byte) => `0x${byte.toString(16).padStart(2, "0")}`).join(", ");
    return `${/^\s*/.exec(statement)![0]}.byte ${hex} /* ${statement.trim()} */`;
  });
}

/** All mnemonics that become bytes. */
export const recentMnemonics = (): readonly string[] =>
  [...forms().keys()].filter((name) => !name.endsWith("#"));
