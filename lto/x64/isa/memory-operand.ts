/**
 * Memory operands of x86-64: base + index·scale + displacement, or slot + index·scale + displacement, or symbol + …;
 * each may be relative to a segment. A rip-relative one is a symbol without base and index.
 *
 * What only x86-64 knows of an operand is packed into its `mode`.
 * Source: Intel SDM volume 2, section 2.1.5.
 */
import { MemOperand, type RegOperand, type SymbolRef } from "../../codegen/mir.js";

export type Scale = 1 | 2 | 4 | 8;
export type Segment = "" | "fs" | "gs";

/* Bits of a mode: two of the scale's logarithm, then these. */
const ripRelative = 1 << 2;
const segmentShift = 3;
const segments: readonly Segment[] = ["", "fs", "gs"];

const log2: readonly number[] = [0, 0, 1, 0, 2, 0, 0, 0, 3];

/** @param disp a signed 32-bit number */
export function memory(
  base: RegOperand | null,
  index: RegOperand | null = null,
  scale: Scale = 1,
  disp = 0,
  symbol: SymbolRef | null = null,
  isRipRelative = false,
  slot = -1,
  segment: Segment = "",
): MemOperand {
  const mode = log2[scale]! | (isRipRelative ? ripRelative : 0) | (segments.indexOf(segment) << segmentShift);
  return new MemOperand(base, index, disp, symbol, slot, mode);
}

export const scaleOf = ({ mode }: MemOperand): Scale => (1 << (mode & 3)) as Scale;

export const isRipRelative = ({ mode }: MemOperand): boolean => (mode & ripRelative) !== 0;

export const hasSegment = ({ mode }: MemOperand): boolean => mode >> segmentShift !== 0;

export const segmentOf = ({ mode }: MemOperand): Segment => segments[mode >> segmentShift]!;

/** A mode in words, for dumps. */
export function modeText(mode: number): string {
  const segment = segments[mode >> segmentShift]!;
  const scale = (mode & 3) === 0 ? "" : `*${1 << (mode & 3)}`;
  return [segment, (mode & ripRelative) !== 0 ? "rip" : "", scale].filter((word) => word !== "").join(" ");
}
