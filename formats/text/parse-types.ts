/** Types from text (LLVM Language Reference, "Type System"). Typed pointers of old producers become `ptr`. */
import {
  arrayType,
  bfloatType,
  doubleType,
  floatType,
  fp80Type,
  fp128Type,
  functionType,
  halfType,
  intType,
  labelType,
  metadataType,
  pointerType,
  ptr,
  structType,
  type Type,
  tokenType,
  vectorType,
  voidType,
} from "../../lto/ir/types.js";
import { maxNesting } from "./cursor.js";
import { Tok } from "./lexer.js";
import type { ParseContext } from "./parse-context.js";

const simpleTypes: ReadonlyMap<string, Type> = new Map([
  // The common widths are found without looking at their digits.
  ...[1, 8, 16, 32, 64, 128].map((bits): [string, Type] => [`i${bits}`, intType(bits)]),
  ["void", voidType],
  ["half", halfType],
  ["bfloat", bfloatType],
  ["float", floatType],
  ["double", doubleType],
  ["x86_fp80", fp80Type],
  ["fp128", fp128Type],
  ["label", labelType],
  ["metadata", metadataType],
  ["token", tokenType],
]);
const unsupportedTypes = new Set(["ppc_fp128", "x86_mmx", "x86_amx", "target"]);

const maxIntBits = 1 << 23;
const maxLanes = 1 << 16;

/** Whether the current token can start a type. */
export function startsType(p: ParseContext): boolean {
  switch (p.kind()) {
    case Tok.OpenSquare:
    case Tok.OpenAngle:
    case Tok.OpenBrace:
    case Tok.Local:
    case Tok.LocalNumber:
      return true;
    case Tok.Word: {
      const word = p.text();
      return word === "ptr" || simpleTypes.has(word) || unsupportedTypes.has(word) || /^i[0-9]+$/.test(word);
    }
    default:
      return false;
  }
}

/** Any type, `void` and function types included. */
export function parseType(p: ParseContext): Type {
  p.enter();
  // `ptr` has its address space after it; the one of `T addrspace(1)*` belongs to the star.
  const opaque = p.isWord("ptr");
  let type = parseBase(p);
  for (;;) {
    if (p.kind() === Tok.Star) {
      p.next();
      type = pointerType();
    } else if (p.kind() === Tok.OpenParen) type = parseParameters(p, type);
    else if (p.kind() === Tok.Word && !opaque && p.isWord("addrspace")) {
      p.next();
      const space = p.parenthesised("an address space");
      p.expect(Tok.Star, "'*'");
      type = pointerType(space);
    } else break;
  }
  p.leave();
  return type;
}

/** A type that a value can have, other than a label, metadata or token. */
export function parseValueType(p: ParseContext): Type {
  const at = p.pos;
  const type = parseType(p);
  switch (type.kind) {
    case "void":
    case "function":
    case "label":
    case "metadata":
    case "token":
      p.fail(`a value cannot have type '${type.kind}' here`, at);
  }
  return type;
}

function parseBase(p: ParseContext): Type {
  switch (p.kind()) {
    case Tok.Word:
      return parseWordType(p);
    case Tok.OpenSquare: {
      p.next();
      const [count, element] = parseSequence(p, Number.MAX_SAFE_INTEGER);
      p.expect(Tok.CloseSquare, "']'");
      return checkDepth(p, arrayType(count, element));
    }
    case Tok.OpenAngle: {
      p.next();
      if (p.kind() === Tok.OpenBrace) {
        const type = parseStruct(p, true);
        p.expect(Tok.CloseAngle, "'>'");
        return type;
      }
      if (p.isWord("vscale")) p.unsupported("scalable vector");
      const at = p.pos;
      const [count, element] = parseSequence(p, maxLanes);
      p.expect(Tok.CloseAngle, "'>'");
      if (count === 0) p.fail("a vector without elements", at);
      if (element.kind !== "int" && element.kind !== "ptr" && !element.isFloat)
        p.fail(`a vector cannot have elements of type '${element.kind}'`, at);
      return checkDepth(p, vectorType(count, element));
    }
    case Tok.OpenBrace:
      return parseStruct(p, false);
    case Tok.Local:
    case Tok.LocalNumber:
      return parseNamed(p);
    default:
      p.fail(`expected a type, found ${p.found()}`);
  }
}

function parseWordType(p: ParseContext): Type {
  const word = p.text();
  const simple = simpleTypes.get(word);
  if (simple !== undefined) {
    p.next();
    return simple;
  }
  if (word === "ptr") {
    p.next();
    return p.takeWord("addrspace") ? pointerType(p.parenthesised("an address space")) : ptr;
  }
  if (/^i[0-9]+$/.test(word)) {
    const bits = Number(word.slice(1));
    if (bits < 1 || bits > maxIntBits) p.fail(`integer width of ${p.found()} is out of range`);
    p.next();
    return intType(bits);
  }
  if (unsupportedTypes.has(word)) p.unsupported(`type ${word}`);
  p.fail(`expected a type, found ${p.found()}`);
}

/** The `N x T` of arrays and vectors. */
function parseSequence(p: ParseContext, max: number): [number, Type] {
  const count = p.integer("an element count", max);
  p.expectWord("x");
  return [count, parseValueType(p)];
}

function parseStruct(p: ParseContext, packed: boolean): Type {
  p.expect(Tok.OpenBrace, "'{'");
  const elements: Type[] = [];
  if (p.kind() !== Tok.CloseBrace)
    do elements.push(parseValueType(p));
    while (p.take(Tok.Comma));
  p.expect(Tok.CloseBrace, "'}'");
  return checkDepth(p, structType(elements, packed));
}

function parseParameters(p: ParseContext, result: Type): Type {
  if (result.kind === "function" || result.kind === "label" || result.kind === "metadata")
    p.fail(`a function cannot return type '${result.kind}'`);
  p.next();
  const parameters: Type[] = [];
  let varArg = false;
  if (p.kind() !== Tok.CloseParen)
    do {
      if (p.take(Tok.Dots)) {
        varArg = true;
        break;
      }
      const at = p.pos;
      const type = parseType(p);
      if (type.kind === "void" || type.kind === "function")
        p.fail(`a parameter cannot have type '${type.kind}'`, at);
      parameters.push(type);
    } while (p.take(Tok.Comma));
  p.expect(Tok.CloseParen, "')'");
  return checkDepth(p, functionType(result, parameters, varArg));
}

function parseNamed(p: ParseContext): Type {
  // A pointer to a type needs nothing of it; old text has recursion only through pointers.
  if (p.peek(1) === Tok.Star) {
    p.next();
    p.next();
    return pointerType();
  }
  const definition = p.types.get(p.nameKey());
  if (definition === undefined) p.fail(`use of undefined type ${p.found()}`);
  if (definition.type === null) {
    if (definition.resolving) p.fail(`type ${p.found()} contains itself`);
    definition.resolving = true;
    // An opaque type has no size and no value; nothing tells it from an empty struct any more.
    definition.type = p.at(definition.pos, () => (p.isWord("opaque") ? structType([]) : parseType(p)));
  }
  p.next();
  return definition.type;
}

/** Nesting depth of each type, by id. */
const depths: number[] = [];

/** Bounds how deep a type nests, so that everything that walks types may recurse. */
function checkDepth(p: ParseContext, type: Type): Type {
  let depth = depths[type.id];
  if (depth === undefined) {
    depth = 1;
    for (const element of type.elements) depth = Math.max(depth, 1 + (depths[element.id] ?? 1));
    depths[type.id] = depth;
  }
  if (depth > maxNesting) p.fail("nested too deeply");
  return type;
}
