/**
 * Parser of LLVM assembly, opaque or typed pointers, as clang and opt 15 to 22 write it; and so of the
 * textual form that printer.ts writes.
 *
 * Method: the text is cut into tokens once; a walk over the top level makes all globals and notes where
 * initializers and bodies start; then these are read, with every global known. Linear in the text.
 * Debug information, use-list orders, module summaries and all metadata but module flags and hints are skipped.
 */

import { attributed } from "../../lto/ir/errors.js";
import { HintReader } from "../../lto/ir/hints/from-metadata.js";
import { placeImplicitly } from "../../lto/ir/implicit-sections.js";
import { isDebugIntrinsic } from "../../lto/ir/intrinsics.js";
import { takeSymbolName, withoutEscape } from "../../lto/ir/mangling.js";
import { Func, type GlobalValue, Module } from "../../lto/ir/module.js";
import { Tok, tokenize } from "./lexer.js";
import { BodyParser, skipUseListOrder } from "./parse-body.js";
import { ParseContext } from "./parse-context.js";
import { type PendingBody, parseFunctionHeader } from "./parse-function-header.js";
import { type Deferred, parseGlobal } from "./parse-globals.js";
import { parseNamedMetadata, skipMetadata, TextMetadata } from "./parse-metadata.js";

/**
 * Reads a module from LLVM assembly.
 * @param file names the module in messages
 * @throws InputError (`line N: …`) on malformed text, UnsupportedError on what the IR cannot express
 */
export function parseModule(text: string, file: string): Module {
  return attributed(file, () => new ModuleParser(text, file).parse());
}

class ModuleParser {
  private readonly p: ParseContext;
  private readonly module: Module;
  private readonly later: Deferred[] = [];
  private readonly bodies: PendingBody[] = [];
  private nextNumber = 0;

  constructor(text: string, file: string) {
    this.p = new ParseContext(tokenize(text));
    this.p.hints = new HintReader(new TextMetadata(this.p));
    this.module = new Module(file, file, this.p.triple, this.p.dataLayout);
  }

  parse(): Module {
    const { p, module } = this;
    while (p.kind() !== Tok.Eof) this.parseEntity();
    for (const read of this.later) read();
    for (const pending of this.bodies) {
      const body = new BodyParser(p, pending);
      pending.fn.define(body.parse());
      if (p.addressed.has(pending.key)) p.labels.set(pending.fn, body.blocksByName);
    }
    this.resolveBlockAddresses();
    for (const global of p.implicit) module.globals.push(global);
    placeImplicitly(module, p.variableAttributes);
    return module;
  }

  private parseEntity(): void {
    const p: ParseContext = this.p;
    switch (p.kind()) {
      case Tok.Global:
      case Tok.GlobalNumber: {
        const { key, name } = this.newName();
        p.expect(Tok.Equals, "'='");
        this.add(key, parseGlobal(p, name, this.later));
        return;
      }
      case Tok.Local:
      case Tok.LocalNumber:
        // A type; the context has seen it.
        this.skipDefinition();
        p.expectWord("type");
        this.skipTypeBody();
        return;
      case Tok.Comdat:
        this.skipDefinition();
        p.expectWord("comdat");
        p.next();
        return;
      case Tok.Metadata:
        if (/^[0-9]/.test(p.text())) {
          this.skipDefinition();
          skipMetadata(p);
        } else parseNamedMetadata(p, this.module);
        return;
      case Tok.Word:
        this.parseKeyword(p.text());
        return;
      default:
        p.fail(`expected a top-level entity, found ${p.found()}`);
    }
  }

  private parseKeyword(word: string): void {
    const { p, module } = this;
    const start = p.pos;
    switch (word) {
      case "define":
      case "declare":
        p.next();
        this.parseFunction(word === "define");
        return;
      case "source_filename":
        p.next();
        p.expect(Tok.Equals, "'='");
        module.sourceName = p.string("a file name");
        return;
      case "target":
        p.next();
        p.next();
        p.expect(Tok.Equals, "'='");
        p.string("a target description");
        return;
      case "module":
        p.next();
        p.expectWord("asm");
        module.moduleAsm += `${p.string("assembly text")}\n`;
        return;
      case "attributes":
        p.next();
        if (p.kind() !== Tok.AttributeGroup) p.fail(`expected an attribute group, found ${p.found()}`);
        this.skipDefinition();
        if (p.kind() !== Tok.OpenBrace) p.fail(`expected '{', found ${p.found()}`);
        p.skipGroup();
        return;
      case "uselistorder":
      case "uselistorder_bb":
        skipUseListOrder(p);
        return;
      default:
        p.fail(`expected a top-level entity, found ${p.found()}`, start);
    }
  }

  private parseFunction(isDefinition: boolean): void {
    const p: ParseContext = this.p;
    const { fn, key, body } = parseFunctionHeader(p, isDefinition, () => this.newName(), this.later);
    this.add(key, fn);
    if (body !== null) this.bodies.push(body);
  }

  /** Skips `name =`. */
  private skipDefinition(): void {
    this.p.next();
    this.p.expect(Tok.Equals, "'='");
  }

  /** Skips a type that may name others in any order. */
  private skipTypeBody(): void {
    const p: ParseContext = this.p;
    if (p.kind() === Tok.Word || p.kind() === Tok.Local || p.kind() === Tok.LocalNumber) p.next();
    else if (p.kind() === Tok.OpenBrace || p.kind() === Tok.OpenAngle || p.kind() === Tok.OpenSquare)
      p.skipGroup();
    else p.fail(`expected a type, found ${p.found()}`);
    // Suffixes: parameters of a function type, pointers, `target("…")`, address spaces.
    for (;;) {
      if (p.kind() === Tok.OpenParen) p.skipGroup();
      else if (!p.take(Tok.Star) && !p.takeWord("addrspace")) return;
    }
  }

  /** The name at the current token, which must be new, as a key and as the IR has it. */
  private newName(): { key: string; name: string } {
    const p: ParseContext = this.p;
    const key = p.globalKey();
    if (withoutEscape(key) === "") {
      // LLVM takes an empty name as none.
      p.next();
      return { key: String(this.nextNumber++), name: "" };
    }
    if (p.globals.has(key)) p.fail(`redefinition of '@${key}'`);
    let name = "";
    if (p.kind() === Tok.GlobalNumber) {
      const number = Number(key);
      if (number < this.nextNumber || number > p.tokens.count)
        p.fail(`'@${key.slice(0, 20)}' is out of order: expected '@${this.nextNumber}'`);
      this.nextNumber = number + 1;
    } else name = key.startsWith('"') && p.tokens.quoted[p.pos] === 1 ? nameOfKey(key) : key;
    p.next();
    return { key, name };
  }

  private add(key: string, global: GlobalValue): void {
    this.p.globals.set(key, global);
    takeSymbolName(global);
    // Calls to debug intrinsics are dropped, so nothing refers to them.
    if (!(global instanceof Func && isDebugIntrinsic(key))) this.module.globals.push(global);
  }

  private resolveBlockAddresses(): void {
    const p: ParseContext = this.p;
    for (const { constant, block, pos } of p.pendingBlocks) {
      const target = p.labels.get(constant.fn)?.get(block);
      if (target === undefined) p.fail(`blockaddress of undefined block '%${block}'`, pos);
      if (!target.addressTaken) {
        // Its position, as in bitcode, unless another block is called that.
        const used = new Set([...p.labels.get(constant.fn)!.values()].map((other) => other.label));
        target.label = target.id;
        while (used.has(target.label)) target.label++;
      }
      // The label was not known when the constant was made; nobody has read it yet.
      (constant as { label: number }).label = target.label;
    }
  }
}

/** Undoes the mark that `Cursor.nameKey` puts on names that look like numbers. */
const nameOfKey = (key: string): string => (/^"[0-9]+$/.test(key) ? key.slice(1) : key);
