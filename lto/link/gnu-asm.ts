/**
 * Assembly of x86 as LLVM's assembler takes it, in words that GNU as takes as well: no comments behind two slashes, Intel syntax
 * without prefixes where nothing is said of them, no directives that only LLVM has and that change no code.
 * Linear in the text. Source: GNU as manual, "i386-Syntax"; LLVM's X86AsmParser and AsmLexer.
 */

const piece = /"(?:[^"\\]|\\[\s\S])*"?|'(?:\\[\s\S]|[^\n])|#[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g;

/** Without comments behind two slashes. */
const withoutSlashes = (text: string): string =>
  text.includes("//") ? text.replace(piece, (found) => (found.startsWith("//") ? "" : found)) : text;

/** What tells linkers and profilers something. */
const hints = /(^|[\n;])[ \t]*\.(?:addrsig(?:_sym)?|cg_profile|lto_discard)\b[^\n;]*/g;
const intel = /(^|[\n;])([ \t]*\.intel_syntax)(?=[ \t]*(?:$|[\n;#]))/g;

/** Text of a template, or a part of a module's. */
export function gnuAsm(text: string): string {
  const plain = withoutSlashes(text);
  if (!/\.(?:addrsig|cg_profile|lto_discard|intel_syntax)/.test(plain)) return plain;
  return plain.replace(hints, "$1").replace(intel, "$1$2 noprefix");
}

/** A module's: each begins with AT&T's syntax, and leaves that to the next. Ends with a line end. */
export function gnuModuleAsm(text: string, triple: string): string {
  const ended = text.endsWith("\n") ? text : `${text}\n`;
  if (!/^(?:|x86_64|amd64|i[3-6]86)(?:-|$)/.test(triple)) return ended;
  const made = gnuAsm(ended);
  return made.includes(".intel_syntax") ? `${made}.att_syntax prefix\n` : made;
}
