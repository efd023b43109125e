/** Assembly text of a linked program. */
export { FallThrough } from "./fall-through.js";
export { symbolRefusal } from "./names.js";
export type { PoolContents } from "./pool.js";
export { AsmPrinter, printModule } from "./printer.js";
export { UnwindSharing } from "./unwind-sharing.js";
