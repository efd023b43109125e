/**
 * Random functions for the peepholes: one block, or a branch to two more. Some are made for a rule: in the middle of random
 * code stands what it is for.
 */
import { rebuildEdges } from "../../../lto/codegen/late/cfg.js";
import { type MBlock, MFunction, MInst } from "../../../lto/codegen/mir.js";
import { Func } from "../../../lto/ir/module.js";
import { functionType, voidType } from "../../../lto/ir/types.js";
import { physical } from "../../../lto/x64/isa/build.js";
import { jump } from "../../../lto/x64/isa/facts.js";
import { X } from "../../../lto/x64/isa/ops.js";
import { RBP, XMM0 } from "../../../lto/x64/isa/registers.js";
import { x64Target } from "../../../lto/x64/target.js";
import type { Random } from "../../support/random.js";
import { pool, Writer } from "./writer.js";

/** A function with what is compared of its results. */
export interface Sequence {
  readonly mf: MFunction;
  /** By register: how many low bytes are compared. */
  readonly compared: readonly number[];
  readonly redZone: boolean;
}

/** What a rule is for. */
export interface Directed {
  /** By default, any. */
  readonly goal?: MFunction["goal"];
  /** Whether something may be pushed and popped; by default, perhaps. */
  readonly pushes?: boolean;
  /** Other rules without which this one has nothing to do. */
  readonly after?: readonly string[];
  /** Writes an instance, where it is. */
  write(writer: Writer): void;
  /** There is a branch after it: writes what one of the blocks begins with that it leads to. */
  next?(writer: Writer): void;
  /** In place of all that: writes a function of several blocks; `ends` get their returns. */
  blocks?(mf: MFunction, writer: Writer): readonly End[];
}

/** A block that a return ends. */
export interface End {
  readonly writer: Writer;
  readonly block: MBlock;
}

function emptyFunction(random: Random, { goal, pushes }: Partial<Directed>) {
  const fn = new Func("f", functionType(voidType, []));
  const wanted = goal ?? random.pick(["minsize", "minsize", "size", "speed"] as const);
  const mf = new MFunction(fn, "f", wanted, x64Target);
  mf.unwind = random.pick(["none", "none", "async"] as const);
  mf.framePointer = random.oneIn(4);
  let redZone = random.oneIn(5);
  if (pushes === true) {
    redZone = false;
    if (!mf.framePointer) mf.unwind = "none";
  } else if (pushes === false && (mf.unwind !== "async" || mf.framePointer)) redZone = true;
  return { mf, redZone };
}

/** A random function, of some goal and frame. @param directed what stands in its middle */
export function randomSequence(random: Random, directed: Directed | null = null): Sequence {
  const { mf, redZone } = emptyFunction(random, directed ?? {});
  const own = pool.filter((register) => !mf.framePointer || register !== RBP);
  const registers =
    directed === null
      ? Array.from({ length: 2 + random.below(4) }, () => random.pick(own))
      : several(random, own);
  const pushes = !redZone && (mf.unwind !== "async" || mf.framePointer) && mf.goal === "minsize";
  const writer = new Writer(random, registers, pushes);
  const ends: End[] = [];
  const some = (most: number, to = writer): void => {
    for (let n = random.below(most); n > 0; n--) to.one();
  };
  const first = mf.newBlock();
  if (directed === null) some(8);
  else some(3);
  if (directed === null) {
    writer.one();
    writer.one();
  } else directed.write(writer);
  if (directed?.blocks !== undefined) ends.push(...directed.blocks(mf, writer));
  else if (directed?.next !== undefined || (directed === null && random.oneIn(3))) {
    const [other, then] = [mf.newBlock(), mf.newBlock()];
    const branch = writer.branch(then);
    for (const block of [other, then]) {
      const rest = writer.next();
      if (block === then) directed?.next?.(rest);
      some(4, rest);
      ends.push({ writer: rest, block });
    }
    writer.finish(first, branch, jump(other));
  } else {
    if (directed !== null) some(4);
    ends.push({ writer, block: first });
  }
  // What nobody needs afterwards is not compared.
  const live = registers.filter((register) => !random.oneIn(4) && !writer.unneeded.has(register));
  const ret = (): MInst => new MInst(X.Ret, 8, [], [...live, XMM0, XMM0 + 1].map(physical));
  const defined = ends.map((end) => end.writer.finish(end.block, ret()));
  rebuildEdges(mf);
  const compared = Array.from({ length: 16 }, (_, r) =>
    live.includes(r) ? Math.min(...defined.map((bytes) => bytes[r]!)) : 0,
  );
  return { mf, compared, redZone };
}

/** Three to five different registers. */
function several(random: Random, own: readonly number[]): number[] {
  const left = [...own];
  return Array.from({ length: 3 + random.below(3) }, () => left.splice(random.below(left.length), 1)[0]!);
}
