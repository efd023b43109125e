/** Figures of one commit: what `npm run measurements` keeps, and what is made of them. */

/** Bytes of a linked program. */
export interface ProgramBytes {
  readonly text: number;
  /** .eh_frame, .eh_frame_hdr and .gcc_except_table. */
  readonly unwind: number;
  readonly rodata: number;
}

export interface Figures {
  /** The commit that was measured. */
  readonly commit: string;
  /** The command that made the figures. */
  readonly command: string;
  /** The peers' versions, a line each. */
  readonly peers: readonly string[];
  /** By program and toolchain; a toolchain that failed is not there. */
  readonly programs: Readonly<Record<string, Readonly<Record<string, ProgramBytes>>>>;
}

/** What is loaded: code, unwind tables and constants together. */
export const loaded = ({ text, unwind, rodata }: ProgramBytes): number => text + unwind + rodata;

/** Of each program that has both: bytes of a toolchain divided by those of the base. */
export function ratios(
  { programs }: Figures,
  column: string,
  base: string,
  of: (bytes: ProgramBytes) => number,
): (readonly [program: string, ratio: number])[] {
  return Object.entries(programs).flatMap(([program, columns]) => {
    const above = columns[column];
    const below = columns[base];
    return above === undefined || below === undefined ? [] : [[program, of(above) / of(below)] as const];
  });
}
