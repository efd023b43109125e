/** Gathers and scatters of AVX2 and AVX-512: accesses at a base and an index of each lane, under a mask. */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { doubleType, floatType, i32, i64, type Type, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { assembly } from "./assembly.js";
import { isWide } from "./avx-registers.js";
import { toMask } from "./evex-assembly.js";
import { wordOf } from "./evex-masks.js";
import type { Evex } from "./evex-parts.js";
import { shapeOf } from "./vectors-shape.js";

/** `d` or `q`, of indices or data. */
const letter = (type: Type): string => {
  switch (type.element) {
    case floatType:
      return "ps";
    case doubleType:
      return "pd";
    case i32:
      return "d";
    case i64:
      return "q";
    default:
      throw new Error(`no lanes of ${type} are gathered`);
  }
};

/** The mnemonic for data of a type at indices of another. */
function gatherName(kind: "gather" | "scatter", data: Type, index: Type): string {
  const of = letter(data);
  return of.startsWith("p") ? `v${kind}${letter(index)}${of}` : `vp${kind}${letter(index)}${of}`;
}

function scaleNumber(l: Lowering, value: Value): number {
  if (value.valueKind !== "int") throw l.unsupported("a gather with a variable scale");
  return value.num;
}

/** That of AVX2: lanes whose mask has a clear sign bit are those of the first operand. The instruction clears its mask. */
export function avx2Gather(l: Lowering, result: Type, args: readonly Value[]): Value {
  const [rest, pointer, index, mask] = args.slice(0, 4).map((a) => l.value(a)) as [
    Value,
    Value,
    Value,
    Value,
  ];
  const place = `($1,$2,${scaleNumber(l, args[4]!)})`;
  const own = isWide(result) ? "%ymm15" : "%xmm15";
  const text = `vmovaps $3, ${own}\n\t${gatherName("gather", result, index.type)} ${own}, ${place}, $0`;
  // Result, index and mask have to be different registers.
  return assembly(l, text, "=&x,r,x,x,0,~{xmm15},~{memory}", result, [pointer, index, mask, rest]);
}

function maskWord(l: Lowering, value: Value, { avx }: Evex): Value {
  const { type } = value;
  const isMask = type.kind === "vector" && shapeOf(type).representation === "mask";
  return isMask ? wordOf(l, avx, type, l.parts(value)) : l.value(value);
}

/** Lanes that the mask leaves out are those of the first operand. */
export function evexGather(
  l: Lowering,
  _name: string,
  result: Type,
  args: readonly Value[],
  evex: Evex,
): Value {
  const [rest, pointer, index] = args.slice(0, 3).map((a) => l.value(a)) as [Value, Value, Value];
  const word = maskWord(l, args[3]!, evex);
  const place = `($1,$2,${scaleNumber(l, args[4]!)})`;
  // Result, index and mask have to be different registers.
  return assembly(
    l,
    `${toMask(word.type.bits, 3)}${gatherName("gather", result, index.type)} ${place}, $0 {%k1}`,
    "=&x,r,x,r,0,~{memory}",
    result,
    [pointer, index, word, rest],
  );
}

export function evexScatter(l: Lowering, _name: string, args: readonly Value[], evex: Evex): void {
  const pointer = l.value(args[0]!);
  const word = maskWord(l, args[1]!, evex);
  const [index, value] = args.slice(2, 4).map((a) => l.value(a)) as [Value, Value];
  const place = `($0,$1,${scaleNumber(l, args[4]!)})`;
  assembly(
    l,
    `${toMask(word.type.bits, 3)}${gatherName("scatter", value.type, index.type)} $2, ${place} {%k1}`,
    "r,x,x,r,~{memory}",
    voidType,
    [pointer, index, value, word],
  );
}
