/** Strings of line tables (`.debug_line_str`), each once; linkers make one of equal ones of all inputs. */
import { quoteText } from "../asm/names.js";

export class LineStrings {
  private readonly numbers = new Map<string, number>();

  /** What refers to the string, as four bytes. */
  label(text: string): string {
    let number = this.numbers.get(text);
    if (number === undefined) this.numbers.set(text, (number = this.numbers.size));
    return `.Lline_string${number}`;
  }

  text(): string {
    if (this.numbers.size === 0) return "";
    const out = ['\t.section\t.debug_line_str,"MS",@progbits,1\n'];
    for (const [text, number] of this.numbers)
      out.push(`.Lline_string${number}:\n\t.asciz\t${quoteText(text)}\n`);
    return out.join("");
  }
}
