/**
 * `npm run bisect -- --test COMMAND -- bin/tsc-lto OPTIONS INPUTS -o OUTPUT`: which run of which pass makes a program
 * misbehave.
 *
 * COMMAND is run by the shell after each link; it assembles, runs and judges, and fails (a status other than 0) when
 * the program is bad. A link that fails is bad too. Method: binary search over `--opt-bisect-limit`, log₂ of the number
 * of runs that can be left out. It needs a program that is good without optional passes and bad with all, and
 * then finds a run with which it turns bad, even if it is good again with more.
 */
import { fileURLToPath } from "node:url";
import { run } from "./process.js";

/** A link and its test. */
export interface Attempt {
  readonly good: boolean;
  /** What the link said on standard error. */
  readonly messages: string;
}

/** A run of a pass, as the messages name it. */
export interface PassRun {
  readonly number: number;
  readonly pass: string;
  /** `function f`, `module m`, … */
  readonly unit: string;
}

/** Why there is nothing to search. */
export class BisectError extends Error {}

/** The runs that were listed, by their numbers. */
export function listedRuns(messages: string): PassRun[] {
  const runs = [...messages.matchAll(/^BISECT: (?:NOT )?running pass \((\d+)\) (\S+) on (.*)$/gm)].map(
    ([, number, pass, unit]) => ({ number: Number(number), pass: pass!, unit: unit! }),
  );
  return runs.sort((a, b) => a.number - b.number);
}

/**
 * @param attempt links with a limit (-1: none) and tests the program
 * @param tell is told of progress
 * @throws BisectError when the program is not bad, or bad without any pass that can be left out
 */
export async function bisect(
  attempt: (limit: number) => Promise<Attempt>,
  tell: (text: string) => void = () => {},
): Promise<PassRun> {
  const all = await attempt(-1);
  if (all.good) throw new BisectError("the test succeeds with all passes: there is nothing to find");
  if (!(await attempt(0)).good)
    throw new BisectError("the test fails without any pass that can be left out: the fault is elsewhere");
  const runs = listedRuns(all.messages);
  if (runs.length === 0) throw new BisectError("no pass was listed");
  // Good with the first `good` runs, bad with the first `bad`.
  let good = 0;
  let bad = runs.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const isGood = (await attempt(runs[middle - 1]!.number)).good;
    tell(`${isGood ? "good" : "bad "} with ${middle} of ${runs.length} runs`);
    if (isGood) good = middle;
    else bad = middle;
  }
  return runs[bad - 1]!;
}

const usage = "usage: npm run bisect -- --test COMMAND -- bin/tsc-lto OPTIONS INPUTS -o OUTPUT";

/** Runs a command; the shell's, if it is one string. */
export type Execute = (
  command: readonly string[],
) => Promise<{ readonly status: number; readonly stderr: string }>;

/** The command itself. @returns the exit status: 0 when a run was found, 1 when not, 2 for wrong usage */
export async function main(
  args: readonly string[],
  execute: Execute,
  print: (line: string) => void,
): Promise<number> {
  const at = args.indexOf("--");
  if (args[0] !== "--test" || at !== 2 || args.length < 4) {
    print(usage);
    return 2;
  }
  const test = args[1]!;
  const link = args.slice(3);
  const attempt = async (limit: number): Promise<Attempt> => {
    const linked = await execute([...link, `--opt-bisect-limit=${limit}`]);
    if (linked.status !== 0) return { good: false, messages: linked.stderr };
    const { status } = await execute(["sh", "-c", test]);
    return { good: status === 0, messages: linked.stderr };
  };
  try {
    const { number, pass, unit } = await bisect(attempt, print);
    print(`guilty: pass ${pass} on ${unit}, run ${number}`);
    const name = unit.replace(/^function /, "");
    print(
      `see: ${link.join(" ")} --opt-bisect-limit=${number} --print-before=${pass} --print-after=${pass} --filter-function=${name}`,
    );
    return 0;
  } catch (e) {
    if (!(e instanceof BisectError)) throw e;
    print(e.message);
    return 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const execute: Execute = async (command) => run(command);
  process.exitCode = await main(process.argv.slice(2), execute, (line) => console.log(line));
}
