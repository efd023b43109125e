/** Loop nesting of function bodies. */
import type { BodyView } from "../ir/instructions.js";
import { bodySuccessors } from "./cfg.js";
import { type LoopNest, loopNest } from "./loop-nest.js";

/** Innermost loop headers and nesting depths by block number. The blocks must be numbered. */
export function bodyLoops(body: BodyView): LoopNest {
  return loopNest(bodySuccessors(body), [0]);
}
