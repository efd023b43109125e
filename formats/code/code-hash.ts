/**
 * Hash of a function's code that does not depend on where the function and what it mentions lie: of x86 without the
 * distances of calls, jumps out of the function and addresses relative to the program counter.
 */
import { Decoder, DecoderOptions, OpKind, Register } from "iced-x86";
import type { Image } from "../program/image.js";

const x86 = new Map([
  [3, 32],
  [62, 64],
]);

/** Of other machines the bytes as they are. @param address of the first byte */
export function codeHash({ machine }: Image, code: Uint8Array, address: number): string {
  const bits = x86.get(machine);
  return hashOf(bits === undefined ? code : withoutPlaces(code, address, bits));
}

/** FNV-1a over the bytes twice, from different starts: 64 bits in hexadecimal. */
function hashOf(bytes: Uint8Array): string {
  let a = 0x811c9dc5;
  let b = 0x1b873593 ^ bytes.length;
  for (const byte of bytes) {
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x01000193) ^ (b >>> 15);
  }
  return [a, b].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function withoutPlaces(code: Uint8Array, address: number, bits: number): Uint8Array {
  const result = code.slice();
  const decoder = new Decoder(bits, code, DecoderOptions.None);
  decoder.ip = BigInt(address);
  const end = BigInt(address + code.length);
  try {
    for (let at = 0; decoder.canDecode; ) {
      const instruction = decoder.decode();
      const { length } = instruction;
      const offsets = decoder.getConstantOffsets(instruction);
      const isFar =
        instruction.op0Kind === OpKind.NearBranch64 || instruction.op0Kind === OpKind.NearBranch32
          ? instruction.nearBranchTarget < BigInt(address) || instruction.nearBranchTarget >= end
          : false;
      if (isFar && offsets.hasImmediate) clear(result, at + offsets.immediateOffset, offsets.immediateSize);
      const isRelative = instruction.memoryBase === Register.RIP || instruction.memoryBase === Register.EIP;
      if (isRelative && offsets.hasDisplacement)
        clear(result, at + offsets.displacementOffset, offsets.displacementSize);
      offsets.free();
      instruction.free();
      at += length;
    }
  } finally {
    decoder.free();
  }
  return result;
}

const clear = (bytes: Uint8Array, at: number, size: number): void => void bytes.fill(0, at, at + size);
