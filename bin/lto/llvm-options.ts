/**
 * `-mllvm OPTION`: the options of LLVM's code generator that mean something here. They are spelled as there, with
 * one dash or two, and what is not known is an error, as in lld.
 */
import { InvalidArgumentError } from "commander";

export interface LlvmOptions {
  /** `-enable-ipra`: null when it was not given. */
  readonly ipra: boolean | null;
  /** `-print-regusage`. */
  readonly printRegisterUsage: boolean;
}

export const noLlvmOptions: LlvmOptions = { ipra: null, printRegisterUsage: false };

/** LLVM's spellings of a boolean value; an option alone means true. */
const booleans: ReadonlyMap<string | undefined, boolean> = new Map([
  [undefined, true],
  ...["", "1", "true", "True", "TRUE"].map((text) => [text, true] as const),
  ...["0", "false", "False", "FALSE"].map((text) => [text, false] as const),
]);

/** Adds one option to those before it; the last of a kind counts. @throws InvalidArgumentError naming the option */
export function addLlvmOption(text: string, previous: LlvmOptions): LlvmOptions {
  const [, name, value] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name !== "enable-ipra" && name !== "print-regusage")
    throw new InvalidArgumentError(`unknown option of LLVM; known are -enable-ipra and -print-regusage.`);
  const on = booleans.get(value);
  if (on === undefined) throw new InvalidArgumentError(`'${value}' is no boolean value; use true or false.`);
  return name === "enable-ipra" ? { ...previous, ipra: on } : { ...previous, printRegisterUsage: on };
}

/** LLVM's tools take `-mllvm` with one dash; the parser of options wants two for more than one letter. */
export const spellLlvmOption = (arg: string): string => (/^-mllvm(=|$)/.test(arg) ? `-${arg}` : arg);
