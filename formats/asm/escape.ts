/**
 * Byte strings in assembly text.
 */

const escapes: string[] = [];
for (let b = 0; b < 256; b++) escapes.push(escapeOf(b));

function escapeOf(b: number): string {
  switch (b) {
    case 0x09:
      return "\\t";
    case 0x0a:
      return "\\n";
    case 0x22:
      return '\\"';
    case 0x5c:
      return "\\\\";
    default:
      return b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : `\\${b.toString(8).padStart(3, "0")}`;
  }
}

/** The bytes from `start` to `end` as the inside of an `.ascii` string: printable ASCII, else escapes. */
export function escapeBytes(bytes: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let i = start; i < end; i++) text += escapes[bytes[i]!]!;
  return text;
}

/** Printable ASCII, tab or newline. */
export const isText = (b: number): boolean => (b >= 0x20 && b < 0x7f) || b === 0x09 || b === 0x0a;
