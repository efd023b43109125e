/** What a rule across an edge is asked about: two blocks, what is live at their ends; and what it wants to have there. */
import { type PostLiveness, postLiveness } from "../../codegen/late/liveness.js";
import type { MBlock, MFunction, MInst } from "../../codegen/mir.js";
import type { RegisterSet } from "../../codegen/register-set.js";
import type { Cc } from "../isa/ops.js";

/** So many instructions of a block from `at` on become others. */
export interface Change {
  readonly block: MBlock;
  readonly at: number;
  readonly removed: number;
  readonly made: readonly MInst[];
}

export class EdgeMatch {
  /** The block that is asked about, and the only one that leads to it: both are the same where a rule is about one. */
  block!: MBlock;
  from!: MBlock;
  /** The instruction of `block` that is asked about, and the comparison that the flags come from on all paths to it. */
  index = -1;
  made: MInst | null = null;

  private computed: PostLiveness | null = null;
  readonly changes: Change[] = [];
  readonly conditions: { readonly inst: MInst; readonly cc: Cc }[] = [];

  /** @param flags liveness of flags at the ends of blocks */
  constructor(
    readonly mf: MFunction,
    readonly flags: PostLiveness,
    private readonly preserved: RegisterSet,
  ) {}

  /** Of registers, as they were when it was first asked for: nothing becomes live by what rules make but what they say. */
  get liveness(): PostLiveness {
    this.computed ??= postLiveness(this.mf, this.preserved);
    return this.computed;
  }

  clear(): void {
    this.changes.length = 0;
    this.conditions.length = 0;
  }
  /** In order: places are those after the changes before. */
  change(block: MBlock, at: number, removed: number, ...made: readonly MInst[]): void {
    this.changes.push({ block, at, removed, made });
  }
  /** An instruction reads another condition. */
  setCondition(inst: MInst, cc: Cc): void {
    this.conditions.push({ inst, cc });
  }
}
