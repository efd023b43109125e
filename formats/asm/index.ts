/** Assembly text of a linked program. */
export type { PoolContents } from "./pool.js";
export { AsmPrinter, printModule } from "./printer.js";
export { UnwindSharing } from "./unwind-sharing.js";
