/** What the runs of passes in one thread add up to: counters, times, trace events. Plain data that threads exchange. */
import type { AnyPass } from "./pass.js";
import type { Remark } from "./remarks.js";
import type { TraceEvent } from "./trace.js";

export interface PassTime {
  /** Pass or phase. */
  readonly name: string;
  readonly runs: number;
  readonly milliseconds: number;
  /** IR instructions of the units it ran on; 0 for phases that are not about the IR. */
  readonly instructions: number;
}
export interface PassCount {
  readonly pass: string;
  readonly counter: string;
  readonly count: number;
}
/** What a rule did. */
export interface RuleCount {
  /** As options call it: a rule of a pass by the pass's name, a colon and its own. */
  readonly rule: string;
  readonly applied: number;
  /**
   * Of rules on machine code: bytes of code and unwind tables that it took away by itself, fewer than none where others gain
   * by it. Null for others.
   */
  readonly bytes: number | null;
}

export const sumOfRule = (a: RuleCount, b: RuleCount): RuleCount => ({
  rule: a.rule,
  applied: a.applied + b.applied,
  bytes: a.bytes === null || b.bytes === null ? null : a.bytes + b.bytes,
});

/** What the author of the input asked to be told. */
export interface Warning {
  /** Of the function that it is about; warnings of one function stand together. */
  readonly number: number;
  readonly message: string;
}
export interface PassReport {
  readonly warnings: readonly Warning[];
  readonly times: readonly PassTime[];
  readonly counts: readonly PassCount[];
  readonly rules: readonly RuleCount[];
  readonly events: readonly TraceEvent[];
  readonly remarks: readonly Remark[];
}

export const emptyReport: PassReport = {
  warnings: [],
  times: [],
  counts: [],
  rules: [],
  events: [],
  remarks: [],
};

/** The sum of reports; names in the order in which they first occur. */
export function mergeReports(reports: readonly PassReport[]): PassReport {
  const times = new Map<string, PassTime>();
  const counts = new Map<string, PassCount>();
  const rules = new Map<string, RuleCount>();
  for (const report of reports) {
    for (const time of report.times) {
      const sum = times.get(time.name);
      times.set(
        time.name,
        sum === undefined
          ? time
          : {
              name: time.name,
              runs: sum.runs + time.runs,
              milliseconds: sum.milliseconds + time.milliseconds,
              instructions: sum.instructions + time.instructions,
            },
      );
    }
    for (const count of report.counts) {
      const key = `${count.pass}.${count.counter}`;
      const sum = counts.get(key);
      counts.set(key, sum === undefined ? count : { ...count, count: sum.count + count.count });
    }
    for (const count of report.rules) {
      const sum = rules.get(count.rule);
      rules.set(count.rule, sum === undefined ? count : sumOfRule(sum, count));
    }
  }
  return {
    times: [...times.values()],
    counts: [...counts.values()],
    rules: [...rules.values()],
    events: reports.flatMap((r) => r.events),
    remarks: reports.flatMap((r) => r.remarks),
    warnings: reports.flatMap((r) => r.warnings),
  };
}

/** One aligned line a counter that is not 0, in the order of `passes`. */
export function formatCounts(counts: readonly PassCount[], passes: readonly AnyPass[]): string {
  return passes
    .flatMap((pass) =>
      Object.entries(pass.counters ?? {}).map(([counter, meaning]) => {
        const found = counts.find((c) => c.pass === pass.name && c.counter === counter);
        return found === undefined ? "" : `${String(found.count).padStart(10)}  ${pass.name}: ${meaning}\n`;
      }),
    )
    .join("");
}

/** One aligned line a rule that was applied, in the order of `rules`: how often, bytes that it took away, and what it does. */
export function formatRules(
  counts: readonly RuleCount[],
  rules: readonly { readonly name: string; readonly description: string }[],
): string {
  return rules
    .map(({ name, description }) => {
      const found = counts.find(({ rule }) => rule === name);
      if (found === undefined) return "";
      const bytes = found.bytes === null ? "" : ` (${found.bytes} bytes)`;
      return `${String(found.applied).padStart(10)}  rule ${name}${bytes}: ${description}\n`;
    })
    .join("");
}

/** One line a pass or phase: time, time by instruction, runs. The times of threads are added up. */
export function formatTimes(times: readonly PassTime[]): string {
  return times
    .map(({ name, runs, milliseconds, instructions }) => {
      const each =
        instructions === 0 ? "" : `${((milliseconds * 1000) / instructions).toFixed(3)} µs/instruction`;
      return `${milliseconds.toFixed(1).padStart(10)} ms  ${each.padStart(20)} ${String(runs).padStart(7)} runs  ${name}\n`;
    })
    .join("");
}
