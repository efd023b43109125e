/**
 * Quoting of names and strings in LLVM assembly (LLVM Language Reference, "Identifiers").
 *
 * A byte that is not printable ASCII, a quote or a backslash is written `\XX` in hexadecimal. Strings of the
 * IR are text (byte-text.ts).
 */
import { bytesOfText, textOfBytes } from "../../lto/ir/byte-text.js";

const isHex = (c: number): boolean =>
  (c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66);

/** The bytes that the inside of a quoted string stands for. */
export function unescapeBytes(raw: string): Uint8Array {
  const out = bytesOfText(raw);
  if (!raw.includes("\\")) return out;
  let length = 0;
  for (let i = 0; i < out.length; i++) {
    if (out[i] === 0x5c) {
      if (out[i + 1] === 0x5c) i++;
      else if (i + 2 < out.length && isHex(out[i + 1]!) && isHex(out[i + 2]!)) {
        out[length++] = Number.parseInt(String.fromCharCode(out[i + 1]!, out[i + 2]!), 16);
        i += 2;
        continue;
      }
    }
    out[length++] = out[i]!;
  }
  return out.subarray(0, length);
}

/** The text that the inside of a quoted string stands for. */
export function unescapeText(raw: string): string {
  if (!raw.includes("\\") && raw.isWellFormed()) return raw;
  return textOfBytes(unescapeBytes(raw));
}

const byteText: string[] = [];
for (let b = 0; b < 256; b++) {
  const plain = b >= 0x20 && b < 0x7f && b !== 0x22 && b !== 0x5c;
  byteText.push(plain ? String.fromCharCode(b) : `\\${b.toString(16).toUpperCase().padStart(2, "0")}`);
}

/** Bytes as the inside of a quoted string. */
export function escapeBytes(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byteText[byte];
  return text;
}

/** Text as the inside of a quoted string. */
export function escapeText(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? text : escapeBytes(bytesOfText(text));
}

/** A name after its sigil, quoted if it must be. */
export function quoteName(name: string): string {
  return /^[-a-zA-Z._][-a-zA-Z0-9._]*$/.test(name) ? name : `"${escapeText(name)}"`;
}
