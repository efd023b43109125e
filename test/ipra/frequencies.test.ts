/** Estimated executions: of functions from the call graph, of saves, and who saves because of them. */

import { describe, expect, it } from "vitest";
import { callFrequencies } from "../../lto/analysis/call-frequency.js";
import { placeSaves, type SavingFunction } from "../../lto/codegen/ipra/save-placement.js";
import { noRegisters, type RegisterSet } from "../../lto/codegen/register-set.js";
import { maskOf, RBX } from "../../lto/x64/isa/registers.js";

const rbx = maskOf(RBX);

describe("executions of functions", () => {
  it("multiply along calls and add up over callers", () => {
    const call = (callee: number, frequency: number) => ({ callee, frequency });
    const frequencies = callFrequencies([
      { entries: 1, calls: [call(1, 2), call(2, 0.5)] },
      { entries: 0, calls: [call(2, 8)] },
      { entries: 0, calls: [] },
      { entries: 0, calls: [call(2, 1)] },
    ]);
    expect([...frequencies]).toEqual([1, 2, 16.5, 0]);
  });

  it("count recursion once", () => {
    const call = (callee: number) => ({ callee, frequency: 1 });
    const frequencies = callFrequencies([
      { entries: 1, calls: [call(1)] },
      { entries: 0, calls: [call(1), call(2)] },
      { entries: 0, calls: [call(1)] },
    ]);
    expect(frequencies[1]).toBe(8);
    expect(frequencies[2]).toBe(8);
  });

  it("stay finite in deep call chains", () => {
    const functions = Array.from({ length: 200 }, (_, f) => ({
      entries: f === 0 ? 1 : 0,
      calls: f < 199 ? [{ callee: f + 1, frequency: 100 }] : [],
    }));
    for (const frequency of callFrequencies(functions)) expect(frequency).toBeLessThanOrEqual(2 ** 24);
  });
});

/**
 * main keeps rbx across f and g, which call the leaf; both could save for it. f calls it in a loop.
 */
function program(forSize: boolean, frequent: boolean): SavingFunction[] {
  const fn = (
    executions: number,
    calls: [callee: number, live: RegisterSet][],
    rest: Partial<SavingFunction> = {},
  ): SavingFunction => ({
    open: false,
    writes: noRegisters,
    returns: true,
    forSize,
    executions,
    calls: calls.map(([callee, liveAcross]) => ({ callee, liveAcross, tail: false })),
    ...rest,
  });
  const [f, g, leaf] = [1, 2, 3];
  return [
    fn(
      1,
      [
        [f!, rbx],
        [g!, rbx],
      ],
      { open: true, writes: rbx },
    ),
    fn(1, [[leaf!, noRegisters]]),
    fn(1, [[leaf!, noRegisters]]),
    fn(frequent ? 100 : 1, [], { writes: rbx }),
  ];
}

describe("who saves a register", () => {
  it("for size: the one function that all paths go through", () => {
    for (const frequent of [false, true])
      expect(placeSaves(program(true, frequent), rbx, () => 2).saved).toEqual([
        rbx,
        noRegisters,
        noRegisters,
        rbx,
      ]);
  });

  it("for speed: the callers, where the leaf runs often", () => {
    expect(placeSaves(program(false, true), rbx, () => 2).saved).toEqual([rbx, rbx, rbx, noRegisters]);
    expect(placeSaves(program(false, false), rbx, () => 2).saved).toEqual([
      rbx,
      noRegisters,
      noRegisters,
      rbx,
    ]);
  });

  it("for size, executions decide among equals", () => {
    const chain = (outer: number, inner: number): SavingFunction[] => [
      { ...program(true, false)[0]!, calls: [{ callee: 1, liveAcross: rbx, tail: false }] },
      {
        ...program(true, false)[1]!,
        executions: outer,
        calls: [{ callee: 2, liveAcross: noRegisters, tail: false }],
      },
      { ...program(true, false)[3]!, executions: inner },
    ];
    expect(placeSaves(chain(1, 50), rbx, () => 2).saved).toEqual([rbx, rbx, noRegisters]);
    expect(placeSaves(chain(50, 1), rbx, () => 2).saved).toEqual([rbx, noRegisters, rbx]);
  });
});
