/**
 * What differs between the assembly languages of targets, as far as finding names in it needs to know.
 *
 * Sources: GNU as manual, "Machine Dependent Features" (comments, registers); LLVM's `MCAsmInfo` of each target, since
 * LLVM assembles what modules hold. All of these take `#` at the start of a line, C's comments and those with two slashes.
 */

export interface AsmSyntax {
  /** White space and comments, at a place of the text (sticky). */
  readonly blank: RegExp;
  /**
   * Words that instructions have for registers, shifts, conditions and the like without a mark in front: they mention
   * a symbol of that name at most.
   */
  readonly isOperand: (name: string) => boolean;
  /** False: comments or separators may be others, so what is found need not be all. */
  readonly isKnown: boolean;
}

const blankWith = (comment: string): RegExp =>
  new RegExp(
    `[ \\t\\r\\f\\v]+|(?:${comment}//)[^\\n]*|(?<=(?:^|\\n)[ \\t]*)#[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)`,
    "y",
  );

const none = (): boolean => false;
const words =
  (pattern: RegExp) =>
  (name: string): boolean =>
    pattern.test(name);

/** Comments from a hash to the end of the line, and operands with a mark in front. */
const hash: AsmSyntax = {
  blank: /[ \t\r\f\v]+|(?:#|\/\/)[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
  isOperand: none,
  isKnown: true,
};
const syntaxes: readonly (readonly [triples: RegExp, syntax: AsmSyntax])[] = [
  [/^(?:|x86_64|amd64|i[3-6]86)$/, hash],
  [/^mips(?:64)?(?:r6)?(?:el)?$/, hash],
  [/^loongarch(?:32|64)$/, hash],
  [
    /^riscv(?:32|64)$/,
    {
      ...hash,
      isOperand: words(
        /^(?:[xfv](?:[12]?\d|3[01])|zero|ra|sp|gp|tp|fp|f?[ast]\d|f?s1[01]|ft1[01]|r[nmd]?[neuzpm]?|rdn|rmm|dyn|(?=\w)i?o?r?w?|(?:time|cycle|instret)h?|fcsr|frm|fflags|satp|[msu](?:status|tvec|epc|cause|tval|ie|ip|scratch|hartid|[ei]deleg|counteren|cycle|instret|isa|vendorid|archid|impid|envcfg)h?|e(?:8|16|32|64)|mf?[1248]|[tm][au])$/,
      ),
    },
  ],
  [
    /^(?:aarch64|arm64)(?:_32)?$/,
    {
      blank: blankWith(""),
      isOperand: words(
        /^(?:[xwvqdshbz](?:[12]?\d|3[01])(?:\.\d*[bhsdq])?|p\d+|w?sp|[xw]zr|lr|fp|ls[lr]|asr|ror|msl|[su]xt[bhwx]|eq|ne|cs|hs|cc|lo|mi|pl|v[sc]|hi|ls|ge|lt|gt|le|al|nv|(?:n?sh|i?sh|o?sh|sy|ld|st)(?:ld|st)?|lo12|\w+_el\d|pld\w*|pst\w*|daif\w*|nzcv|fp[cs]r|c|j|jc)$/i,
      ),
      isKnown: true,
    },
  ],
  [
    /^(?:arm|thumb)(?:v\w[\w.]*)?$/,
    {
      blank: blankWith("@|"),
      isOperand: words(
        /^(?:r(?:\d|1[0-5])|[sdq](?:[12]?\d|3[01])|p\d+|c\d+|sp|lr|pc|ip|fp|sl|sb|[av][1-8]|[acs]psr(?:_\w+)?|[iexa]{1,4}psr|[mp]sp\w*|primask\w*|basepri\w*|faultmask\w*|control\w*|fp(?:scr|exc|sid)|ls[lr]|asr|ror|rrx|eq|ne|cs|hs|cc|lo|mi|pl|v[sc]|hi|ls|ge|lt|gt|le|al|(?:n?sh|i?sh|o?sh|sy|un|ld|st)(?:ld|st)?|[aif]{1,3}|(?:upper|lower)(?:16|0_7|8_15))$/i,
      ),
      isKnown: true,
    },
  ],
];
const unknown: AsmSyntax = { ...hash, isKnown: false };

/** The syntax of a target, by its triple; of one that names none, what most have. */
export function asmSyntax(triple: string): AsmSyntax {
  const architecture = triple.split("-", 1)[0]!;
  return syntaxes.find(([triples]) => triples.test(architecture))?.[1] ?? unknown;
}
