/**
 * Code generation with the help of others: what the cache lacks, somebody else may put there before this thread asks. Then it
 * goes its usual way, and makes what is still missing itself. So the outcome is that of one thread, whatever others do; all
 * that they can change is how long it takes.
 *
 * A function waits for the masks of its callees, so there are as many rounds as waves. What the masks were in the last link they
 * mostly are again: with those all functions are compiled in one round, ahead of the waves. Each has the key of what was
 * assumed. Where a wave comes to another mask it asks for another key, and the function is compiled again.
 */

import type { MFunction } from "../mir.js";
import type { FunctionFacts } from "./facts.js";
import type { FunctionCompiler } from "./function-compiler.js";
import type { Component, Decisions, PrintedFunction } from "./function-compilers.js";
import { LocalCompilers, type StepTaker } from "./local-compilers.js";
import type { FunctionNumber } from "./numbering.js";

/** Those who compile functions elsewhere. Neither promise is ever broken but by an abort. */
export interface Helpers {
  /**
   * Before anything is allocated: of all functions, with masks that they have reason to expect. Where those come true, nothing is
   * left for the waves.
   * @param waveOf each function
   */
  assume(numbers: readonly FunctionNumber[], waveOf: ArrayLike<number>): Promise<void>;
  /** Of functions that do not wait for each other. */
  allocate(numbers: readonly FunctionNumber[]): Promise<void>;
  complete(numbers: readonly FunctionNumber[], decisions: Decisions): Promise<void>;
  /** Functions that were completed elsewhere for this link. */
  readonly completed: number;
}

export class UnitCompilers extends LocalCompilers {
  private hasAssumed = false;

  /** @param waveOf each function */
  constructor(
    compiler: FunctionCompiler,
    print: (mf: MFunction) => PrintedFunction,
    take: StepTaker,
    private readonly helpers: Helpers,
    private readonly waveOf: ArrayLike<number>,
  ) {
    super(compiler, print, take);
  }

  override async allocate(components: readonly Component[]): Promise<FunctionFacts[][]> {
    if (!this.hasAssumed) await this.helpers.assume(this.numbers, this.waveOf);
    this.hasAssumed = true;
    // Within a component calls obey the platform's convention: its functions do not wait for each other either.
    await this.helpers.allocate(components.flat());
    return super.allocate(components);
  }

  override async complete(decisions: Decisions): Promise<void> {
    await this.helpers.complete(this.numbers, decisions);
    await super.complete(decisions);
    const { statistics } = this;
    // The others are of earlier links.
    const cachedFunctions = statistics.cachedFunctions - this.helpers.completed;
    this.statistics = { ...statistics, cachedFunctions: Math.max(0, cachedFunctions) };
  }
}
