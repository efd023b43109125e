/**
 * Messages of Bazel's persistent workers (bazel.build/remote/persistent, worker_protocol.proto): requests to run a command, and
 * responses. They come as protobuf, each behind its length as a varint, or as JSON, one object after the other.
 *
 * A worker is not told which of the two a build tool speaks. The first two bytes say it: `{"` in protobuf would be a message that
 * begins with a `cancel` that is text.
 */
import { BinaryReader, BinaryWriter, sizeDelimitedPeek, WireType } from "@bufbuild/protobuf/wire";

export interface WorkRequest {
  readonly arguments: readonly string[];
  /** Of those that are under way; 0 where they come one at a time. */
  readonly requestId: number;
  /** Takes the request of this number back, and has no arguments. */
  readonly cancel: boolean;
  /** Where relative paths start, seen from the worker's directory; empty: there. */
  readonly sandboxDir: string;
}

export interface WorkResponse {
  readonly requestId: number;
  readonly exitCode: number;
  /** For whoever runs the build. */
  readonly output: string;
  readonly wasCancelled: boolean;
}

/** What arrives is no request, and nothing behind it can be understood. */
export class WorkMessageError extends Error {}

/** Most bytes of a request: arguments, inputs and digests of a hundred thousand files are some 20 MB. */
export const largestRequest = 1 << 27;

interface Encoding {
  /** The messages that are complete with these bytes. @throws WorkMessageError */
  split(chunk: Buffer): Generator<Buffer>;
  /** Whether a message has begun. */
  readonly isInside: boolean;
  /** @throws Error for what is none */
  read(message: Buffer): WorkRequest;
  write(response: WorkResponse): Uint8Array;
}

/** Requests from what arrives in pieces, and responses in the same encoding. */
export class WorkMessages {
  private encoding: Encoding | null = null;
  private first: Buffer = Buffer.alloc(0);

  /** The requests that are complete with these bytes. @throws WorkMessageError */
  *push(chunk: Buffer): Generator<WorkRequest> {
    let bytes = chunk;
    if (this.encoding === null) {
      this.first = Buffer.concat([this.first, chunk]);
      if (this.first.length < 2) return;
      bytes = this.first;
      this.encoding = bytes.toString("latin1", 0, 2) === '{"' ? new Json() : new Protobuf();
    }
    for (const message of this.encoding.split(bytes)) yield checked(this.encoding, message);
  }

  /** @throws WorkMessageError when the input ends in the middle of a request */
  end(): void {
    if (this.encoding === null ? this.first.length > 0 : this.encoding.isInside)
      throw new WorkMessageError("the input ends in the middle of a request");
  }

  /** There has been a request. */
  write(response: WorkResponse): Uint8Array {
    return this.encoding!.write(response);
  }
}

function checked(encoding: Encoding, message: Buffer): WorkRequest {
  let request: WorkRequest;
  try {
    request = encoding.read(message);
  } catch (e) {
    throw new WorkMessageError(`no request: ${e instanceof Error ? e.message : String(e)}`);
  }
  const { arguments: words, sandboxDir } = request;
  if ([...words, sandboxDir].some((word) => word.includes("\0")))
    throw new WorkMessageError("no request: zero bytes in a word");
  return request;
}

class Protobuf implements Encoding {
  private chunks: Buffer[] = [];
  private size = 0;
  /** Bytes of the message that has begun, with its length; 1 as long as that is not known. */
  private needed = 1;

  get isInside(): boolean {
    return this.size > 0;
  }

  *split(chunk: Buffer): Generator<Buffer> {
    this.chunks.push(chunk);
    this.size += chunk.length;
    while (this.size >= this.needed) {
      const bytes = Buffer.concat(this.chunks);
      this.chunks = [bytes];
      const { offset, size } = lengthOf(bytes);
      if (offset === null) return;
      if (size > largestRequest) throw new WorkMessageError(`a request of ${size} bytes`);
      this.needed = offset + size;
      if (this.size < this.needed) return;
      yield bytes.subarray(offset, this.needed);
      this.chunks = [bytes.subarray(this.needed)];
      this.size = bytes.length - this.needed;
      this.needed = 1;
    }
  }

  read(message: Buffer): WorkRequest {
    const reader = new BinaryReader(message);
    const words: string[] = [];
    let requestId = 0;
    let cancel = false;
    let sandboxDir = "";
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === 1 && type === WireType.LengthDelimited) words.push(reader.string());
      else if (field === 3 && type === WireType.Varint) requestId = reader.int32();
      else if (field === 4 && type === WireType.Varint) cancel = reader.bool();
      else if (field === 6 && type === WireType.LengthDelimited) sandboxDir = reader.string();
      // Inputs with their digests (2), which keep nothing in memory here; verbosity (5); what is newer.
      else if (field >= 1 && field <= 6 && type !== wireTypes[field])
        throw new Error(`field ${field} has the type of another`);
      else reader.skip(type, field);
    }
    return { arguments: words, requestId, cancel, sandboxDir };
  }

  write({ requestId, exitCode, output, wasCancelled }: WorkResponse): Uint8Array {
    const message = new BinaryWriter();
    if (exitCode !== 0) message.tag(1, WireType.Varint).int32(exitCode);
    if (output !== "") message.tag(2, WireType.LengthDelimited).string(output);
    if (requestId !== 0) message.tag(3, WireType.Varint).int32(requestId);
    if (wasCancelled) message.tag(4, WireType.Varint).bool(true);
    return new BinaryWriter().bytes(message.finish()).finish();
  }
}

/** Of the fields of a request, by their numbers. */
const { LengthDelimited, Varint } = WireType;
const wireTypes = [undefined, LengthDelimited, LengthDelimited, Varint, Varint, Varint, LengthDelimited];

function lengthOf(
  bytes: Buffer,
): { readonly offset: number; readonly size: number } | { offset: null; size: null } {
  try {
    return sizeDelimitedPeek(bytes);
  } catch {
    throw new WorkMessageError("what should be the length of a request is none");
  }
}

class Json implements Encoding {
  private chunks: Buffer[] = [];
  private size = 0;
  /** Braces and brackets that are open. */
  private depth = 0;
  private isInText = false;
  private isEscaped = false;

  get isInside(): boolean {
    return this.depth > 0;
  }

  *split(chunk: Buffer): Generator<Buffer> {
    let begin = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.depth === 0) {
        if (isSpace(byte)) continue;
        if (byte !== openBrace) throw new WorkMessageError("what should be a JSON object is none");
        begin = at;
      }
      if (!this.closes(byte)) continue;
      yield Buffer.concat([...this.chunks, chunk.subarray(begin, at + 1)]);
      this.chunks = [];
      this.size = 0;
      begin = at + 1;
    }
    if (this.depth === 0) return;
    this.chunks.push(chunk.subarray(begin));
    this.size += chunk.length - begin;
    if (this.size > largestRequest)
      throw new WorkMessageError(`a request of more than ${largestRequest} bytes`);
  }

  /** Whether an object ends with this byte. Brackets and braces that do not match are left to the parser. */
  private closes(byte: number): boolean {
    if (this.isEscaped) this.isEscaped = false;
    else if (this.isInText) {
      if (byte === backslash) this.isEscaped = true;
      else if (byte === quote) this.isInText = false;
    } else if (byte === quote) this.isInText = true;
    else if (byte === openBrace || byte === openBracket) this.depth++;
    else if (byte === closeBrace || byte === closeBracket) return --this.depth === 0;
    return false;
  }

  /** Protobuf's mapping to JSON: names in either case, and what has its usual value may be left out. */
  read(message: Buffer): WorkRequest {
    const told = JSON.parse(message.toString("utf8")) as Record<string, unknown>;
    const words = told["arguments"] ?? [];
    const requestId = told["requestId"] ?? told["request_id"] ?? 0;
    const cancel = told["cancel"] ?? false;
    const sandboxDir = told["sandboxDir"] ?? told["sandbox_dir"] ?? "";
    if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
      throw new Error("arguments that are not texts");
    if (typeof requestId !== "number" || requestId !== (requestId | 0))
      throw new Error("a number of a request that is none");
    if (typeof cancel !== "boolean") throw new Error("a cancel that is neither true nor false");
    if (typeof sandboxDir !== "string") throw new Error("a sandbox that is no path");
    return { arguments: words, requestId, cancel, sandboxDir };
  }

  /** Older build tools refuse names that they do not know, so what is usual is left out. */
  write({ requestId, exitCode, output, wasCancelled }: WorkResponse): Uint8Array {
    const more = wasCancelled ? { wasCancelled } : {};
    return Buffer.from(`${JSON.stringify({ exitCode, output, requestId, ...more })}\n`);
  }
}

const [openBrace, closeBrace, openBracket, closeBracket, quote, backslash] = Buffer.from('{}[]"\\');
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
