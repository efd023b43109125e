/**
 * What the model says of a program of ten million IR instructions, from what a link of a small one took: its shape is the small one's,
 * each phase so many times as large, in units of the largest size. The linking process has a core for itself, as fast as the one that
 * was measured; a gigabit leads to Redis, which does a thousand jobs a second.
 */
import { linkTime, type Unit } from "./model.js";

export interface Measured {
  /** IR instructions of the program. */
  readonly instructions: number;
  /** Processor seconds of the linking process, beyond those of an empty link. */
  readonly central: number;
  /** IR instructions in units of each phase, and seconds for one; those of what is too small for units are in `central`. */
  readonly phases: readonly { readonly instructions: number; readonly perInstruction: number }[];
  readonly bytesPerInstruction: number;
  /** Megabytes beyond those of an empty link. */
  readonly megabytes: number;
  /** Phases that have no units. */
  readonly empty: number;
}

/** IR instructions of a unit at most (bin/farm/helpers.ts). */
const largestUnit = 20_000;
const bandwidth = 125e6;
const perJob = 0.001;

export function tellLarge(measured: Measured, instructions: number, latency: number): void {
  const times = instructions / measured.instructions;
  const phases = measured.phases.map(({ instructions: own, perInstruction }): Unit[] => {
    const count = Math.max(1, Math.ceil((own * times) / largestUnit));
    const each = (own * times) / count;
    return Array.from({ length: count }, () => ({
      seconds: each * perInstruction,
      bytes: each * measured.bytesPerInstruction,
    }));
  });
  const units = phases.flat();
  const work = units.reduce((sum, { seconds }) => sum + seconds, 0);
  const bytes = units.reduce((sum, unit) => sum + unit.bytes, 0);
  const central = measured.central * times;
  console.log(
    `\n${(instructions / 1e6).toFixed(0)} M instructions: ${units.length} units, ${work.toFixed(0)} s of work, ${central.toFixed(0)} s of the link itself, ` +
      `${(bytes / 1e6).toFixed(0)} MB (${(bytes / bandwidth).toFixed(0)} s of a gigabit), ${((measured.megabytes * times) / 1000).toFixed(1)} GB of memory; ${1000 * latency} ms to Redis`,
  );
  console.log("| workers | s | against one process | of it the link itself |\n| ---: | ---: | ---: | ---: |");
  for (const workers of [1, 4, 16, 64, 256, 1024]) {
    const farm = { workers, latency, bandwidth, perJob };
    const time = linkTime(central, phases, measured.empty, farm);
    const share = (100 * central) / time;
    console.log(
      `| ${workers} | ${time.toFixed(0)} | ${((central + work) / time).toFixed(2)} | ${share.toFixed(0)}% |`,
    );
  }
}
