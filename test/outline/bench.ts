/**
 * `npm run bench:repeats [-- --sizes 10000,100000 --seed 1]`: how the search for repeats grows with the program.
 *
 * Prints for each number of symbols the milliseconds of CPU of the suffix array, of all repeats and of the choice among
 * them, the memory they hold, and nanoseconds a symbol, which linear time keeps level.
 */
import { findRepeats } from "../../lto/outline/repeats.js";
import { type Candidate, selectCandidates } from "../../lto/outline/select.js";
import { suffixArray } from "../../lto/outline/suffix-array.js";
import { optionsOf } from "../tools/options.js";
import { randomSymbols } from "./sequences.js";

const values = optionsOf(
  {
    sizes: { type: "string", default: "10000,20000,50000,100000,200000,500000,1000000,2000000" },
    seed: { type: "string", default: "1" },
  },
  "usage: npm run bench:repeats [-- --sizes N,N… --seed S]",
);
const bytes = ({ length }: Candidate, starts: Int32Array): number =>
  starts.length * (4 * length - 5) - 4 * length - 1;

/** Milliseconds of CPU, and the result. */
function timed<T>(work: () => T): [number, T] {
  const before = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1000, result];
}

const columns = ["symbols", "suffixes ms", "repeats ms", "choice ms", "ns a symbol", "repeats", "MB"];
console.log(columns.map((c) => c.padStart(12)).join(""));
for (const size of values.sizes.split(",").map(Number)) {
  // As many different instructions as programs have, and a barrier at every tenth.
  const symbols = randomSymbols(Number(values.seed), size, Math.ceil(size / 6) + 10, 0.1);
  const [suffixes] = timed(() =>
    suffixArray(
      symbols.map((s) => s + 1),
      Math.ceil(size / 6) + 11,
    ),
  );
  const wanted = (length: number, count: number): boolean => count * (4 * length - 5) - 4 * length - 1 > 0;
  const [search, repeats] = timed(() =>
    findRepeats(symbols, { minimumLength: 2, maximumLength: 256, wanted }),
  );
  const [choice] = timed(() => selectCandidates(repeats, size, bytes));
  const megabytes = process.memoryUsage.rss() / 2 ** 20;
  const figures = [
    size,
    suffixes,
    search,
    choice,
    ((search + choice) * 1e6) / size,
    repeats.length,
    megabytes,
  ];
  console.log(figures.map((f) => f.toFixed(0).padStart(12)).join(""));
}
