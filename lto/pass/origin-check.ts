/**
 * What `--verify-each` asks of origins of code (`ir/origins.ts`): numbers are the table's, chains end, and a pass that does
 * not say that it moves code from function to function (`PassBase.movesCode`) leaves each function with those it had. Calls
 * that may be inlined stay somewhere, as LLVM's verifier asks: what is inlined would be nobody's.
 */
import { type Inst, isCall } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import type { CodeOrigin, Origins } from "../ir/origins.js";
import type { AnyPass } from "./pass.js";

interface OfFunction {
  readonly numbers: ReadonlySet<number>;
  /** Calls of functions of the source of which nothing says where they are. */
  readonly lostCalls: number;
}

/** Origins that the code of each function has, by the function's name. */
export type FoundOrigins = ReadonlyMap<string, OfFunction>;

function isLostCall(inst: Inst): boolean {
  if (inst.origin !== 0 || !isCall(inst)) return false;
  const callee = inst.operands[0]!;
  return callee.valueKind === "global" && callee.kind === "function" && callee.subprogram !== null;
}

/** @param functions with bodies */
export function originsIn(functions: readonly Func[]): FoundOrigins {
  const found = new Map<string, OfFunction>();
  for (const fn of functions) {
    const numbers = new Set<number>();
    let lostCalls = 0;
    fn.peek(({ blocks }) => {
      for (const { insts } of blocks)
        for (const inst of insts) {
          numbers.add(inst.origin);
          if (fn.subprogram !== null && isLostCall(inst)) lostCalls++;
        }
    });
    found.set(fn.name, { numbers, lostCalls });
  }
  return found;
}

/**
 * Names of the functions that code came through, from the one that it was written in, and of those that the calls were in:
 * within them, passes may say that code is of another line, or of none.
 */
function framesOf(codes: readonly CodeOrigin[], number: number): string[] {
  if (number === 0 || number > codes.length) return [];
  const { fn, into } = codes[number - 1]!;
  // What leads to itself is told below.
  const outer = into < number ? framesOf(codes, into) : [];
  return [[fn.name, ...outer.slice(0, 1)].join(" in "), ...outer];
}

/**
 * @param table null where it is not at hand: what leads where was looked at before
 * @returns what the pass did wrong
 */
export function originProblems(
  pass: AnyPass,
  before: FoundOrigins,
  after: FoundOrigins,
  table: Origins | null,
): string[] {
  const problems: string[] = [];
  const codes = table?.codeOrigins ?? [];
  for (const [name, { numbers, lostCalls }] of after) {
    const there = before.get(name);
    if (there !== undefined && lostCalls > there.lostCalls && pass.movesCode !== true)
      problems.push(`@${name}: a call of a function of the source is nowhere`);
    const known = there?.numbers ?? new Set();
    const frames = new Set([...known].flatMap((number) => framesOf(codes, number)));
    for (const number of numbers) {
      if (number === 0) continue;
      if (table !== null && !(number > 0 && number <= codes.length))
        problems.push(`@${name}: an instruction has origin ${number} of ${codes.length}`);
      else if (pass.movesCode !== true && !known.has(number) && !frames.has(framesOf(codes, number)[0]!))
        problems.push(`@${name}: code has origin ${number}, which it had not, and the pass moves none`);
    }
  }
  codes.forEach(({ fn, into }, i) => {
    if (!(into >= 0 && into <= i)) problems.push(`origin ${i + 1}, of @${fn.name}, leads to ${into}`);
  });
  return problems;
}
