/**
 * `npm run bench:regalloc [-- --sizes 100,1000,10000 --allocators greedy,ssa --coalescers pereira --shapes loops]`:
 * how the time of allocation grows with the size of a function.
 *
 * Prints, for each shape, allocator and coalescer, microseconds of CPU per instruction by size, and what the largest
 * takes relative to the smallest after both are divided by n log n: 1 is n log n, below is better.
 */
import { type AllocatorOptions, allocateRegisters } from "../../lto/codegen/regalloc/index.js";
import { optionsOf } from "../tools/options.js";
import { mockTarget } from "./mock-target.js";
import { shapes } from "./shapes.js";

const values = optionsOf(
  {
    sizes: { type: "string", default: "100,1000,10000,100000" },
    allocators: { type: "string", default: "ssa,greedy,linear,graph" },
    coalescers: { type: "string", default: "pereira,dominance,none" },
    shapes: { type: "string", default: Object.keys(shapes).join(",") },
    /** Work on each size until so many instructions are allocated, so that small functions are measured at all. */
    work: { type: "string", default: "60000" },
  },
  "usage: npm run bench:regalloc [-- --sizes N,N… --allocators a,b --coalescers a,b --shapes a,b --work N]",
);
const sizes = values.sizes.split(",").map(Number);
const work = Number(values.work);
const target = mockTarget(14, 4);

/** Microseconds of CPU for one allocation. */
function measure(
  make: () => ReturnType<(typeof shapes)[string]>,
  size: number,
  options: AllocatorOptions,
): number {
  const rounds = Math.max(1, Math.ceil(work / size));
  let sum = 0;
  for (let round = 0; round < rounds; round++) {
    const fn = make();
    const before = process.cpuUsage();
    allocateRegisters(fn, target, options);
    const { user, system } = process.cpuUsage(before);
    sum += user + system;
  }
  return sum / rounds;
}

const nLogN = (n: number): number => n * Math.log2(n);

console.log(`${"".padEnd(30)}${sizes.map((n) => `n=${n}`.padStart(10)).join("")}   growth / n log n`);
for (const shape of values.shapes.split(",")) {
  const make = shapes[shape];
  if (make === undefined) throw new Error(`no shape '${shape}'; there are: ${Object.keys(shapes).join(" ")}`);
  for (const allocator of values.allocators.split(",") as AllocatorOptions["allocator"][]) {
    for (const coalesce of values.coalescers.split(",") as AllocatorOptions["coalesce"][]) {
      const options: AllocatorOptions = { allocator, coalesce, spillCost: "size", sizeTime: 1, check: false };
      measure(() => make(300), 300, options); // Warm up.
      const times = sizes.map((size) => measure(() => make(size), size, options));
      const first = times[0]! / nLogN(sizes[0]!);
      const last = times[times.length - 1]! / nLogN(sizes[sizes.length - 1]!);
      const row = times.map((time, k) => `${(time / sizes[k]!).toFixed(1)}`.padStart(10)).join("");
      console.log(`${`${shape} ${allocator} ${coalesce}`.padEnd(30)}${row}   ${(last / first).toFixed(2)}`);
    }
  }
}
