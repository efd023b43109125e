/**
 * What the service and its clients say to each other: frames. A frame is the length of its contents (32 bits, little-endian), its
 * kind (a byte) and the contents. The length is bounded, so that neither makes the other keep more than it would.
 *
 * A client begins with `hello`: the service it means, and the first half of the token in that service's file. Then it sends
 * `request`. The service answers `welcome`, with the other half, then `alive` every second, and in the end what the command
 * wrote (`out` and `err`, in that order) and `done`; or `cannot`, after which the client does the work. Or it sends `control`,
 * and gets `welcome`, `told` and `done`.
 */

/** A part of what tells services apart. */
export const protocolVersion = 1;

export const kinds = {
  hello: 1,
  request: 2,
  control: 3,
  welcome: 16,
  alive: 17,
  out: 18,
  err: 19,
  done: 20,
  cannot: 21,
  told: 22,
} as const;

export type Kind = (typeof kinds)[keyof typeof kinds];

export interface Frame {
  readonly kind: number;
  readonly contents: Buffer;
}

/** Hexadecimal digits of either half of a token. */
export const tokenHalf = 32;
/** Most bytes of the contents of a frame: of `hello`, of a request, and of what the service sends. */
export const largestHello = 4096;
export const largestRequest = 1 << 25;
export const largestAnswer = 1 << 21;
/** Bytes of output that are sent at a time. */
export const outputPart = 1 << 20;

/** Milliseconds from one `alive` to the next, and without any until the other side is taken for dead. */
export const heartbeat = 1000;
export const patience = 4000;

export type CommandName = "lto" | "ld" | "cc";

/** A command to be run as it would run in the process of the client. */
export interface Request {
  readonly command: CommandName;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly umask: number;
  /** Standard error shows colours. */
  readonly colour: boolean;
}

export class ProtocolError extends Error {}

const headSize = 5;

export function frame(kind: Kind, contents: Uint8Array | string = ""): Buffer {
  const bytes = typeof contents === "string" ? Buffer.from(contents) : contents;
  const head = Buffer.alloc(headSize);
  head.writeUInt32LE(bytes.length);
  head[4] = kind;
  return Buffer.concat([head, bytes]);
}

/** Puts frames together from what arrives in pieces. */
export class FrameReader {
  private chunks: Buffer[] = [];
  private size = 0;
  /** Bytes of the frame that has begun; of its head, as long as its length is not known. */
  private needed = headSize;
  private hasHead = false;

  /** @param limit most bytes of the contents of a frame */
  constructor(public limit: number) {}

  /** The frames that are complete with these bytes. @throws ProtocolError for a larger one, after those before it */
  *push(chunk: Buffer): Generator<Frame> {
    this.chunks.push(chunk);
    this.size += chunk.length;
    while (this.size >= this.needed) {
      const bytes = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
      this.chunks = [bytes];
      if (!this.hasHead) {
        const length = bytes.readUInt32LE();
        if (length > this.limit) throw new ProtocolError(`a frame of ${length} bytes`);
        this.needed = headSize + length;
        this.hasHead = true;
        continue;
      }
      const contents = bytes.subarray(headSize, this.needed);
      const rest = bytes.subarray(this.needed);
      this.chunks = [rest];
      this.size = rest.length;
      this.needed = headSize;
      this.hasHead = false;
      yield { kind: bytes[4]!, contents };
    }
  }
}

/** @throws ProtocolError for what is none */
export function parseRequest(contents: Buffer): Request {
  let value: unknown;
  try {
    value = JSON.parse(contents.toString());
  } catch {
    throw new ProtocolError("a request that is not JSON");
  }
  if (!isRequest(value)) throw new ProtocolError("a request without what belongs to one");
  return value;
}

const isText = (value: unknown): value is string => typeof value === "string" && !value.includes("\0");

function isRequest(value: unknown): value is Request {
  if (typeof value !== "object" || value === null) return false;
  const { command, args, cwd, env, umask, colour } = value as Record<string, unknown>;
  return (
    (command === "lto" || command === "ld" || command === "cc") &&
    Array.isArray(args) &&
    args.every(isText) &&
    isText(cwd) &&
    cwd.startsWith("/") &&
    typeof env === "object" &&
    env !== null &&
    Object.entries(env).every(([name, text]) => isText(name) && name !== "" && isText(text)) &&
    Number.isInteger(umask) &&
    (umask as number) >= 0 &&
    (umask as number) <= 0o777 &&
    typeof colour === "boolean"
  );
}
