/** How bitcode begins. Apart from its reader, which is not loaded for links without bitcode. */

/** The bytes "BC", 0xC0, 0xDE. */
export const rawMagic = 0xdec04342;
/** Of the wrapper that some systems put around bitcode. */
export const wrapperMagic = 0x0b17c0de;

/** The little-endian 32-bit number at `at`, 0 after the end. */
export const word = (bytes: Uint8Array, at: number): number =>
  at + 4 <= bytes.length
    ? (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
    : 0;

/** Whether `bytes` begin like bitcode, with or without the wrapper. */
export function isBitcode(bytes: Uint8Array): boolean {
  const magic = word(bytes, 0);
  return magic === rawMagic || magic === wrapperMagic;
}
