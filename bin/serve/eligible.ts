/** Which command lines a service can have: those that mean the same in any process with the same directory and environment. */
import * as fs from "node:fs";
import { subcommands } from "../lto/subcommands.js";
import type { CommandName } from "./protocol.js";

/** Bytes of inputs from which on a process of its own costs nothing to speak of, and has threads. */
const large = 8e6;
/** Files that are others in every process; of `/dev/null` there is one. */
const ownFiles = /(?:^|[=,@])\/(?:proc\/|dev\/(?!null$))/;
/** A stream may be written, but not read. */
const output = /^(?:-o|--output)$/;

/** @param always large programs, too */
export function isEligible(command: CommandName, args: readonly string[], always: boolean): boolean {
  if (command === "lto" && subcommands.has(args[0] ?? "")) return false;
  let bytes = 0;
  for (const [i, word] of args.entries()) {
    if (word === "-" && !output.test(args[i - 1] ?? "")) return false;
    if (ownFiles.test(word)) return false;
    const stat = word.startsWith("-") ? undefined : statOf(word);
    if (stat === undefined || stat.isDirectory()) continue;
    // What is read from a pipe cannot be read again when the service fails.
    if (!stat.isFile() && word !== "/dev/null") return false;
    bytes += stat.size;
  }
  return always || bytes < large;
}

/** Undefined for what is no file: an option's value, say. */
function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
