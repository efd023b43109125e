/** Assembly text of a linked program. */
export type { UnwindTables } from "./functions.js";
export type { AsmOptions } from "./options.js";
export { AsmPrinter, printModule } from "./printer.js";
