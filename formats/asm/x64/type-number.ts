/**
 * The number of a function's type, which checks at calls through pointers compare: the operand of an instruction right
 * before the entry, so that tools that disassemble stay in step (LLVM's `-fsanitize=kcfi` on X86).
 */

/** Numbers that must not be in code: they are marks of places where indirect branches may lead (endbr64, endbr32). */
const marks = [0xfa1e0ff3 | 0, 0xfb1e0ff3 | 0];

export const typeNumber = {
  /** Length of the instruction. */
  bytes: 5,
  text(type: number): string {
    const number = marks.some((mark) => type === mark || type === (-mark | 0)) ? type + 1 : type;
    return `\tmovl\t$${number}, %eax\n`;
  },
} as const;
