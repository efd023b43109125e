/** Random hints, and a text of hints by which two of them can be compared. */

import { AliasDomain, AliasScope } from "../../lto/ir/hints/scopes.js";
import { tbaaTag, tbaaType } from "../../lto/ir/hints/tbaa.js";
import { type Hints, makeHints, noHints, noLoopHints } from "../../lto/ir/hints.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import type { Random } from "../support/random.js";

const root = tbaaType("root", null, [], []);
const char = tbaaType("char", null, [root], [0]);
const int = tbaaType("int", null, [char], [0]);
const pair = tbaaType("pair é", null, [int, char], [0, 4]);
const byte = tbaaType("byte", root, [], [], [], 1);
const sized = tbaaType("sized", root, [byte, byte], [0, 300], [1, 1], 301);
const tags = [
  tbaaTag(int, int, 0),
  tbaaTag(pair, char, 4),
  tbaaTag(pair, int, 0, -1, true),
  tbaaTag(sized, byte, 300, 1),
];
const domains = [new AliasDomain("one"), new AliasDomain("")];
const scopes = [0, 1, 2].map((i) => new AliasScope(domains[i % 2]!, i === 0 ? "" : `scope ${i}`));

/** Hints of any kind, fitting or not. */
export function randomHints(r: Random, functions: readonly Func[]): Hints | null {
  const some = (chance: number): boolean => r.oneIn(chance);
  return makeHints({
    ...noHints,
    flags: some(2) ? 0 : r.below(0x80),
    align: some(3) ? 2 ** r.below(33) : 0,
    dereferenceable: some(4) ? 1 + r.below(1000) * 2 ** 40 : 0,
    dereferenceableOrNull: some(4) ? 1 + r.below(1000) : 0,
    tbaa: some(2) ? r.pick(tags) : null,
    scopes: some(3) ? [r.pick(scopes)] : null,
    noalias: some(3) ? scopes.slice(r.below(2)) : null,
    range: some(3) ? [-(1n << BigInt(r.below(127))), 1n << BigInt(r.below(126)), 7n, -7n] : null,
    weights: some(3)
      ? Array.from({ length: r.below(4) }, () => r.below(2 ** 31) * r.pick([1, 2 ** 20]))
      : null,
    loop: some(4)
      ? {
          ...noLoopHints,
          mustProgress: some(2),
          unroll: r.pick(["", "enable", "disable", "full"] as const),
          unrollCount: r.below(1000),
          noRuntimeUnroll: some(2),
          vectorize: r.pick(["", "enable", "disable"] as const),
          vectorWidth: r.below(64),
          interleave: r.below(9),
          isVectorized: some(2),
          distribute: r.pick(["", "enable", "disable"] as const),
        }
      : null,
    callees:
      some(4) && functions.length > 0
        ? { members: [...new Set([r.pick(functions), r.pick(functions)])], open: some(2) }
        : null,
    accuracy: some(5) ? 2.5 : 0,
  });
}

export function dumpHints(hints: Hints | null, nameOf: (g: GlobalValue) => string): string {
  if (hints === null) return "";
  return JSON.stringify({ ...hints }, (key, value: unknown) => {
    if (typeof value === "bigint") return `${value}n`;
    if (key === "members") return (value as Func[]).map(nameOf);
    if (key === "tbaa" && value !== null) return (value as { id: number }).id;
    if (key === "scopes" || key === "noalias")
      return (value as AliasScope[] | null)?.map((s) => `${s.domain.name}/${s.name}`);
    return value;
  });
}
