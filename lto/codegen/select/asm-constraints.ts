/** LLVM's constraint strings of inline assembly, apart (LLVM Language Reference, "Inline Asm Constraint String"). */
export interface AsmConstraint {
  /** A block that the assembly may jump to, in the order of the targets of a `callbr`. */
  readonly label: boolean;
  readonly output: boolean;
  readonly early: boolean;
  /** The operand is the address of the value. */
  readonly indirect: boolean;
  /** Letters and `{name}` groups, without modifiers. */
  readonly codes: readonly string[];
  /** Output number that an input must share, or -1. */
  readonly tied: number;
}

export interface AsmConstraints {
  /** Of outputs, inputs and labels, in order. */
  readonly operands: readonly AsmConstraint[];
  /** Names of what is changed besides: registers, "memory", flags. */
  readonly clobbers: readonly string[];
}

export function parseConstraints(text: string): AsmConstraints {
  const operands: AsmConstraint[] = [];
  const clobbers: string[] = [];
  for (let part of splitConstraints(text)) {
    if (part.startsWith("~")) {
      clobbers.push(part.slice(2, -1));
      continue;
    }
    if (part.startsWith("!")) {
      operands.push({ label: true, output: false, early: false, indirect: false, codes: [], tied: -1 });
      continue;
    }
    const output = part.startsWith("=") || part.startsWith("+");
    if (output) part = part.slice(1);
    let early = false;
    let indirect = false;
    for (; part[0] === "&" || part[0] === "*" || part[0] === "%"; part = part.slice(1)) {
      if (part[0] === "&") early = true;
      if (part[0] === "*") indirect = true;
    }
    const tied = /^\d+$/.test(part) ? Number(part) : -1;
    // Alternatives of a multi-alternative constraint: the first one serves.
    const codes = tied >= 0 ? [] : (part.split("|")[0]!.match(/\{[^}]*\}|\^..|@3...|@\d\d?|[A-Za-z]/g) ?? []);
    operands.push({ label: false, output, early, indirect, codes, tied });
  }
  return { operands, clobbers };
}

/** Splits at commas outside braces. */
function splitConstraints(text: string): string[] {
  return text === "" ? [] : (text.match(/(?:\{[^}]*\}|[^,{])+/g) ?? []);
}
