/** The textual form of the IR, which is LLVM assembly. */
export { parseModule } from "./parser.js";
export {
  LocalNumbers,
  printConstant,
  printFunction,
  printInst,
  printModule,
} from "./printer.js";
