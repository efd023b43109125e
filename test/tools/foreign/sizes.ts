/** Sizes of a linked program, by the map that lld wrote with it. */
import { readFileSync } from "node:fs";

export interface Sizes {
  /** Code of the program itself: what link-time optimisation made, without libraries. */
  readonly text: number;
  /** Unwind tables of the whole program: libraries add the same ones to whatever they are linked with. */
  readonly unwind: number;
  /** Constants of the program itself. */
  readonly constants: number;
}

/** @param isOwn whether a file's name is that of the object that link-time optimisation made */
export function mapSizes(map: string, isOwn: (file: string) => boolean): Sizes {
  let text = 0;
  let unwind = 0;
  let constants = 0;
  for (const line of readFileSync(map, "utf8").split("\n")) {
    // Addresses, size and alignment; then sections, what is in them below by indentation.
    const parts = /^ *[\da-f]+ +[\da-f]+ +([\da-f]+) +\d+( +)(.+)$/.exec(line);
    if (parts === null) continue;
    const size = Number.parseInt(parts[1]!, 16);
    const [indentation, name] = [parts[2]!.length, parts[3]!];
    if (indentation === 1 && /^\.(?:eh_frame|eh_frame_hdr|gcc_except_table|ARM\.ex(?:idx|tab))$/.test(name))
      unwind += size;
    const part = /^(.*):\((\.[^)]*)\)$/.exec(name);
    if (part === null || !isOwn(part[1]!)) continue;
    if (/^\.text(?:\.|$)/.test(part[2]!)) text += size;
    else if (/^\.rodata(?:\.|$)/.test(part[2]!)) constants += size;
  }
  if (text === 0) throw new Error(`${map}: no code that link-time optimisation made`);
  return { text, unwind, constants };
}
