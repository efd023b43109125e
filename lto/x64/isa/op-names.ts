/**
 * The names of `X`'s members. A constant enumeration is inlined where it is used: it can be asked for names only as the
 * object that it is at run time.
 */
import * as ops from "./ops.js";
import * as vexOps from "./vex-ops.js";

type Members = Readonly<Record<number, string>>;
const names: Record<number, string> = { ...(ops as unknown as { X: Members }).X };
for (const [op, name] of Object.entries((vexOps as unknown as { V: Members }).V))
  if (typeof name === "string") names[Number(op)] = `V${name}`;

/** By opcode. */
export const opcodeNames: Members = names;
