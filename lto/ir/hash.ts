/** Structural hashes: equal for what `sameConstant` calls equal. 32 bits, good enough to sort into buckets. */
import type { GlobalValue } from "./module.js";
import type { Constant } from "./values.js";

export const mix = (hash: number, value: number): number => {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) | 0;
};

const mixText = (hash: number, text: string): number => {
  let result = hash;
  for (let i = 0; i < text.length; i++) result = mix(result, text.charCodeAt(i));
  return result;
};

/** @param numberOf a number for each global */
export function hashConstant(constant: Constant, numberOf: (global: GlobalValue) => number): number {
  const hash = mixText(constant.type.id, constant.valueKind);
  switch (constant.valueKind) {
    case "int":
      return mixText(hash, constant.value.toString());
    case "float":
      return mixText(hash, constant.bits.toString());
    case "undef":
      return mix(hash, Number(constant.poison));
    case "data": {
      let result = hash;
      for (const byte of constant.bytes) result = mix(result, byte);
      return result;
    }
    case "aggregate":
      return constant.elements.reduce((sum, element) => mix(sum, hashConstant(element, numberOf)), hash);
    case "expr":
      return constant.operands.reduce(
        (sum, operand) => mix(sum, hashConstant(operand, numberOf)),
        mix(hash, constant.op),
      );
    case "blockaddress":
      return mix(mix(hash, numberOf(constant.fn)), constant.label);
    case "globalref":
      return mix(hash, numberOf(constant.global));
    case "global":
      return mix(hash, numberOf(constant));
    default:
      return hash;
  }
}
