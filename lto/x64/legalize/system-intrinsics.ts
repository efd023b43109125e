/**
 * The `llvm.x86.*` intrinsics of instructions that are rare, each the assembly that a program could have written: access to the
 * machine's state, caches, waiting, random numbers, transactions, shadow stacks. Operands of the template are results, then the
 * intrinsic's arguments in their order.
 * Source: Intel SDM volume 2; AMD APM volume 3; LLVM's IntrinsicsX86.td for the order of arguments.
 */
import type { IntrinsicHandler } from "../../codegen/legalize/intrinsics.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { i8, i16, i32, i64, ptr, structType, type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { assembly } from "./assembly.js";
import { v2i64 } from "./vectors-sse.js";

/** Template, constraints, and types of the results. `*`: edx:eax are one result of 64 bits, which the row leaves out. */
type Row = readonly [template: string, constraints: string, ...results: (Type | "*")[]];

const memory = "~{memory}";
/** Memory that a pointer names is the only operand. */
const at = (mnemonic: string): Row => [`${mnemonic} ($0)`, `r,${memory}`];
/** Nothing is an operand. */
const alone = (mnemonic: string): Row => [mnemonic, memory];
/** A pointer, then the two halves of a mask, upper one first. */
const masked = (mnemonic: string): Row => [`${mnemonic} ($0)`, `r,{dx},{ax},${memory}`];
/** A value in a register. */
const to = (mnemonic: string): Row => [`${mnemonic} $0`, "r"];
const from = (mnemonic: string, type: Type): Row => [`${mnemonic} $0`, "=r", type];
/** A number, and whether it is one. */
const random = (mnemonic: string, type: Type): Row => [`${mnemonic} $0`, "=r,={@ccc}", type, i32];
/** What the register in ecx says, in edx:eax. */
const selected = (mnemonic: string): Row => [mnemonic, `={ax},={dx},{cx},${memory}`, "*"];
/** Control, then the time, upper half first; whether the limit of the system was met. */
const wait = (mnemonic: string): Row => [`${mnemonic} $1`, `={@ccc},r,{dx},{ax},${memory}`, i8];
/** A value, and where it goes. */
const stored = (mnemonic: string): Row => [`${mnemonic} $0, ($1)`, `r,r,${memory}`];
/** Where 64 bytes go, and whence. */
const command = (mnemonic: string): Row => [`${mnemonic} ($2), $1`, `={@ccz},r,r,${memory}`, i8];
/** A value that memory takes part in. */
const remote = (mnemonic: string, suffix: string): Row => [`${mnemonic}${suffix} $1, ($0)`, `r,r,${memory}`];
const shared = (mnemonic: string, modifier: string, type: Type): Row => [
  `${mnemonic} ($1), \${0:${modifier}}`,
  `=r,r,${memory}`,
  type,
];
/** A block of 16 bytes by a key that a handle in memory wraps; whether it was none of this machine's. */
const wrapped = (mnemonic: string): Row => [`${mnemonic} ($3), $1`, `={@ccz},=x,1,r,${memory}`, i8, v2i64];
const handle = (registers: string): string => registers.replace(/\d/g, (n) => `={xmm${n}},`);
/** Tiles are numbers. */
const tile = (n: number): string => `%tmm\${${n}:c}`;
const tiles = (mnemonic: string): Row => [
  `${mnemonic} ${tile(2)}, ${tile(1)}, ${tile(0)}`,
  `i,i,i,${memory}`,
];
const tileLoad = (mnemonic: string): Row => [`${mnemonic} ($1,$2), ${tile(0)}`, `i,r,r,${memory}`];
const begin = `movl $$-1, %eax\n\txbegin .Lxbegin\${:uid}\n.Lxbegin\${:uid}:`;

const rows: Readonly<Record<string, Row>> = {
  "rdrand.16": random("rdrand", i16),
  "rdrand.32": random("rdrand", i32),
  "rdrand.64": random("rdrand", i64),
  "rdseed.16": random("rdseed", i16),
  "rdseed.32": random("rdseed", i32),
  "rdseed.64": random("rdseed", i64),
  rdpmc: selected("rdpmc"),
  rdpru: selected("rdpru"),
  xgetbv: selected("xgetbv"),
  xsetbv: ["xsetbv", `{cx},{dx},{ax},${memory}`],
  rdpid: [`rdpid \${0:q}`, "=r", i32],
  rdpkru: ["xorl %ecx, %ecx\n\trdpkru", "={ax},~{cx},~{dx}", i32],
  wrpkru: ["xorl %ecx, %ecx\n\txorl %edx, %edx\n\twrpkru", `{ax},~{cx},~{dx},${memory}`],
  xsave: masked("xsave"),
  xsave64: masked("xsave64"),
  xsavec: masked("xsavec"),
  xsavec64: masked("xsavec64"),
  xsaveopt: masked("xsaveopt"),
  xsaveopt64: masked("xsaveopt64"),
  xsaves: masked("xsaves"),
  xsaves64: masked("xsaves64"),
  fxsave: at("fxsave"),
  fxsave64: at("fxsave64"),
  "rdfsbase.32": from("rdfsbase", i32),
  "rdfsbase.64": from("rdfsbase", i64),
  "rdgsbase.32": from("rdgsbase", i32),
  "rdgsbase.64": from("rdgsbase", i64),
  "wrfsbase.32": to("wrfsbase"),
  "wrfsbase.64": to("wrfsbase"),
  "wrgsbase.32": to("wrgsbase"),
  "wrgsbase.64": to("wrgsbase"),
  clflushopt: at("clflushopt"),
  clwb: at("clwb"),
  cldemote: at("cldemote"),
  clrssbsy: at("clrssbsy"),
  rstorssp: at("rstorssp"),
  clzero: ["clzero", `{ax},${memory}`],
  "sse3.monitor": ["monitor", `{ax},{cx},{dx},${memory}`],
  "sse3.mwait": ["mwait", `{cx},{ax},${memory}`],
  monitorx: ["monitorx", `{ax},{cx},{dx},${memory}`],
  mwaitx: ["mwaitx", `{cx},{ax},{bx},${memory}`],
  umonitor: ["umonitor $0", `r,${memory}`],
  umwait: wait("umwait"),
  tpause: wait("tpause"),
  serialize: alone("serialize"),
  wbinvd: alone("wbinvd"),
  wbnoinvd: alone("wbnoinvd"),
  xend: alone("xend"),
  xresldtrk: alone("xresldtrk"),
  xsusldtrk: alone("xsusldtrk"),
  saveprevssp: alone("saveprevssp"),
  setssbsy: alone("setssbsy"),
  clui: alone("clui"),
  stui: alone("stui"),
  testui: ["testui", "={@ccc}", i8],
  senduipi: ["senduipi $0", `r,${memory}`],
  "mmx.emms": alone("emms"),
  ptwrite32: to("ptwrite"),
  ptwrite64: to("ptwrite"),
  // On an abort control comes back to the label, with registers and memory as they were, and the reason in eax.
  xbegin: [begin, `={ax},${memory}`, i32],
  xabort: ["xabort $0", `i,${memory}`],
  xtest: ["xtest", "={@ccnz}", i32],
  hreset: ["hreset $$0", `{ax},${memory}`],
  incsspd: ["incsspd $0", `r,${memory}`],
  incsspq: ["incsspq $0", `r,${memory}`],
  rdsspd: ["rdsspd $0", "=r,0", i32],
  rdsspq: ["rdsspq $0", "=r,0", i64],
  wrssd: stored("wrssd"),
  wrssq: stored("wrssq"),
  wrussd: stored("wrussd"),
  wrussq: stored("wrussq"),
  directstore32: ["movdiri $1, ($0)", `r,r,${memory}`],
  directstore64: ["movdiri $1, ($0)", `r,r,${memory}`],
  movdir64b: ["movdir64b ($1), $0", `r,r,${memory}`],
  enqcmd: command("enqcmd"),
  enqcmds: command("enqcmds"),
  invpcid: [`invpcid ($1), \${0:q}`, `r,r,${memory}`],
  aadd32: remote("aadd", "l"),
  aadd64: remote("aadd", "q"),
  aand32: remote("aand", "l"),
  aand64: remote("aand", "q"),
  aor32: remote("aor", "l"),
  aor64: remote("aor", "q"),
  axor32: remote("axor", "l"),
  axor64: remote("axor", "q"),
  movrsqi: shared("movrsb", "b", i8),
  movrshi: shared("movrsw", "w", i16),
  movrssi: shared("movrsl", "k", i32),
  movrsdi: shared("movrsq", "q", i64),
  prefetchrs: at("prefetchrst2"),
  aesenc128kl: wrapped("aesenc128kl"),
  aesenc256kl: wrapped("aesenc256kl"),
  aesdec128kl: wrapped("aesdec128kl"),
  aesdec256kl: wrapped("aesdec256kl"),
  loadiwkey: [`loadiwkey $2, $1`, `{xmm0},x,x,{eax},${memory}`],
  encodekey128: [
    `encodekey128 \${7:k}, \${0:k}`,
    `=r,${handle("012456")}r,1`,
    i32,
    ...new Array<Type>(6).fill(v2i64),
  ],
  encodekey256: [
    `encodekey256 \${8:k}, \${0:k}`,
    `=r,${handle("0123456")}r,1,2`,
    i32,
    ...new Array<Type>(7).fill(v2i64),
  ],
  llwpcb: to("llwpcb"),
  slwpcb: ["slwpcb $0", "=r", ptr],
  ldtilecfg: at("ldtilecfg"),
  sttilecfg: at("sttilecfg"),
  tilerelease: alone("tilerelease"),
  tilezero: [`tilezero ${tile(0)}`, `i,${memory}`],
  tileloadd64: tileLoad("tileloadd"),
  tileloaddt164: tileLoad("tileloaddt1"),
  tileloaddrs64: tileLoad("tileloaddrs"),
  tileloaddrst164: tileLoad("tileloaddrst1"),
  tilestored64: [`tilestored ${tile(0)}, ($1,$2)`, `i,r,r,${memory}`],
  "flags.read.u64": ["pushfq\n\tpopq $0", `=r,${memory}`, i64],
  "flags.write.u64": ["pushq $0\n\tpopfq", `r,${memory}`],
  int: ["int $0", `i,${memory}`],
  "sse4a.extrq": ["extrq $2, $0", "=x,0,x", v2i64],
  "sse4a.extrqi": ["extrq $3, $2, $0", "=x,0,i,i", v2i64],
  "sse4a.insertq": ["insertq $2, $0", "=x,0,x", v2i64],
  "sse4a.insertqi": ["insertq $4, $3, $2, $0", "=x,0,x,i,i", v2i64],
  "tbm.bextri.u32": ["bextr $2, $1, $0", "=r,r,i", i32],
  "tbm.bextri.u64": ["bextr $2, $1, $0", "=r,r,i", i64],
};

const ofTiles = Object.fromEntries(
  `tdpbssd tdpbsud tdpbusd tdpbuud tdpbf16ps tdpfp16ps tdpbf8ps tdpbhf8ps tdphbf8ps tdphf8ps tcmmimfp16ps tcmmrlfp16ps tmmultf32ps`
    .split(" ")
    .map((name): [string, Row] => [name, tiles(name)]),
);

/** What `xrstor` brings back is also state that code relies on: the values of vector registers, and the x87's. */
const everyVector = Array.from({ length: 16 }, (_, i) => `~{xmm${i}}`).join(",");
const restoring: Readonly<Record<string, Row>> = Object.fromEntries(
  ["xrstor", "xrstor64", "xrstors", "xrstors64"]
    .map((name): [string, Row] => [name, [`${name} ($0)`, `r,{dx},{ax},${everyVector},${memory}`]])
    .concat(
      ["fxrstor", "fxrstor64"].map((name): [string, Row] => [
        name,
        [`${name} ($0)`, `r,${everyVector},${memory}`],
      ]),
    ),
);

function handlerOf([template, constraints, ...results]: Row): IntrinsicHandler {
  return (l: Lowering, _call, args): Parts => {
    // Numbers that the template prints keep their form.
    const given = args.map((a) => (a.valueKind === "int" ? a : l.value(a)));
    if (results[0] === "*") {
      const both = assembly(l, template, constraints, structType([i32, i32]), given);
      const half = (i: number): Value => l.cast(Op.ZExt, l.extract(both, i), i64);
      return [l.or(l.shl(half(1), 32), half(0))];
    }
    const types = results as Type[];
    if (types.length === 0) {
      assembly(l, template, constraints, voidType, given);
      return [];
    }
    if (types.length === 1) return [assembly(l, template, constraints, types[0]!, given)];
    const all = assembly(l, template, constraints, structType(types), given);
    return types.map((_, i) => l.extract(all, i));
  };
}

/** By name without `llvm.`. */
export const systemIntrinsics: ReadonlyMap<string, IntrinsicHandler> = new Map(
  Object.entries({ ...rows, ...ofTiles, ...restoring }).map(([name, row]) => [`x86.${name}`, handlerOf(row)]),
);
