/**
 * Attributes of functions that passes make of code of other functions: what that code asks for where it is now, and what
 * all of it promises. Whoever makes a function asks here.
 *
 * What a made function has is one of
 *  - said by the code: it is compiled as where it came from (target, floating point, checks, unwind tables);
 *  - said by all it comes from: that nothing unwinds through it, that it runs rarely;
 *  - not its own: what was said of the other function's body as a whole, or asked by those who call it through its address.
 *
 * Unwind tables are made for functions that may unwind or ask for tables: a function all of whose code came from functions
 * that neither unwind nor ask for them is one more of these, whatever it calls.
 */
import {
  AttributeList,
  AttributeSet,
  type AttributeValue,
  kcfiAttribute,
  noAttributes,
  sanitizeAttribute,
} from "../ir/attributes.js";
import type { Func } from "../ir/module.js";
import { temperature } from "./profile.js";

/** What a function says of its own body or of calls of it, and code of it elsewhere need not repeat. */
const ownKinds = new Set([
  "alwaysinline",
  "inlinehint",
  "noinline",
  "memory",
  "mustprogress",
  "nocallback",
  "nofree",
  "norecurse",
  "noreturn",
  "nosync",
  "nounwind",
  "willreturn",
  "allocsize",
  "allockind",
  "speculatable",
  "cold",
  "minsize",
  "optsize",
]);

/** What those ask for who call a function through its address. */
const ownStrings: ReadonlySet<string> = new Set([kcfiAttribute, sanitizeAttribute]);

/** What is asked of frames and returns: a function that ends in a jump has none, and would get them for nothing. */
const ofFrames = new Set([
  "ssp",
  "sspstrong",
  "sspreq",
  "stackrealign",
  "frame-pointer",
  "zero-call-used-regs",
]);

/** Somebody counts on the entry or the end of each, or on nothing of one being elsewhere. */
const fixedStrings = [
  "nooutline",
  "noipa",
  "split-stack",
  "fentry-call",
  "function-instrument",
  "instrument-function-entry",
  "instrument-function-entry-inlined",
  "instrument-function-exit",
  "instrument-function-exit-inlined",
  "patchable-function",
  "patchable-function-entry",
  "patchable-function-prefix",
];

/** Whether the code of a function has to stay a function of its own, for reasons that are no instructions. */
export const keepsItsCode = ({ attributes: { fn } }: Func): boolean =>
  fixedStrings.some((key) => fn.string(key) !== undefined);

/** Attributes that code brings along: equal texts, compatible code. */
export function codeAttributes({ kinds, strings }: AttributeSet): string {
  const words: string[] = [];
  for (const [kind, value] of kinds) if (!ownKinds.has(kind)) words.push(`${kind}=${String(value)}`);
  for (const [key, value] of strings) if (!ownStrings.has(key)) words.push(`"${key}"="${value}"`);
  return words.sort().join(" ");
}

function attributesOfCode(
  origins: readonly Func[],
  isLeftOut: (name: string) => boolean,
): [Map<string, AttributeValue>, Map<string, string>] {
  const { kinds, strings } = origins[0]!.attributes.fn;
  const own = new Map<string, AttributeValue>(
    [...kinds].filter(([kind]) => !ownKinds.has(kind) && !isLeftOut(kind)),
  );
  own.set("minsize", true);
  own.set("optsize", true);
  own.set("noinline", true);
  if (origins.every(({ attributes }) => attributes.fn.has("nounwind"))) own.set("nounwind", true);
  if (origins.every((fn) => temperature(fn) === "cold")) own.set("cold", true);
  return [own, new Map([...strings].filter(([key]) => !ownStrings.has(key) && !isLeftOut(key)))];
}

/** Of a function that is a piece of the code of others. @param origins with the same `codeAttributes` */
export function attributesOfPiece(origins: readonly Func[]): AttributeList {
  const [kinds, strings] = attributesOfCode(origins, () => false);
  return new AttributeList(new AttributeSet(kinds, strings), noAttributes, []);
}

/** Of a function between calls and their callee, to which it jumps. @param origins callers with the same `codeAttributes` */
export function attributesOfJump(origins: readonly Func[], { attributes: { fn } }: Func): AttributeSet {
  const [kinds, strings] = attributesOfCode(origins, (name) => ofFrames.has(name));
  // The calls may be invokes: what a caller catches comes through.
  if (origins.some(({ personality }) => personality !== null)) kinds.delete("nounwind");
  for (const name of ["nounwind", "noreturn", "cold"]) if (fn.has(name)) kinds.set(name, true);
  return new AttributeSet(kinds, strings);
}
