/**
 * Attributes from text (LLVM Language Reference, "Parameter Attributes", "Function Attributes").
 * Unknown ones are skipped together with their arguments.
 *
 * Two spellings of one meaning are unified: function attributes such as `readnone`, which LLVM 16 replaced
 * by `memory`, and `nocapture`, which LLVM 21 replaced by `captures(none)`. `memory` is kept in the form of
 * LLVM 16 to 20, where "other" includes errno, and left out where it says nothing.
 */
import { AttributeSet, type AttributeValue, IntegerRange, noAttributes } from "../../lto/ir/attributes.js";
import type { Type } from "../../lto/ir/types.js";
import { unescapeText } from "./escape.js";
import {
  allocKinds,
  attributeForms,
  captureComponents,
  fpClasses,
  memoryAccess,
  memoryLocations,
} from "./keywords.js";
import { Tok } from "./lexer.js";
import type { ParseContext } from "./parse-context.js";
import { parseType } from "./parse-types.js";

/** Collects attributes and makes a set of them. */
export class AttributeBuilder {
  private readonly kinds = new Map<string, AttributeValue>();
  private readonly strings = new Map<string, string>();
  private single: AttributeSet | null = null;
  private parts = 0;

  add(name: string, value: AttributeValue): void {
    this.parts++;
    this.kinds.set(name, value);
  }
  addString(name: string, value: string): void {
    this.parts++;
    this.strings.set(name, value);
  }
  addAll(set: AttributeSet): void {
    this.parts++;
    this.single = set;
    for (const [name, value] of set.kinds) this.kinds.set(name, value);
    for (const [name, value] of set.strings) this.strings.set(name, value);
  }
  set(): AttributeSet {
    if (this.kinds.get("memory") === allMemory) this.kinds.delete("memory");
    if (this.parts === 0) return noAttributes;
    // Many functions share a group; let them share the set too.
    if (this.parts === 1 && this.single !== null) return this.single;
    return new AttributeSet(this.kinds, this.strings);
  }
}

const allMemory = 0b111111;

/** Memory effects of the function attributes that `memory` replaced: bits to keep. */
const oldMemoryAttributes: ReadonlyMap<string, number> = new Map([
  ["readnone", 0b000000],
  ["readonly", 0b010101],
  ["writeonly", 0b101010],
  ["argmemonly", 0b000011],
  ["inaccessiblememonly", 0b001100],
  ["inaccessiblemem_or_argmemonly", 0b001111],
]);

/** Attributes of a parameter or result, up to the first token that cannot be one. */
export function parseValueAttributes(p: ParseContext, stop: (p: ParseContext) => boolean): AttributeSet {
  const builder = new AttributeBuilder();
  while ((p.kind() === Tok.Word || p.kind() === Tok.Text) && !stop(p)) parseAttribute(p, builder, false);
  return builder.set();
}

/** The set that `#N` at the current token stands for. Consumes it. */
export function parseGroupReference(p: ParseContext): AttributeSet {
  const key = p.text();
  let set = p.groups.get(key);
  if (set === undefined) {
    // LLVM takes a group without a definition as empty.
    const positions = p.groupPositions.get(key) ?? [];
    const builder = new AttributeBuilder();
    for (const pos of positions)
      p.at(pos, () => {
        p.expect(Tok.OpenBrace, "'{'");
        while (p.kind() !== Tok.CloseBrace) parseAttribute(p, builder, true);
      });
    set = builder.set();
    p.groups.set(key, set);
  }
  p.next();
  return set;
}

/** One attribute, known or not. */
export function parseAttribute(p: ParseContext, builder: AttributeBuilder, ofFunction: boolean): void {
  if (p.kind() === Tok.Text) {
    const name = unescapeText(p.text());
    p.next();
    builder.addString(name, p.take(Tok.Equals) ? p.string("an attribute value") : "");
    return;
  }
  if (p.kind() !== Tok.Word) p.fail(`expected an attribute, found ${p.found()}`);
  const name = p.text();
  const form = attributeForms.get(name);
  p.next();
  if (ofFunction && oldMemoryAttributes.has(name)) {
    const effects = oldMemoryAttributes.get(name)!;
    builder.add("memory", effects & builderMemory(builder));
    return;
  }
  switch (form) {
    case "enum":
      if (name === "nocapture") builder.add("captures", 0);
      else builder.add(name, true);
      if (p.kind() === Tok.OpenParen) p.skipGroup();
      return;
    case "int":
      if (p.kind() === Tok.OpenParen && p.peek(1) !== Tok.Integer) {
        // A later LLVM's way to spell the number; the attribute is as good as unknown.
        p.skipGroup();
        return;
      }
      builder.add(name, name === "dead_on_return" && !startsCount(p) ? true : parseCount(p));
      return;
    case "type":
      // Old text has `byval` without a type; the type is then unknown.
      if (p.take(Tok.OpenParen)) {
        builder.add(name, parseType(p));
        p.expect(Tok.CloseParen, "')'");
      } else if (p.take(Tok.Equals)) builder.add(name, parseType(p));
      return;
    case "special":
      parseSpecial(p, name, builder);
      return;
    default:
      if (p.take(Tok.Equals)) p.next();
      else if (p.kind() === Tok.OpenParen) p.skipGroup();
  }
}

const builderMemory = (builder: AttributeBuilder): number => builder.set().int("memory") ?? allMemory;

const startsCount = (p: ParseContext): boolean => p.kind() === Tok.OpenParen || p.kind() === Tok.Equals;

/** `(N)` or `=N`. */
function parseCount(p: ParseContext): number | bigint {
  const parens = p.take(Tok.OpenParen);
  if (!parens) p.expect(Tok.Equals, "'('");
  if (p.kind() !== Tok.Integer || p.text().length > 20)
    p.fail(`expected an attribute value, found ${p.found()}`);
  const value = BigInt(p.text());
  if (value < 0n || value > 0xffffffffffffffffn) p.fail(`attribute value ${p.found()} is out of range`);
  p.next();
  if (parens) p.expect(Tok.CloseParen, "')'");
  return value <= 9007199254740991n ? Number(value) : value;
}

function parseBound(p: ParseContext, type: Type): bigint {
  if (p.kind() !== Tok.Integer || p.text().length > type.bits + 1)
    p.fail(`expected the bound of a range, found ${p.found()}`);
  const value = BigInt(p.text());
  p.next();
  return BigInt.asIntN(type.bits, value);
}

function parseSpecial(p: ParseContext, name: string, builder: AttributeBuilder): void {
  switch (name) {
    case "align": {
      const parens = p.take(Tok.OpenParen);
      if (!parens) p.take(Tok.Equals);
      builder.add(name, p.alignment());
      if (parens) p.expect(Tok.CloseParen, "')'");
      return;
    }
    case "uwtable": {
      let level = 2;
      if (p.take(Tok.OpenParen)) {
        if (p.takeWord("sync")) level = 1;
        else p.expectWord("async");
        p.expect(Tok.CloseParen, "')'");
      }
      builder.add(name, level);
      return;
    }
    case "allockind": {
      p.expect(Tok.OpenParen, "'('");
      let bits = 0;
      for (const word of p.string("allocation kinds").split(",")) {
        const bit = allocKinds.indexOf(word);
        if (bit >= 0) bits |= 1 << bit;
      }
      p.expect(Tok.CloseParen, "')'");
      builder.add(name, bits);
      return;
    }
    case "range": {
      p.expect(Tok.OpenParen, "'('");
      const type = parseType(p);
      if (type.kind !== "int") p.fail("a range of something else than integers");
      const from = parseBound(p, type);
      p.expect(Tok.Comma, "','");
      const to = parseBound(p, type);
      p.expect(Tok.CloseParen, "')'");
      builder.add(name, new IntegerRange(type, from, to));
      return;
    }
    case "allocsize":
    case "vscale_range": {
      p.expect(Tok.OpenParen, "'('");
      const first = p.integer("an attribute value", 0xffffffff);
      let second = name === "allocsize" ? 0xffffffff : first;
      if (p.take(Tok.Comma)) second = p.integer("an attribute value", 0xffffffff);
      p.expect(Tok.CloseParen, "')'");
      const value = (BigInt(first) << 32n) | BigInt(second);
      builder.add(name, value <= 9007199254740991n ? Number(value) : value);
      return;
    }
    case "nofpclass":
      builder.add(name, parseFPClasses(p));
      return;
    case "memory":
      builder.add(name, parseMemory(p));
      return;
    default: {
      builder.add(name, parseCaptures(p));
    }
  }
}

function parseFPClasses(p: ParseContext): number {
  p.expect(Tok.OpenParen, "'('");
  let mask = 0;
  if (p.kind() === Tok.Integer) mask = p.integer("a floating point class", 0x3ff);
  else
    while (p.kind() === Tok.Word) {
      const word = p.text();
      const entry = fpClasses.find(([name]) => name === word);
      if (entry === undefined) p.fail(`unknown floating point class ${p.found()}`);
      mask |= entry[1];
      p.next();
    }
  p.expect(Tok.CloseParen, "')'");
  return mask;
}

/** Reads `(access, location: access, …)`. */
function parseMemory(p: ParseContext): number {
  p.expect(Tok.OpenParen, "'('");
  const access = (): number => {
    const word = p.kind() === Tok.Word ? p.text() : "";
    const value = memoryAccess.indexOf(word);
    if (value < 0) p.fail(`expected a kind of memory access, found ${p.found()}`);
    p.next();
    return value;
  };
  let effects = 0;
  if (p.kind() === Tok.Word) {
    const value = access();
    effects = value | (value << 2) | (value << 4);
    p.take(Tok.Comma);
  }
  while (p.kind() === Tok.Label) {
    const name = p.text();
    p.next();
    const value = access();
    const location = memoryLocations.indexOf(name);
    if (location >= 0) effects = (effects & ~(3 << (2 * location))) | (value << (2 * location));
    // Errno, and the target's own memory of newer producers: part of "other" here.
    else effects |= value << 4;
    if (!p.take(Tok.Comma)) break;
  }
  p.expect(Tok.CloseParen, "')'");
  return effects;
}

/** Reads `(components, ret: components)`: components of the result in bits 0–3, of the rest in bits 4–7. */
function parseCaptures(p: ParseContext): number {
  p.expect(Tok.OpenParen, "'('");
  let other = 0;
  let result: number | null = null;
  do {
    if (p.kind() === Tok.Label && p.text() === "ret") {
      p.next();
      result = 0;
    }
    const word = p.kind() === Tok.Word ? p.text() : "";
    const entry = captureComponents.find(([name]) => name === word);
    if (entry === undefined && word !== "none") p.fail(`unknown capture component ${p.found()}`);
    p.next();
    const bits = entry?.[1] ?? 0;
    if (result === null) other |= bits;
    else result |= bits;
  } while (p.take(Tok.Comma));
  p.expect(Tok.CloseParen, "')'");
  return (other << 4) | (result ?? other);
}
