/** The words that start an instruction, and the flags that may follow one. */
import type { Op } from "../../lto/ir/instructions.js";
import { legalFlags } from "../../lto/verify/flags.js";
import { binaryOps, castOps } from "./keywords.js";
import type { BodyParser } from "./parse-body.js";
import { parseFlags } from "./parse-constants.js";
import type { ParseContext } from "./parse-context.js";

/** Windows exception handling, which has no counterpart in the IR. */
const unsupportedWords = new Set(["catchswitch", "catchpad", "catchret", "cleanuppad", "cleanupret"]);

const words = [
  "ret",
  "br",
  "switch",
  "indirectbr",
  "invoke",
  "callbr",
  "resume",
  "unreachable",
  "fneg",
  "alloca",
  "load",
  "store",
  "fence",
  "cmpxchg",
  "atomicrmw",
  "getelementptr",
  "icmp",
  "fcmp",
  "phi",
  "select",
  "call",
  "tail",
  "musttail",
  "notail",
  "va_arg",
  "extractelement",
  "insertelement",
  "shufflevector",
  "extractvalue",
  "insertvalue",
  "landingpad",
  "freeze",
] as const;
/** Instructions that have a way of their own to be read, apart from binary operations and casts. */
export type InstructionWord = (typeof words)[number];
const known: ReadonlySet<string> = new Set(words);

/** Whether a word starts an instruction, rather than being an attribute of the call before. */
export const isInstructionWord = (word: string): boolean =>
  known.has(word) || binaryOps.has(word) || castOps.has(word) || unsupportedWords.has(word);

/** Flags that the operation may have. */
export function parseLegalFlags(b: BodyParser, op: Op): number {
  const p: ParseContext = b.p;
  const at = p.pos;
  const flags = parseFlags(p);
  if ((flags & ~legalFlags(op)) !== 0) p.fail("a flag that the instruction cannot have", at);
  return flags;
}
