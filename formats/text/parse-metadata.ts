/**
 * Metadata (LLVM Language Reference, "Metadata"): module flags, dependent libraries, the strings that some intrinsics
 * take as operands, and attachments that become hints. Everything else is skipped.
 */

import { UnsupportedError } from "../../lto/ir/errors.js";
import { type MetadataEntry, type MetadataGraph, typeName } from "../../lto/ir/hints/from-metadata.js";
import { attachmentFates, refusedAttachment, refusedNode } from "../../lto/ir/metadata-names.js";
import type { Module } from "../../lto/ir/module.js";
import { unescapeText } from "./escape.js";
import { Tok } from "./lexer.js";
import { parseConstant, skipConstant } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import { parseType } from "./parse-types.js";

/** Skips one metadata value: a node, a reference to one, a string, or a value of the IR. */
export function skipMetadata(p: ParseContext): void {
  p.takeWord("distinct");
  switch (p.kind()) {
    case Tok.Metadata:
      p.next();
      if (p.kind() === Tok.OpenParen) p.skipGroup();
      return;
    case Tok.Bang:
      p.next();
      if (p.take(Tok.Text)) return;
      if (p.kind() !== Tok.OpenBrace) p.fail(`expected a metadata node, found ${p.found()}`);
      p.skipGroup();
      return;
    case Tok.Word:
      if (p.takeWord("null")) return;
  }
  parseType(p);
  if (p.kind() === Tok.Local || p.kind() === Tok.LocalNumber) p.next();
  else skipConstant(p);
}

/** @throws UnsupportedError for what is refused */
function refuse(what: string | null): void {
  if (what !== null) throw new UnsupportedError(what);
}

/** Skips `, !kind value` after an instruction or global. */
export function skipAttachments(p: ParseContext): void {
  while (p.kind() === Tok.Comma && p.peek(1) === Tok.Metadata) {
    p.next();
    refuse(refusedAttachment(p.text()));
    p.next();
    skipMetadata(p);
  }
}

/** What stands at a token as a number of the graph: where its definition starts, if it is a reference. */
function entryAt(p: ParseContext): number {
  if (p.kind() !== Tok.Metadata || !/^[0-9]/.test(p.text())) return p.pos;
  const target = p.metadata.get(p.text());
  if (target === undefined) p.fail(`use of undefined metadata ${p.found()}`);
  return target;
}

type Attachments = readonly (readonly [string, number])[];
const noAttachments: Attachments = [];

/** Reads `, !kind value` after an instruction; null for kinds that say nothing here. */
export function parseAttachments(p: ParseContext): Attachments {
  let list: (readonly [string, number])[] | null = null;
  while (p.kind() === Tok.Comma && p.peek(1) === Tok.Metadata) {
    p.next();
    const attachment = parseAttachment(p);
    if (attachment !== null) (list ??= []).push(attachment);
  }
  return list ?? noAttachments;
}

/** Reads `!kind value`; null for a kind that says nothing here. */
export function parseAttachment(p: ParseContext): readonly [string, number] | null {
  const kind = p.text();
  p.next();
  refuse(refusedAttachment(kind));
  const isHint = attachmentFates.get(kind) === "read";
  const entry = isHint ? entryAt(p) : 0;
  skipMetadata(p);
  return isHint ? [kind, entry] : null;
}

/** The metadata of a text, each entry numbered by the token that it starts at. */
export class TextMetadata implements MetadataGraph {
  readonly source = "text";
  constructor(private readonly p: ParseContext) {}

  entry(pos: number): MetadataEntry {
    return this.p.at(pos, () => this.read());
  }

  private read(): MetadataEntry {
    const p: ParseContext = this.p;
    const distinct = p.takeWord("distinct");
    if (p.kind() === Tok.Metadata) return { kind: "other" };
    if (p.take(Tok.Bang)) {
      if (p.kind() === Tok.Text) return { kind: "string", text: unescapeText(p.text()) };
      p.expect(Tok.OpenBrace, "'{'");
      const operands: (number | null)[] = [];
      if (p.kind() !== Tok.CloseBrace)
        do {
          operands.push(p.isWord("null") ? null : entryAt(p));
          skipMetadata(p);
        } while (p.take(Tok.Comma));
      p.expect(Tok.CloseBrace, "'}'");
      return { kind: "node", distinct, operands };
    }
    const type = parseType(p);
    const isConstant = p.kind() !== Tok.Local && p.kind() !== Tok.LocalNumber && type.kind !== "metadata";
    return { kind: "value", value: isConstant ? parseConstant(p, type) : null };
  }
}

/** String of an MDString, or of a node that starts with one; null for other metadata. Consumes it. */
export function parseMetadataText(p: ParseContext): string | null {
  const start = p.pos;
  skipMetadata(p);
  const end = p.pos;
  p.pos = start;
  const isNode = p.kind() === Tok.Metadata;
  const text = stringAt(p, true) ?? (isNode ? p.at(start, () => typeNameAt(p)) : null);
  p.pos = end;
  return text;
}

/** Of a type without a string. */
function typeNameAt(p: ParseContext): string | null {
  const target = p.metadata.get(p.text());
  return target === undefined ? null : typeName(new TextMetadata(p), target);
}

function stringAt(p: ParseContext, follow: boolean): string | null {
  p.takeWord("distinct");
  if (p.kind() === Tok.Metadata) {
    const target = follow ? p.metadata.get(p.text()) : undefined;
    if (target === undefined) return null;
    return p.at(target, () => stringAt(p, false));
  }
  if (!p.take(Tok.Bang)) return null;
  if (p.kind() === Tok.OpenBrace && p.peek(1) === Tok.Bang) {
    p.next();
    p.next();
  }
  return p.kind() === Tok.Text ? unescapeText(p.text()) : null;
}

/** Reads the named metadata that modules keep. The current token is the `!name` of `!name = !{…}`. */
export function parseNamedMetadata(p: ParseContext, module: Module): void {
  const name = p.text();
  refuse(refusedNode(name));
  p.next();
  p.expect(Tok.Equals, "'='");
  if (name !== "llvm.module.flags" && name !== "llvm.dependent-libraries") {
    skipMetadata(p);
    return;
  }
  p.expect(Tok.Bang, "'!{'");
  p.expect(Tok.OpenBrace, "'!{'");
  if (p.kind() !== Tok.CloseBrace)
    do {
      if (name === "llvm.module.flags") parseModuleFlag(p, module);
      else {
        const library = parseMetadataText(p);
        if (library !== null) module.dependentLibraries.push(library);
      }
    } while (p.take(Tok.Comma));
  p.expect(Tok.CloseBrace, "'}'");
}

/** One `!{i32 behavior, !"key", value}`, written in place or referred to. */
function parseModuleFlag(p: ParseContext, module: Module): void {
  const start = p.pos;
  const read = (): void => {
    p.takeWord("distinct");
    const flag = flagAt(p);
    if (flag !== null) module.flags.push(flag);
  };
  const target = p.kind() === Tok.Metadata ? p.metadata.get(p.text()) : start;
  if (target === undefined) p.fail(`use of undefined metadata ${p.found()}`);
  p.at(target, read);
  skipMetadata(p);
}

function flagAt(p: ParseContext): Module["flags"][number] | null {
  if (!p.take(Tok.Bang) || !p.take(Tok.OpenBrace) || !p.takeWord("i32")) return null;
  const written = p.integer("a module flag behavior", 255);
  if (!p.take(Tok.Comma) || !p.take(Tok.Bang)) return null;
  const key = p.string("a module flag name");
  const behavior = currentBehavior(key, written);
  if (!p.take(Tok.Comma)) return null;
  if (p.take(Tok.Bang)) return p.kind() === Tok.Text ? { behavior, key, value: p.string("a string") } : null;
  if (!p.take(Tok.Word)) return null;
  if (p.isWord("true")) return { behavior, key, value: -1 };
  if (p.isWord("false")) return { behavior, key, value: 0 };
  if (p.kind() !== Tok.Integer) return null;
  const value = Number(p.text());
  return Number.isSafeInteger(value) ? { behavior, key, value } : null;
}

/** Merge rules that LLVM 16 and 7 changed; modules of old producers must agree with new ones. */
function currentBehavior(key: string, behavior: number): number {
  const error = 1;
  const max = 7;
  const min = 8;
  if (key === "PIC Level" && (behavior === error || behavior === max)) return min;
  return key === "PIE Level" && behavior === error ? max : behavior;
}
