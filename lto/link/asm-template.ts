/**
 * Templates of inline assembly as the text that an assembler gets to see, as far as that is the same for every use:
 * the first of the dialect alternatives `$(a$|b$)`, `$$` as a dollar sign, and a digit in place of an operand.
 * Operands that are symbols are operands in the IR, too. Linear in the template.
 * Source: LLVM Language Reference, "Inline Assembler Expressions".
 */

export interface TemplateText {
  readonly text: string;
  /** An operand is part of a name: `fn_${0:c}`. */
  readonly pastes: boolean;
}

/** A number as it is put into a name, or a symbol: not a register, and not an immediate with its dollar sign. */
const pasted = /^(?:|[acnpPl])$/;
const piece = /\$(?:\{([^}]*)\}|(\d+)|([\s\S]))|\$$/g;

/** The text of templates that follow each other. Never fails; printing reports what is malformed. */
export function templateText(template: string): TemplateText {
  let text = "";
  let pastes = false;
  /** Index of the dialect alternative; -1 outside. */
  let alternative = -1;
  let at = 0;
  const add = (more: string): void => {
    if (alternative <= 0) text += more;
  };
  for (const match of template.matchAll(piece)) {
    add(template.slice(at, match.index));
    at = match.index + match[0].length;
    const [, braces, digits, mark] = match;
    if (mark === "(") alternative = 0;
    else if (mark === "|" && alternative >= 0) alternative++;
    else if (mark === ")" && alternative >= 0) alternative = -1;
    else if (mark === ")") add("}");
    else if (mark !== undefined) add(mark);
    else if (braces?.startsWith(":")) add(specials[braces] ?? "0");
    else if (braces !== undefined || digits !== undefined) {
      const before = /[A-Za-z_.][\w.$]*$/.exec(text.slice(-64))?.[0] ?? "";
      const isPart = (before !== "" && !before.startsWith(".L")) || /[A-Za-z_]/.test(template[at] ?? "");
      pastes ||= alternative <= 0 && isPart && pasted.test(braces?.split(":")[1] ?? "");
      add("0");
    }
  }
  add(template.slice(at));
  return { text, pastes };
}

const specials: Readonly<Record<string, string>> = { ":private": ".L", ":comment": "#", ":uid": "0" };
