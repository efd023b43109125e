/** The outermost layer of an object: magic, version and the lengths of the parts. */
import { InputError } from "../../lto/ir/errors.js";

/** 0x89 "TSCLTO" newline: not text, not valid UTF-8, and damaged by newline conversion. */
const magic = [0x89, 0x54, 0x53, 0x43, 0x4c, 0x54, 0x4f, 0x0a];
/** Raised whenever this reader would misread objects of the version before, or that one's these: with any change of the bytes. */
export const formatVersion = 6;
const headerSize = 28;

export interface Parts {
  readonly tables: Uint8Array;
  readonly pool: Uint8Array;
  readonly bodies: Uint8Array;
  /** Debug information; empty: there is none. */
  readonly debug: Uint8Array;
}

/** Whether the bytes are an IR object of this program, of any version. */
export function isObject(bytes: Uint8Array): boolean {
  return bytes.length >= magic.length && magic.every((byte, i) => bytes[i] === byte);
}

export function joinParts({ tables, pool, bodies, debug }: Parts): Uint8Array {
  const parts = [tables, pool, bodies, debug];
  const size = parts.reduce((sum, { length }) => sum + length, headerSize);
  if (size > 0xffffffff) throw new InputError("the module is too large for an object file");
  const out = new Uint8Array(size);
  out.set(magic);
  const view = new DataView(out.buffer);
  view.setUint32(8, formatVersion, true);
  let at = headerSize;
  parts.forEach((part, i) => {
    view.setUint32(12 + 4 * i, part.length, true);
    out.set(part, at);
    at += part.length;
  });
  return out;
}

/**
 * The objects that stand one after another. Whether each is whole, its reader finds out.
 * @throws InputError when what follows one is none, or one is of another version
 */
export function splitObjects(bytes: Uint8Array): Uint8Array[] {
  const objects: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const rest = bytes.subarray(start);
    if (start > 0 && !isObject(rest)) throw new InputError("trailing bytes after the object");
    if (rest.length >= headerSize) checkVersion(rest);
    const size = rest.length < headerSize ? rest.length : endsOf(rest)[3];
    objects.push(rest.subarray(0, size));
    start += size;
  }
  return objects;
}

/** @param bytes at least a header @throws InputError when they are of another version, whose header may be another */
function checkVersion(bytes: Uint8Array): void {
  const version = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(8, true);
  if (version < 1) throw new InputError("malformed object header");
  if (version === formatVersion) return;
  const age = version > formatVersion ? "newer" : "older";
  const advice = version > formatVersion ? "" : ": compile it again";
  throw new InputError(
    `object format ${version} is ${age} than this program, which reads ${formatVersion}${advice}`,
  );
}

/** Where the parts end, the first one's end first. @param bytes at least a header */
function endsOf(bytes: Uint8Array): [tables: number, pool: number, bodies: number, debug: number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tables = headerSize + view.getUint32(12, true);
  const pool = tables + view.getUint32(16, true);
  const bodies = pool + view.getUint32(20, true);
  return [tables, pool, bodies, bodies + view.getUint32(24, true)];
}

/** @throws InputError when the bytes are foreign, of another version, or cut short */
export function splitParts(bytes: Uint8Array): Parts {
  if (!isObject(bytes)) throw new InputError("not an IR object of tsc-cc");
  if (bytes.length < headerSize) throw new InputError("truncated object");
  checkVersion(bytes);
  const [tablesEnd, poolEnd, bodiesEnd, debugEnd] = endsOf(bytes);
  if (debugEnd > bytes.length) throw new InputError("truncated object");
  if (debugEnd < bytes.length) throw new InputError("trailing bytes after the object");
  return {
    tables: bytes.subarray(headerSize, tablesEnd),
    pool: bytes.subarray(tablesEnd, poolEnd),
    bodies: bytes.subarray(poolEnd, bodiesEnd),
    debug: bytes.subarray(bodiesEnd, debugEnd),
  };
}
