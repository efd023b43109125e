/**
 * Functions of two integer operations, the second of which uses the first, as LLVM assembly.
 *
 * Parameters: x and y of `bits` bits, b of one. Leaves are these, constants, and where chosen at random undef and poison.
 */
import type { Random } from "../../support/random.js";

/** An operation by the types of its operands; in its text `@` is its name, and `$0`, `$1`, … are operands. */
interface Form {
  readonly text: string;
  readonly from: readonly string[];
  readonly to: string;
}

const predicates = [
  "eq",
  "ne",
  "ugt",
  "uge",
  "ult",
  "ule",
  "sgt",
  "sge",
  "slt",
  "sle",
  "samesign ult",
  "samesign sgt",
];
const wrapping = ["", " nuw", " nsw", " nuw nsw"];
const exact = ["", " exact"];
const binaries = [
  ...["add", "sub", "mul", "shl"].flatMap((name) => wrapping.map((flags) => name + flags)),
  ...["udiv", "sdiv", "lshr", "ashr"].flatMap((name) => exact.map((flags) => name + flags)),
  ...["urem", "srem", "and", "or", "or disjoint", "xor"],
];
const twoOperands = ["umin", "umax", "smin", "smax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"];
const withFlag = ["ctlz", "cttz", "abs"];
const overflowing = ["uadd", "usub", "umul", "sadd", "ssub", "smul"];

function formsOf(bits: number): Form[] {
  const [v, wide, narrow] = [`i${bits}`, `i${bits + 1}`, `i${bits - 1}`];
  const forms: Form[] = [];
  const add = (text: string, to: string, ...from: string[]): void =>
    void forms.push({ text: `@ = ${text}`, from, to });
  for (const name of binaries) add(`${name} ${v} $0, $1`, v, v, v);
  for (const name of ["and", "or", "xor"]) add(`${name} i1 $0, $1`, "i1", "i1", "i1");
  for (const name of ["add", "and", "or", "xor"]) add(`${name} ${wide} $0, $1`, wide, wide, wide);
  for (const type of new Set([v, wide, narrow]))
    for (const name of predicates) add(`icmp ${name} ${type} $0, $1`, "i1", type, type);
  for (const type of [v, "i1"]) {
    add(`select i1 $0, ${type} $1, ${type} $2`, type, "i1", type, type);
    add(`freeze ${type} $0`, type, type);
  }
  for (const [small, large] of [[v, wide], ...(bits > 2 ? [[narrow, v]] : []), ["i1", v]] as [
    string,
    string,
  ][])
    for (const name of ["zext", "zext nneg", "sext"]) add(`${name} ${small} $0 to ${large}`, large, small);
  for (const [large, small] of [
    [wide, v],
    [v, narrow],
  ] as const)
    for (const flags of wrapping) add(`trunc${flags} ${large} $0 to ${small}`, small, large);
  for (const name of twoOperands) add(`call ${v} @llvm.${name}.${v}(${v} $0, ${v} $1)`, v, v, v);
  for (const name of ["ctpop", "bitreverse"]) add(`call ${v} @llvm.${name}.${v}(${v} $0)`, v, v);
  for (const name of withFlag)
    for (const flag of ["false", "true"]) add(`call ${v} @llvm.${name}.${v}(${v} $0, i1 ${flag})`, v, v);
  for (const name of ["fshl", "fshr"])
    add(`call ${v} @llvm.${name}.${v}(${v} $0, ${v} $1, ${v} $2)`, v, v, v, v);
  for (const name of overflowing)
    for (const [index, to] of [v, "i1"].entries())
      forms.push({
        text:
          `@.p = call {${v}, i1} @llvm.${name}.with.overflow.${v}(${v} $0, ${v} $1)\n` +
          `  @ = extractvalue {${v}, i1} @.p, ${index}`,
        from: [v, v],
        to,
      });
  return forms;
}

/** Declarations of the intrinsics. */
export function declarations(bits: number): string {
  const v = `i${bits}`;
  const pair = `{${v}, i1}`;
  return [
    ...twoOperands.map((name) => `declare ${v} @llvm.${name}.${v}(${v}, ${v})`),
    ...["ctpop", "bitreverse"].map((name) => `declare ${v} @llvm.${name}.${v}(${v})`),
    ...withFlag.map((name) => `declare ${v} @llvm.${name}.${v}(${v}, i1)`),
    ...["fshl", "fshr"].map((name) => `declare ${v} @llvm.${name}.${v}(${v}, ${v}, ${v})`),
    ...overflowing.map((name) => `declare ${pair} @llvm.${name}.with.overflow.${v}(${v}, ${v})`),
    "",
  ].join("\n");
}

export class Compositions {
  private readonly forms: readonly Form[];
  constructor(private readonly bits: number) {
    this.forms = formsOf(bits);
  }

  private leaves(type: string, withUndefined: boolean): string[] {
    const v = `i${this.bits}`;
    const width = Number(type.slice(1));
    const constants =
      width === 1 ? ["false", "true"] : Array.from({ length: 2 ** width }, (_, value) => String(value));
    const own = type === v ? ["%x", "%y"] : type === "i1" ? ["%b"] : [];
    return [...own, ...constants, ...(withUndefined ? ["undef", "poison"] : [])];
  }

  private text(name: string, first: Form, a: readonly string[], second: Form, b: readonly string[]): string {
    const v = `i${this.bits}`;
    const line = (form: Form, to: string, operands: readonly string[]): string =>
      form.text
        .replaceAll("@ =", `${to} =`)
        .replaceAll("@.p", `${to}.p`)
        .replace(/\$(\d)/g, (_, n) => operands[n]!);
    return (
      `define ${second.to} @${name}(${v} %x, ${v} %y, i1 %b) {\n  ${line(first, "%r", a)}\n` +
      `  ${line(second, "%s", b)}\n  ret ${second.to} %s\n}\n`
    );
  }

  /** One at random. */
  random(random: Random, name: string): string {
    for (;;) {
      const [first, second] = [random.pick(this.forms), random.pick(this.forms)];
      const places = second.from.flatMap((type, i) => (type === first.to ? [i] : []));
      if (places.length === 0) continue;
      const leaf = (type: string): string => {
        const all = this.leaves(type, random.oneIn(8));
        const own = all.filter((operand) => operand.startsWith("%"));
        return own.length > 0 && random.oneIn(2) ? random.pick(own) : random.pick(all);
      };
      const place = random.pick(places);
      const a = first.from.map(leaf);
      const b = second.from.map((type, i) =>
        i === place || (type === first.to && random.oneIn(6)) ? "%r" : leaf(type),
      );
      return this.text(name, first, a, second, b);
    }
  }

  /** All that have the same operation first: of every leaf but undef and poison. */
  *all(): Generator<string> {
    let n = 0;
    for (const first of this.forms)
      for (const a of this.tuples(first.from, ""))
        for (const second of this.forms) {
          if (!second.from.includes(first.to)) continue;
          for (const b of this.tuples(second.from, first.to))
            if (b.includes("%r")) yield this.text(`f${n++}`, first, a, second, b);
        }
  }

  /** Every choice of operands; `result`: of what type the first operation's result may be among them. */
  private *tuples(types: readonly string[], result: string): Generator<string[]> {
    if (types.length === 0) {
      yield [];
      return;
    }
    const [type, ...rest] = types as [string, ...string[]];
    const leaves = [...this.leaves(type, false), ...(type === result ? ["%r"] : [])];
    for (const leaf of leaves) for (const others of this.tuples(rest, result)) yield [leaf, ...others];
  }
}
