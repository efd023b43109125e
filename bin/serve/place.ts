/**
 * Where a service is met: a socket in a folder that nobody but the user can enter. There may be several, each for those whose links
 * would be the same in it: the same build of this program and the same Node, and the same view of files, privileges and
 * limits, of all of which its name is made.
 *
 * Node cannot ask who is at the other end of a socket. Instead of that the folder is the user's and closed to others, no folder
 * above it lets others put another in its place, and a token is exchanged that only its owner can read.
 */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { protocolVersion, tokenHalf } from "./protocol.js";

export interface Place {
  readonly folder: string;
  /** What the names of its files begin with. */
  readonly name: string;
  readonly socket: string;
  /** The file of the token. */
  readonly token: string;
  /** A file that is there while somebody starts the service. */
  readonly starting: string;
}

/** Why no service can be used, in words for the user. */
export class Unusable extends Error {}

/** Longest path of a socket (unix(7)). */
const longestPath = 107;
/** A process number and what else temporary names have. */
const roomForNames = 16;
/** What of a process's state decides what it may do, and where (proc(5)). */
const deciding = /^(?:Uid|Gid|Groups|CapEff|NoNewPrivs|Seccomp|Cpus_allowed):.*$/gm;

/**
 * @param bundles the folder of the commands' bundles, each of which begins with a hash of its contents
 * @throws Unusable
 */
export function placeOf(bundles: string): Place {
  const name = nameOf(bundles);
  const folder = folderOf();
  const place = join(folder, name);
  if (Buffer.byteLength(`${place}.sock`) + roomForNames > longestPath)
    throw new Unusable(`${folder}: too long a path for a socket`);
  return {
    folder,
    name,
    socket: `${place}.sock`,
    token: `${place}.token`,
    starting: `${place}.starting`,
  };
}

function folderOf(): string {
  const runtime = process.env["XDG_RUNTIME_DIR"] ?? "";
  if (isAbsolute(runtime) && fs.existsSync(runtime)) return checked(join(runtime, "tsc-lto"));
  return checked(join(tmpdir(), `tsc-lto-${process.geteuid!()}`));
}

function checked(folder: string): string {
  const user = process.geteuid!();
  try {
    const above = fs.statSync(dirname(folder));
    const isSafe = (above.mode & 0o022) === 0 || (above.mode & 0o1000) !== 0;
    if (!isSafe || (above.uid !== 0 && above.uid !== user))
      throw new Unusable(`${dirname(folder)}: others could put another folder in the place of ${folder}`);
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (e) {
    if (e instanceof Unusable) throw e;
    const { code, message } = e as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw new Unusable(message);
  }
  const { uid, mode } = fs.lstatSync(folder);
  if ((mode & fs.constants.S_IFMT) !== fs.constants.S_IFDIR) throw new Unusable(`${folder}: not a folder`);
  if (uid !== user) throw new Unusable(`${folder}: not this user's`);
  if ((mode & 0o077) !== 0) throw new Unusable(`${folder}: open to others; it must have mode 0700`);
  return folder;
}

function nameOf(bundles: string): string {
  const root = fs.statSync("/");
  const told = [
    protocolVersion,
    process.version,
    process.execPath,
    process.env["NODE_OPTIONS"] ?? "",
    bundles,
    ...["lto", "cc", "ld"].map((command) => startOf(join(bundles, command, "bundle.cjs"))),
    root.dev,
    root.ino,
    ...["mnt", "user", "pid"].map((kind) => linkOf(`/proc/self/ns/${kind}`)),
    textOf("/proc/self/status").match(deciding)?.join("\n"),
    textOf("/proc/self/limits"),
  ].join("\n");
  return `${hashOf(told, 0x811c9dc5)}${hashOf(told, 0x2f0b4c47)}`;
}

/** The hash of its contents stands there. */
function startOf(file: string): string {
  const bytes = Buffer.alloc(40);
  let fd: number;
  try {
    fd = fs.openSync(file, "r");
  } catch {
    throw new Unusable(`${file}: not built`);
  }
  try {
    fs.readSync(fd, bytes);
  } finally {
    fs.closeSync(fd);
  }
  return bytes.toString("latin1");
}

function linkOf(path: string): string {
  try {
    return fs.readlinkSync(path);
  } catch {
    return "";
  }
}

function textOf(path: string): string {
  try {
    return fs.readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** FNV-1a over UTF-16 units, in 32 bits; what it tells apart by chance, `hello` does not. */
function hashOf(text: string, seed: number): string {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36).padStart(7, "0");
}

/** The halves of the token of the service that is there. @throws Unusable, and the system's errors */
export function readToken({ token }: Place): readonly [client: string, service: string] {
  const fd = fs.openSync(token, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile() || stat.uid !== process.geteuid!() || (stat.mode & 0o077) !== 0)
      throw new Unusable(`${token}: open to others, or not this user's`);
    const bytes = Buffer.alloc(2 * tokenHalf);
    if (fs.readSync(fd, bytes) !== bytes.length) throw new Unusable(`${token}: not a token`);
    const text = bytes.toString("latin1");
    return [text.slice(0, tokenHalf), text.slice(tokenHalf)];
  } finally {
    fs.closeSync(fd);
  }
}
