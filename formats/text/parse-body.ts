/**
 * Function bodies: blocks, and names of local values.
 *
 * A use may come before its definition. Its operand then is a `ForwardReference`, which knows the type that
 * the use expects, and which `finish` replaces.
 */

import { Block, Body, type Inst, isTerminator } from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";
import { raw } from "../../lto/ir/raw.js";
import type { Type } from "../../lto/ir/types.js";
import { type Argument, MetadataOperand, type Value } from "../../lto/ir/values.js";
import { describeType } from "../../lto/verify/describe.js";
import { Tok } from "./lexer.js";
import { parseConstant } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";
import type { PendingBody } from "./parse-function-header.js";
import { parseInstruction } from "./parse-instructions.js";
import { parseAttachments, parseMetadataText } from "./parse-metadata.js";
import { parseType } from "./parse-types.js";

class ForwardReference {
  readonly valueKind = "forward";
  constructor(
    readonly type: Type,
    readonly key: string,
    /** Token of the use. */
    readonly pos: number,
  ) {}
}

export class BodyParser {
  private readonly body = new Body();
  private readonly values = new Map<string, Inst | Argument>();
  private readonly labels = new Map<string, Block>();
  /** Where each label was first used, for the message if it is never defined. */
  private readonly labelUses = new Map<Block, number>();
  private readonly unresolved: { inst: Inst; index: number; ref: ForwardReference }[] = [];
  /** Set while the operands of the current instruction hold forward references. */
  private sawForward = false;
  private nextNumber = 0;
  readonly fn: Func;

  constructor(
    readonly p: ParseContext,
    pending: PendingBody,
  ) {
    this.fn = pending.fn;
    p.pos = pending.pos;
    pending.argumentNames.forEach((name, i) => {
      const arg = this.fn.args[i]!;
      const key = name ?? String(this.nextNumber);
      this.defineValue(key, arg, pending.pos);
    });
  }

  /** Reads the body from its opening brace on. */
  parse(): Body {
    const p: ParseContext = this.p;
    p.expect(Tok.OpenBrace, "'{'");
    while (!p.take(Tok.CloseBrace)) {
      if (p.isWord("uselistorder")) {
        skipUseListOrder(p);
        continue;
      }
      this.parseBlock();
    }
    if (this.body.blocks.length === 0) p.fail(`function '@${this.fn.name}' has an empty body`, p.pos - 1);
    this.finish();
    return this.body;
  }

  /** Blocks by the key of their name. */
  get blocksByName(): ReadonlyMap<string, Block> {
    return this.labels;
  }

  private parseBlock(): void {
    const p: ParseContext = this.p;
    const block = this.openBlock();
    for (;;) {
      if (p.kind() === Tok.DebugRecord) {
        p.next();
        p.skipGroup();
        continue;
      }
      if (this.parseStatement(block)) return;
    }
  }

  private openBlock(): Block {
    const p: ParseContext = this.p;
    let key: string;
    const at = p.pos;
    if (p.kind() === Tok.Label) {
      key = p.nameKey();
      p.next();
    } else key = String(this.nextNumber);
    this.noteNumber(key, at);
    let block = this.labels.get(key);
    if (block === undefined) {
      block = new Block();
      this.labels.set(key, block);
    }
    if (block.id >= 0 || this.values.has(key)) p.fail(`redefinition of '%${key}'`, at);
    block.id = this.body.blocks.length;
    // The printer's mark; other text gets labels from its blockaddress constants.
    if (/^taken\.(0|[1-9][0-9]{0,8})$/.test(key)) block.label = Number(key.slice(6));
    this.body.blocks.push(block);
    return block;
  }

  /** Reads one instruction. @returns whether it ends the block */
  private parseStatement(block: Block): boolean {
    const p: ParseContext = this.p;
    const start = p.pos;
    let key: string | null = null;
    if (p.kind() === Tok.Local || p.kind() === Tok.LocalNumber) {
      key = p.nameKey();
      p.next();
      p.expect(Tok.Equals, "'='");
    }
    const opcodeAt = p.pos;
    const inst = parseInstruction(this);
    const attachments = parseAttachments(p);
    if (inst !== null && attachments.length > 0) inst.hints = p.hints.hints(inst, attachments);
    if (inst === null) {
      if (key !== null) p.fail("a value from an instruction that has none", start);
      return false;
    }
    if (this.sawForward) this.collectForward(inst);
    if (inst.type.kind !== "void") this.defineValue(key ?? String(this.nextNumber), inst, start);
    else if (key !== null) p.fail(`an instruction without a result is named '%${key}'`, start);
    inst.parent = block;
    raw(block).insts.push(inst);
    if (isTerminator(inst.op)) return true;
    if (p.kind() === Tok.CloseBrace || p.kind() === Tok.Label || p.kind() === Tok.Eof)
      p.fail("block without a terminator", opcodeAt);
    return false;
  }

  private collectForward(inst: Inst): void {
    this.sawForward = false;
    for (let index = 0; index < inst.operands.length; index++) {
      const operand: unknown = inst.operands[index];
      if (operand instanceof ForwardReference) this.unresolved.push({ inst, index, ref: operand });
    }
  }

  /** Numbers are given in order; a gap is allowed, going back is not. */
  private noteNumber(key: string, at: number): void {
    const first = key.charCodeAt(0);
    if (!(first >= 0x30 && first <= 0x39) || !/^[0-9]+$/.test(key)) return;
    const number = Number(key);
    if (number < this.nextNumber || number > this.p.tokens.count)
      this.p.fail(`'%${key.slice(0, 20)}' is out of order: expected '%${this.nextNumber}'`, at);
    this.nextNumber = number + 1;
  }

  private defineValue(key: string, value: Inst | Argument, at: number): void {
    this.noteNumber(key, at);
    if (this.values.has(key) || (this.labels.get(key)?.id ?? -1) >= 0)
      this.p.fail(`redefinition of '%${key}'`, at);
    this.values.set(key, value);
  }

  private finish(): void {
    const p: ParseContext = this.p;
    for (const { inst, index, ref } of this.unresolved) {
      const value = this.values.get(ref.key);
      if (value === undefined) p.fail(`use of undefined value '%${ref.key}'`, ref.pos);
      this.checkType(value, ref.type, ref.key, ref.pos);
      raw(inst).operands[index] = value;
    }
    for (const [key, block] of this.labels)
      if (block.id < 0) p.fail(`use of undefined label '%${key}'`, this.labelUses.get(block));
  }

  private checkType(value: Value, type: Type, key: string, pos: number): void {
    if (value.type !== type)
      this.p.fail(
        `'%${key}' has type '${describeType(value.type)}' but is used as '${describeType(type)}'`,
        pos,
      );
  }

  /** An operand of known type. */
  operand(type: Type): Value {
    const p: ParseContext = this.p;
    if (type.kind === "metadata") return new MetadataOperand(parseMetadataText(p));
    if (p.kind() === Tok.Local || p.kind() === Tok.LocalNumber) {
      const key = p.nameKey();
      const value = this.values.get(key);
      const pos = p.pos;
      p.next();
      if (value !== undefined) {
        this.checkType(value, type, key, pos);
        return value;
      }
      if (type.kind === "void" || type.kind === "label" || type.kind === "function")
        p.fail(`a value cannot have type '${type.kind}'`, pos);
      this.sawForward = true;
      // Stands in for the value until `finish`, and never leaves this class.
      return new ForwardReference(type, key, pos) as unknown as Value;
    }
    return parseConstant(p, type);
  }

  /** A type and an operand of it. */
  typedOperand(): Value {
    return this.operand(parseType(this.p));
  }

  /** `label %name`. */
  label(): Block {
    this.p.expectWord("label");
    return this.block();
  }

  /** `%name` of a block. */
  block(): Block {
    const p: ParseContext = this.p;
    if (p.kind() !== Tok.Local && p.kind() !== Tok.LocalNumber)
      p.fail(`expected a block, found ${p.found()}`);
    const key = p.nameKey();
    let block = this.labels.get(key);
    if (block === undefined) {
      block = new Block();
      this.labels.set(key, block);
      this.labelUses.set(block, p.pos);
    }
    p.next();
    return block;
  }

  comma(): void {
    this.p.expect(Tok.Comma, "','");
  }
}

/** `uselistorder` only permutes what this IR does not keep. */
export function skipUseListOrder(p: ParseContext): void {
  do {
    if (p.kind() === Tok.Eof) return;
    p.next();
  } while (p.kind() !== Tok.OpenBrace);
  p.skipGroup();
}
