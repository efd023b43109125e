/**
 * What a parser of one module knows besides its position: where the definitions that others refer to
 * start, and what they have been found to mean so far. Types, attribute groups, comdats and metadata nodes
 * are read when first needed, so that their order in the text does not matter.
 */
import type { AttributeSet } from "../../lto/ir/attributes.js";
import type { DataLayout } from "../../lto/ir/data-layout.js";
import type { HintReader } from "../../lto/ir/hints/from-metadata.js";
import type { Block } from "../../lto/ir/instructions.js";
import { currentDataLayout } from "../../lto/ir/layout-upgrade.js";
import { withoutEscape } from "../../lto/ir/mangling.js";
import { Comdat, type GlobalValue, type GlobalVariable } from "../../lto/ir/module.js";
import type { Type } from "../../lto/ir/types.js";
import type { BlockAddress } from "../../lto/ir/values.js";
import { Cursor } from "./cursor.js";
import { unescapeText } from "./escape.js";
import { Tok, type Tokens } from "./lexer.js";

export interface TypeDefinition {
  /** Token after `type`. */
  readonly pos: number;
  type: Type | null;
  resolving: boolean;
}

/** A blockaddress whose function had not been read yet. */
export interface PendingBlockAddress {
  readonly constant: BlockAddress;
  /** Key of the block's name. */
  readonly block: string;
  readonly pos: number;
}

const selections = ["any", "exactmatch", "largest", "nodeduplicate", "samesize"] as const;

export class ParseContext extends Cursor {
  readonly types = new Map<string, TypeDefinition>();
  /** Tokens after `=` of attribute groups, which may be extended; then their contents. */
  readonly groupPositions = new Map<string, number[]>();
  readonly groups = new Map<string, AttributeSet>();
  /** Token after `=` of each metadata node. */
  readonly metadata = new Map<string, number>();
  /** What metadata says of instructions and globals. Set by the module's parser. */
  hints!: HintReader;
  readonly globals = new Map<string, GlobalValue>();
  /** Functions whose blocks a blockaddress names. */
  readonly addressed = new Set<string>();
  readonly pendingBlocks: PendingBlockAddress[] = [];
  /** Blocks by name of each function in `addressed`. */
  readonly labels = new Map<GlobalValue, ReadonlyMap<string, Block>>();
  /** Globals that appear without having been declared: intrinsics only. */
  readonly implicit: GlobalValue[] = [];
  triple = "";
  dataLayout: DataLayout;
  /** Attributes of variables, until their sections are decided. */
  readonly variableAttributes = new Map<GlobalVariable, AttributeSet>();
  private readonly comdatPositions = new Map<string, number>();
  private readonly comdats = new Map<string, Comdat>();

  constructor(tokens: Tokens) {
    super(tokens);
    let layout = "";
    let layoutPos = 0;
    const { kinds, count } = tokens;
    for (let i = 0; i + 2 < count; i++) {
      const kind = kinds[i]!;
      if (kinds[i + 1] === Tok.Equals) {
        this.pos = i;
        if ((kind === Tok.Local || kind === Tok.LocalNumber) && kinds[i + 2] === Tok.Word) {
          this.pos = i + 2;
          if (this.isWord("type")) {
            this.pos = i;
            this.types.set(this.nameKey(), { pos: i + 3, type: null, resolving: false });
          }
        } else if (kind === Tok.AttributeGroup) {
          const key = this.text();
          const positions = this.groupPositions.get(key);
          if (positions === undefined) this.groupPositions.set(key, [i + 2]);
          else positions.push(i + 2);
        } else if (kind === Tok.Metadata) this.metadata.set(this.text(), i + 2);
        else if (kind === Tok.Comdat) this.comdatPositions.set(withoutEscape(this.nameKey()), i + 2);
      } else if (kind === Tok.Word) {
        this.pos = i;
        if (kinds[i + 1] === Tok.Word && kinds[i + 2] === Tok.Equals && this.isWord("target")) {
          this.pos = i + 3;
          const value = kinds[i + 3] === Tok.Text ? unescapeText(this.text()) : "";
          this.pos = i + 1;
          if (this.isWord("triple")) this.triple = value;
          else if (this.isWord("datalayout")) {
            layout = value;
            layoutPos = i;
          }
        } else if (kinds[i + 1] === Tok.OpenParen && this.isWord("blockaddress")) {
          this.pos = i + 2;
          this.addressed.add(this.nameKey());
        }
      }
    }
    this.dataLayout = this.located(layoutPos, () => currentDataLayout(layout, this.triple));
    this.pos = 0;
  }

  /** Runs `read` at token `pos` and comes back. */
  at<T>(pos: number, read: () => T): T {
    const back = this.pos;
    this.pos = pos;
    const result = read();
    this.pos = back;
    return result;
  }

  /** The global that the current token names; the token is consumed. */
  global(): GlobalValue {
    const global = this.globals.get(this.globalKey());
    if (global === undefined) this.fail(`use of undefined value ${this.found()}`);
    this.next();
    return global;
  }
  /** `nameKey` of a global. With and without the mangling escape a name stands for two globals, though one symbol. */
  globalKey(): string {
    if (this.kind() !== Tok.Global && this.kind() !== Tok.GlobalNumber)
      this.fail(`expected a global name, found ${this.found()}`);
    return this.nameKey();
  }

  /** The comdat of key `key`, as used at the current token. */
  comdat(key: string): Comdat {
    const name = withoutEscape(key);
    let comdat = this.comdats.get(name);
    if (comdat === undefined) {
      const pos = this.comdatPositions.get(name);
      if (pos === undefined) this.fail(`use of undefined comdat '$${name}'`);
      comdat = this.at(pos, () => {
        this.expectWord("comdat");
        const selection = selections.find((word) => this.isWord(word));
        if (selection === undefined) this.fail(`expected a comdat selection, found ${this.found()}`);
        return new Comdat(name.startsWith('"') ? name.slice(1) : name, selection);
      });
      this.comdats.set(name, comdat);
    }
    return comdat;
  }
}
