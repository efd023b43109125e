/** `define` and `declare` (LLVM Language Reference, "Functions"). The body is skipped and read later. */
import { AttributeList, type AttributeSet, noAttributeList, noAttributes } from "../../lto/ir/attributes.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, pointerType, type Type } from "../../lto/ir/types.js";
import { callingConventions } from "./keywords.js";
import { Tok } from "./lexer.js";
import {
  AttributeBuilder,
  parseAttribute,
  parseGroupReference,
  parseValueAttributes,
} from "./parse-attributes.js";
import { parseTypedConstant, skipConstant } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import { type Deferred, parseComdat } from "./parse-globals.js";
import { applyLinkage, parseLinkage } from "./parse-linkage.js";
import { parseAttachment } from "./parse-metadata.js";
import { parseType, startsType } from "./parse-types.js";

/** A function body that is still to be read. */
export interface PendingBody {
  readonly fn: Func;
  /** The function's name as `ParseContext.globals` has it. */
  readonly key: string;
  /** Name of each argument, as `Cursor.nameKey` gives it; null where there is none. */
  readonly argumentNames: readonly (string | null)[];
  /** Token of the opening brace. */
  readonly pos: number;
}

/** A word for a convention, `ccN` or `cc N`; 0 if there is none. */
export function parseConvention(p: ParseContext): number {
  if (p.kind() !== Tok.Word) return 0;
  if (p.takeWord("cc")) return p.integer("a calling convention", 1023);
  const word = p.text();
  const number = /^cc[0-9]+$/.test(word) ? Number(word.slice(2)) : callingConventions.get(word);
  if (number === undefined) return 0;
  if (number > 1023) p.fail(`a calling convention ${p.found()} is out of range`);
  p.next();
  return number;
}

interface Parameters {
  readonly types: Type[];
  readonly attributes: AttributeSet[];
  readonly names: (string | null)[];
  readonly varArg: boolean;
}

/**
 * Reads what follows `define` or `declare`.
 * @param declareName checks that the name at the current token is new, consumes it and returns it
 */
export function parseFunctionHeader(
  p: ParseContext,
  isDefinition: boolean,
  declareName: () => { key: string; name: string },
  later: Deferred[],
): { fn: Func; key: string; body: PendingBody | null } {
  const attachments: (readonly [string, number])[] = [];
  while (p.kind() === Tok.Metadata) {
    const attachment = parseAttachment(p);
    if (attachment !== null) attachments.push(attachment);
  }
  const words = parseLinkage(p);
  const convention = parseConvention(p);
  const resultAttributes = parseValueAttributes(p, startsType);
  const typeAt = p.pos;
  const result = parseType(p);
  if (result.kind === "function" || result.kind === "label" || result.kind === "metadata")
    p.fail(`a function cannot return type '${result.kind}'`, typeAt);
  const { key, name } = declareName();
  const parameters = parseParameters(p);
  const clauses = new HeaderClauses(p);
  const type = functionType(result, parameters.types, parameters.varArg);
  const fn = new Func(name, type, pointerType(clauses.addressSpace));
  clauses.read(fn, isDefinition, later);
  for (const [kind, entry] of [...attachments, ...clauses.attachments])
    p.hints.attachToGlobal(fn, kind, entry);
  applyLinkage(fn, words);
  fn.callingConvention = convention;
  const attributes = clauses.attributes.set();
  fn.attributes =
    attributes === noAttributes &&
    resultAttributes === noAttributes &&
    parameters.attributes.every((set) => set === noAttributes)
      ? noAttributeList
      : new AttributeList(attributes, resultAttributes, parameters.attributes);
  if (!isDefinition) return { fn, key, body: null };
  if (p.kind() !== Tok.OpenBrace) p.fail(`expected '{', found ${p.found()}`);
  const body = { fn, key, argumentNames: parameters.names, pos: p.pos };
  skipBody(p);
  return { fn, key, body };
}

function parseParameters(p: ParseContext): Parameters {
  const types: Type[] = [];
  const attributes: AttributeSet[] = [];
  const names: (string | null)[] = [];
  let varArg = false;
  p.expect(Tok.OpenParen, "'('");
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
      types.push(type);
      attributes.push(parseValueAttributes(p, () => false));
      const named = p.kind() === Tok.Local || p.kind() === Tok.LocalNumber;
      names.push(named ? p.nameKey() : null);
      if (named) p.next();
    } while (p.take(Tok.Comma));
  p.expect(Tok.CloseParen, "')'");
  return { types, attributes, names, varArg };
}

/** Words that start an entity of the top level. */
const entityWords: ReadonlySet<string> = new Set([
  "define",
  "declare",
  "source_filename",
  "target",
  "module",
  "attributes",
  "uselistorder",
  "uselistorder_bb",
]);

/** What stands between the parameters and the body. */
class HeaderClauses {
  readonly attributes = new AttributeBuilder();
  readonly attachments: (readonly [string, number])[] = [];
  readonly addressSpace: number;
  private readonly unnamedAddr: "none" | "local" | "global";

  constructor(private readonly p: ParseContext) {
    this.unnamedAddr = p.takeWord("unnamed_addr")
      ? "global"
      : p.takeWord("local_unnamed_addr")
        ? "local"
        : "none";
    this.addressSpace = p.takeWord("addrspace") ? p.parenthesised("an address space") : 0;
  }

  read(fn: Func, isDefinition: boolean, later: Deferred[]): void {
    const p: ParseContext = this.p;
    fn.unnamedAddr = this.unnamedAddr;
    for (;;) {
      switch (p.kind()) {
        case Tok.AttributeGroup:
          this.attributes.addAll(parseGroupReference(p));
          continue;
        case Tok.Metadata:
          // After a declaration it is the next entity.
          if (!isDefinition) return;
          this.attachment();
          continue;
        case Tok.Text:
          parseAttribute(p, this.attributes, true);
          continue;
        case Tok.Word:
          // Where a declaration ends only the next entity tells.
          if (!isDefinition && p.startsLine() && entityWords.has(p.text())) return;
          this.word(fn, later);
          continue;
        default:
          return;
      }
    }
  }

  private attachment(): void {
    const attachment = parseAttachment(this.p);
    if (attachment !== null) this.attachments.push(attachment);
  }

  private word(fn: Func, later: Deferred[]): void {
    const p: ParseContext = this.p;
    const word = p.text();
    switch (word) {
      case "section":
        p.next();
        fn.section = p.string("a section name");
        return;
      case "partition":
        p.next();
        p.string("a partition name");
        return;
      case "comdat":
        parseComdat(p, fn);
        return;
      case "align":
        p.next();
        fn.align = p.alignment();
        return;
      case "gc":
        p.next();
        fn.gc = p.string("a collector name");
        return;
      case "prefix":
      case "prologue":
      case "personality": {
        p.next();
        const start = p.pos;
        parseType(p);
        skipConstant(p);
        later.push(() => {
          p.pos = start;
          fn[word] = parseTypedConstant(p);
        });
        return;
      }
      default:
        parseAttribute(p, this.attributes, true);
    }
  }
}

/** Skips from the opening to the matching closing brace. */
function skipBody(p: ParseContext): void {
  const start = p.pos;
  const { kinds } = p.tokens;
  let depth = 0;
  for (let i = start; ; i++) {
    const kind = kinds[i]!;
    if (kind === Tok.OpenBrace) depth++;
    else if (kind === Tok.CloseBrace) {
      if (--depth === 0) {
        p.pos = i;
        p.next();
        return;
      }
    } else if (kind === Tok.Eof) p.fail("function body without an end", start);
  }
}
