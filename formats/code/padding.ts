/** Where code ends and padding starts. */
import { doesNothing, Flow, type InstructionDecoder, type MachineInst } from "./decode.js";
import type { CodeObject } from "./object.js";

/**
 * The last instruction of code from `start` of a section that no function covers, such as that of module asm: without
 * what fills the room up to the next function, unless a symbol or a jump of the code itself leads there.
 * @param code offsets in bytes from `start`, one more than instructions; jumps with a relocation lead elsewhere
 */
export function lastOfCode(
  { symbols }: CodeObject,
  { section, start }: { readonly section: number; readonly start: number },
  code: {
    readonly insts: readonly MachineInst[];
    readonly offsets: Int32Array;
    readonly relocations: ReadonlyMap<number, unknown>;
  },
): MachineInst | undefined {
  const { insts, offsets } = code;
  const entered = new Set<number>();
  for (const symbol of symbols) if (symbol.section === section) entered.add(symbol.value - start);
  insts.forEach(({ flow, branch }, i) => {
    const transfers = flow === Flow.Jump || flow === Flow.Branch || flow === Flow.Call;
    if (transfers && !code.relocations.has(i)) entered.add(offsets[i + 1]! + branch);
  });
  let i = insts.length - 1;
  while (i >= 0 && doesNothing(insts[i]!) && !entered.has(offsets[i]!)) i--;
  return insts[i] ?? insts.at(-1);
}

/** Instructions without effect, which much padding starts with a jump over. */
export function isPadding(decoder: InstructionDecoder, bytes: Uint8Array): boolean {
  let end = 0;
  const skips = (inst: MachineInst): boolean => {
    end += inst.length;
    return doesNothing(inst) || (inst.flow === Flow.Jump && end + inst.branch === bytes.length);
  };
  return bytes.length === 0 || decoder.decode(bytes)?.every(skips) === true;
}
