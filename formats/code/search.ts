/** Searches by address in what a code object lists in order. Logarithmic. */
import type { CodeRelocation } from "./object.js";

/** Index of the instruction that starts at an offset, or -1. */
export function instructionAt(offsets: Int32Array, offset: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle]! < offset) low = middle + 1;
    else high = middle;
  }
  return low < offsets.length - 1 && offsets[low] === offset ? low : -1;
}

/** Index of the first relocation that is not before an offset. */
export function firstAt(relocations: readonly CodeRelocation[], offset: number): number {
  let low = 0;
  let high = relocations.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (relocations[middle]!.offset < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Number of elements of an ascending list that are not greater than a value. */
export function firstAfter(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many of what stands in order of address start at an address or before it. */
export function startedAt(list: readonly { readonly start: number }[], address: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]!.start <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}
