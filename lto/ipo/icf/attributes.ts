/** What two functions, or two calls, both promise. */
import { AttributeList, AttributeSet, type AttributeValue, IntegerRange } from "../../ir/attributes.js";

/** Promises and advice: without them the code means the same, or less is known of it. */
const droppable = new Set([
  // Of functions.
  "cold",
  "hot",
  "inlinehint",
  "memory",
  "mustprogress",
  "nocallback",
  "nofree",
  "norecurse",
  "nosync",
  "speculatable",
  "willreturn",
  "allocsize",
  "allockind",
  // Of parameters and results.
  "captures",
  "dead_on_unwind",
  "dereferenceable",
  "dereferenceable_or_null",
  "initializes",
  "noalias",
  "nonnull",
  "noundef",
  "readnone",
  "readonly",
  "returned",
  "writable",
  "writeonly",
  "range",
  "nofpclass",
  "align",
]);

function sameValue(a: AttributeValue, b: AttributeValue): boolean {
  if (a === b) return true;
  return (
    a instanceof IntegerRange &&
    b instanceof IntegerRange &&
    a.type === b.type &&
    a.from === b.from &&
    a.to === b.to
  );
}

/** What is in both sets; null where they differ in something that changes the code. */
function common(a: AttributeSet, b: AttributeSet): AttributeSet | null {
  if (a === b) return a;
  if (a.strings.size !== b.strings.size) return null;
  if (isInMemory(a.kinds) && a.kinds.get("align") !== b.kinds.get("align")) return null;
  for (const [name, text] of a.strings) if (b.strings.get(name) !== text) return null;
  const kinds = new Map<string, AttributeValue>();
  for (const [name, value] of a.kinds) {
    const other = b.kinds.get(name);
    if (other !== undefined && sameValue(value, other)) kinds.set(name, value);
    else if (!droppable.has(name)) return null;
  }
  for (const name of b.kinds.keys()) if (!a.kinds.has(name) && !droppable.has(name)) return null;
  return kinds.size === a.kinds.size ? a : new AttributeSet(kinds, a.strings);
}

/** Passed in memory: the alignment says where. */
const isInMemory = (kinds: AttributeSet["kinds"]): boolean => kinds.has("byval") || kinds.has("inalloca");

/** The attributes that hold of both; null where the two are not the same code. */
export function commonAttributes(a: AttributeList, b: AttributeList): AttributeList | null {
  if (a === b) return a;
  const fn = common(a.fn, b.fn);
  const result = common(a.result, b.result);
  if (fn === null || result === null) return null;
  const count = Math.max(a.parameters.length, b.parameters.length);
  const parameters: AttributeSet[] = [];
  for (let i = 0; i < count; i++) {
    const both = common(a.parameter(i), b.parameter(i));
    if (both === null) return null;
    parameters.push(both);
  }
  const isSame = fn === a.fn && result === a.result && parameters.every((set, i) => set === a.parameters[i]);
  return isSame && count === a.parameters.length ? a : new AttributeList(fn, result, parameters);
}

/** The text of all that two lists have to share for `commonAttributes` to find anything. */
export function essentialText({ fn, result, parameters }: AttributeList): string {
  const texts = [fn, result, ...parameters].map(essentialWords);
  // Parameters that nothing is said of need not be listed.
  while (texts.length > 2 && texts.at(-1) === "") texts.pop();
  return texts.join("|");
}

function essentialWords({ kinds, strings }: AttributeSet): string {
  const words: string[] = [];
  const dropped = (name: string): boolean => droppable.has(name) && !(name === "align" && isInMemory(kinds));
  for (const [name, value] of kinds) if (!dropped(name)) words.push(`${name}=${textOf(value)}`);
  for (const [name, text] of strings) words.push(`"${name}"="${text}"`);
  return words.sort().join(" ");
}

const textOf = (value: AttributeValue): string =>
  value instanceof IntegerRange ? `${value.type.id}:${value.from}:${value.to}` : String(value);
