/**
 * Names and other texts of the input, which are bytes there: UTF-8 as a rule, but nothing has to be.
 *
 * Bytes that are no UTF-8 as a whole become text in which each byte from 0x80 stands as the unpaired surrogate
 * U+DC00 + byte. No UTF-8 decodes to such, so different bytes are different texts, and every text gives its bytes
 * back, also after and before other text. Whoever writes text out uses `bytesOfText`. Linear.
 */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The text that stands for these bytes. */
export function textOfBytes(bytes: Uint8Array): string {
  const { length } = bytes;
  if (length < 64) {
    // Most names are short and plain.
    let text = "";
    let i = 0;
    for (; i < length && bytes[i]! < 128; i++) text += String.fromCharCode(bytes[i]!);
    if (i === length) return text;
  }
  try {
    return utf8.decode(bytes);
  } catch {
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte);
    return text;
  }
}

/** The bytes that a text stands for. Other unpaired surrogates become U+FFFD. */
export function bytesOfText(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const part of text.split(/([\u{dc80}-\u{dcff}]+)/u)) {
    const code = part.charCodeAt(0);
    const isBytes = code >= 0xdc80 && code <= 0xdcff;
    const bytes = isBytes ? Uint8Array.from(part, (c) => c.charCodeAt(0) & 0xff) : encoder.encode(part);
    parts.push(bytes);
    length += bytes.length;
  }
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
