/**
 * `npm run bisect -- --test COMMAND -- bin/tsc-lto OPTIONS INPUTS -o OUTPUT`: which run of which pass makes a program
 * misbehave.
 *
 * COMMAND is run by the shell after each link; it assembles, runs and judges, and fails (a status other than 0) when
 * the program is bad. A link that fails is bad too. Method: binary search over `--opt-bisect-limit`, log₂ of the number
 * of runs that can be left out. It needs a program that is good without optional passes and bad with all, and
 * then finds a run with which it turns bad, even if it is good again with more. Of the peepholes it finds the rule by
 * the same search over `--rule-bisect-limit`, in the function that was found.
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
  return runs[(await firstBad(runs, attempt, (text) => tell(`${text} runs`))) - 1]!;
}

/** How many of what is numbered it takes for a program to be bad, if it is with all, and good with none. */
async function firstBad(
  numbered: readonly { readonly number: number }[],
  attempt: (limit: number) => Promise<Attempt>,
  tell: (text: string) => void,
): Promise<number> {
  // Good with the first `good`, bad with the first `bad`.
  let good = 0;
  let bad = numbered.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const isGood = (await attempt(numbered[middle - 1]!.number)).good;
    tell(`${isGood ? "good" : "bad "} with ${middle} of ${numbered.length}`);
    if (isGood) good = middle;
    else bad = middle;
  }
  return bad;
}

/** An application of a rule on machine code. */
export interface RuleApplication {
  readonly number: number;
  /** Several, where the function was completed in two ways. */
  readonly rules: readonly string[];
}

/** The rule with which a program turns bad that is good without the peepholes; null: it is good with all rules. */
export async function bisectRules(
  attempt: (limit: number) => Promise<Attempt>,
  tell: (text: string) => void = () => {},
): Promise<RuleApplication | null> {
  const all = await attempt(-1);
  if (all.good) return null;
  const byNumber = new Map<number, Set<string>>();
  for (const [, number, rule] of all.messages.matchAll(
    /^BISECT: (?:NOT )?applying rule \((\d+)\) (\S+) in/gm,
  )) {
    const rules = byNumber.get(Number(number)) ?? new Set();
    byNumber.set(Number(number), rules.add(rule!));
  }
  const applications = [...byNumber].map(([number, rules]) => ({ number, rules: [...rules] }));
  if (applications.length === 0) return null;
  applications.sort((a, b) => a.number - b.number);
  return applications[(await firstBad(applications, attempt, (text) => tell(`${text} applications`))) - 1]!;
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
  const attempt = async (...limits: readonly string[]): Promise<Attempt> => {
    const linked = await execute([...link, ...limits]);
    if (linked.status !== 0) return { good: false, messages: linked.stderr };
    const { status } = await execute(["sh", "-c", test]);
    return { good: status === 0, messages: linked.stderr };
  };
  try {
    const { number, pass, unit } = await bisect((limit) => attempt(`--opt-bisect-limit=${limit}`), print);
    print(`guilty: pass ${pass} on ${unit}, run ${number}`);
    const name = unit.replace(/^function /, "");
    if (pass === "peepholes") {
      const chosen = [`--opt-bisect-limit=${number}`, `--filter-function=${name}`];
      const found = await bisectRules((limit) => attempt(...chosen, `--rule-bisect-limit=${limit}`), print);
      if (found !== null) print(`guilty: rule ${found.rules.join(" or ")}, application ${found.number}`);
      print(`see: ${link.join(" ")} ${chosen.join(" ")} --rule-bisect-limit=${found?.number ?? -1}`);
      return 0;
    }
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
