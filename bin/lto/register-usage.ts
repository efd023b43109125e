/**
 * `--print-regusage`: the registers each function may change, in the form of LLVM's option of that name: one line
 * a function, functions by name, every register with its parts and the registers it is part of, in the order of
 * LLVM's numbering (the named registers by name, then the numbered ones by kind).
 *
 *     leaf Clobbered Registers: $ah $al $ax $di $dih $dil $eax $edi $eflags $hax $hdi $rax $rdi
 *
 * Of the registers that LLVM lists, those are left out that programs here never use or never rely on (x87, mmx,
 * masks, segments). The flags are always there: no call preserves them.
 */
import { hasRegister, type RegisterSet } from "../../lto/codegen/register-set.js";

/** The general registers with names of their own, by number: the letters between `r` or `e` and the rest. */
const named = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

/** LLVM's names of the parts of a general register that has a name. */
function namedParts(word: string): string[] {
  const bytes = word.endsWith("x") ? [`${word[0]}h`, `${word[0]}l`] : [`${word}h`, `${word}l`];
  return [word, ...bytes, `e${word}`, `h${word}`, `r${word}`];
}

/** Kinds of numbered registers in LLVM's order, with the number of the first register of the mask. */
const numbered: readonly { readonly first: number; readonly name: (n: number) => string }[] = [
  { first: 0, name: (n) => `r${n}` },
  { first: 16, name: (n) => `xmm${n}` },
  { first: 0, name: (n) => `r${n}b` },
  { first: 0, name: (n) => `r${n}bh` },
  { first: 0, name: (n) => `r${n}d` },
  { first: 0, name: (n) => `r${n}w` },
  { first: 0, name: (n) => `r${n}wh` },
  { first: 16, name: (n) => `ymm${n}` },
  { first: 16, name: (n) => `zmm${n}` },
];

/** The registers of a mask, as LLVM names and orders them. */
export function clobberedRegisters(mask: RegisterSet): string[] {
  const has = (register: number): boolean => hasRegister(mask, register);
  const names = ["eflags", ...named.flatMap((word, r) => (has(r) ? namedParts(word) : []))].sort();
  for (const { first, name } of numbered)
    for (let n = first === 0 ? 8 : 0; n < 16; n++) if (has(first + n)) names.push(name(n));
  return names;
}

/** One line a function. @param usage name and the mask of the registers it may change */
export function formatRegisterUsage(usage: readonly (readonly [string, RegisterSet])[]): string {
  return [...usage]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(
      ([name, mask]) =>
        `${name} Clobbered Registers: ${clobberedRegisters(mask)
          .map((r) => `$${r} `)
          .join("")}\n`,
    )
    .join("");
}
