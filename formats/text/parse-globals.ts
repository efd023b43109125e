/**
 * Variables, aliases and ifuncs (LLVM Language Reference, "Global Variables", "Aliases", "IFuncs").
 *
 * They are made before any initializer is read, so that every name stands for its object by then; what is
 * left to read is returned as functions.
 */
import {
  Alias,
  type GlobalValue,
  GlobalVariable,
  IFunc,
  type VariableCodeModel,
  variableCodeModels,
} from "../../lto/ir/module.js";
import { pointerType, type Type } from "../../lto/ir/types.js";
import type { Constant } from "../../lto/ir/values.js";
import { Tok } from "./lexer.js";
import { AttributeBuilder, parseAttribute, parseGroupReference } from "./parse-attributes.js";
import { parseConstant, parseTypedConstant, skipConstant, startsExpression } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import { applyLinkage, parseLinkage } from "./parse-linkage.js";
import { parseAttachments, skipAttachments } from "./parse-metadata.js";
import { parseType, parseValueType } from "./parse-types.js";

/** Reading that has to wait until all globals are known. */
export type Deferred = () => void;

/** Reads what follows `@name =`. @param name the name as the IR has it */
export function parseGlobal(p: ParseContext, name: string, later: Deferred[]): GlobalValue {
  const words = parseLinkage(p);
  if (p.isWord("alias") || p.isWord("ifunc")) {
    const global = parseIndirect(p, name, later);
    applyLinkage(global, words);
    return global;
  }
  let space = 0;
  let externallyInitialized = false;
  for (;;) {
    if (p.takeWord("addrspace")) space = p.parenthesised("an address space");
    else if (p.takeWord("externally_initialized")) externallyInitialized = true;
    else break;
  }
  const isConstant = p.takeWord("constant");
  if (!isConstant) p.expectWord("global");
  const type = parseValueType(p);
  const global = new GlobalVariable(name, type, pointerType(space));
  global.isConstant = isConstant;
  global.externallyInitialized = externallyInitialized;
  applyLinkage(global, words);
  if (words.linkage !== "external" && words.linkage !== "extern_weak") {
    const start = p.pos;
    skipConstant(p);
    later.push(() => {
      p.pos = start;
      global.initializer = parseConstant(p, type);
    });
  }
  parseVariableClauses(p, global);
  return global;
}

function parseCodeModel(p: ParseContext): VariableCodeModel {
  const word = p.string("a code model");
  const known = variableCodeModels.find((model) => model === word);
  return known ?? p.fail(`unknown code model "${word}"`);
}

function parseVariableClauses(p: ParseContext, global: GlobalVariable): void {
  while (p.takeComma()) {
    if (p.takeWord("section")) global.section = p.string("a section name");
    else if (p.takeWord("align")) global.align = p.alignment();
    else if (p.isWord("comdat")) parseComdat(p, global);
    else if (p.takeWord("partition")) p.string("a string");
    else if (p.takeWord("code_model")) global.codeModel = parseCodeModel(p);
    else if (p.kind() === Tok.Word)
      p.next(); // no_sanitize_address and the like.
    else p.fail(`expected a property of a variable, found ${p.found()}`);
  }
  for (const [kind, entry] of parseAttachments(p)) p.hints.attachToGlobal(global, kind, entry);
  const attributes = new AttributeBuilder();
  for (;;) {
    if (p.kind() === Tok.Text) parseAttribute(p, attributes, true);
    else if (p.kind() === Tok.AttributeGroup) attributes.addAll(parseGroupReference(p));
    else break;
  }
  const set = attributes.set();
  if (!set.isEmpty) p.variableAttributes.set(global, set);
}

/** `comdat` or `comdat($name)`. */
export function parseComdat(p: ParseContext, global: GlobalValue): void {
  p.expectWord("comdat");
  if (!p.take(Tok.OpenParen)) {
    global.comdat = p.comdat(/^[0-9]+$/.test(global.name) ? `"${global.name}` : global.name);
    return;
  }
  if (p.kind() !== Tok.Comdat) p.fail(`expected a comdat name, found ${p.found()}`);
  global.comdat = p.comdat(p.nameKey());
  p.next();
  p.expect(Tok.CloseParen, "')'");
}

function parseIndirect(p: ParseContext, name: string, later: Deferred[]): Alias | IFunc {
  const isAlias = p.isWord("alias");
  p.next();
  const valueType = parseType(p);
  p.expect(Tok.Comma, "','");
  const start = p.pos;
  let type: Type;
  if (startsExpression(p)) type = p.at(p.pos, () => expressionType(p));
  else type = parseType(p);
  skipConstant(p);
  const global = isAlias ? new Alias(name, valueType, type) : new IFunc(name, valueType);
  later.push(() => {
    p.pos = start;
    const target = parseTarget(p, global.type);
    if (global.kind === "alias") global.aliasee = target;
    else global.resolver = target;
  });
  while (p.takeComma()) {
    p.expectWord("partition");
    p.string("a partition name");
  }
  skipAttachments(p);
  return global;
}

/** Type of an expression that cannot be read yet; the position is the caller's to restore. */
function expressionType(p: ParseContext): Type {
  const isCast = !p.isWord("getelementptr");
  while (p.kind() !== Tok.OpenParen) {
    if (p.kind() !== Tok.Word) p.fail(`expected '(', found ${p.found()}`);
    p.next();
    // Of `inrange(…)`, which comes before the operands.
    if (p.isWord("inrange") && p.peek(1) === Tok.OpenParen) {
      p.next();
      p.skipGroup();
    }
  }
  p.next();
  parseType(p);
  if (isCast) {
    skipConstant(p);
    p.expectWord("to");
    return parseType(p);
  }
  p.expect(Tok.Comma, "','");
  return parseType(p);
}

/** An expression tells its type itself and may come without one. */
function parseTarget(p: ParseContext, type: Type): Constant {
  return startsExpression(p) ? parseConstant(p, type) : parseTypedConstant(p);
}
