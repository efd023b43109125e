/**
 * A host for WASI preview 1 command modules on the machine's own file system, as far as a compiler needs one.
 *
 * Why not `node:wasi`: it is experimental (and says so on stderr), refuses paths that climb out of a directory with
 * `..`, and cannot show files that exist only inside an archive. This host gives the module one directory, `/`, and
 * hands paths to the operating system as they are, so `../x.h` and symbolic links mean what they mean everywhere.
 * The module starts in `/` (preview 1 knows no working directory). `mounts` adds directories that are not on disk.
 *
 * Layouts and numbers: WASI preview 1 (`wasi_snapshot_preview1`), its witx description. Nothing here is
 * asynchronous; a call costs about one file-system call. Breaks if the module needs sockets, polling or threads.
 */
import { randomFillSync } from "node:crypto";
import * as fs from "node:fs";
import { type WasmMemory, type WasmModule, WebAssembly } from "./webassembly.js";

/** WASI `errno` values that this host returns. */
const errno = {
  success: 0,
  acces: 2,
  badf: 8,
  busy: 10,
  exist: 20,
  inval: 28,
  io: 29,
  isdir: 31,
  loop: 32,
  mfile: 33,
  nametoolong: 37,
  noent: 44,
  nospc: 51,
  notdir: 54,
  notempty: 55,
  notsup: 58,
  perm: 63,
  pipe: 64,
  rofs: 69,
  spipe: 70,
  txtbsy: 74,
  xdev: 75,
} as const;

const errnoOfCode: Readonly<Record<string, number>> = {
  EACCES: errno.acces,
  EBADF: errno.badf,
  EBUSY: errno.busy,
  EEXIST: errno.exist,
  EINVAL: errno.inval,
  EIO: errno.io,
  EISDIR: errno.isdir,
  ELOOP: errno.loop,
  EMFILE: errno.mfile,
  ENAMETOOLONG: errno.nametoolong,
  ENOENT: errno.noent,
  ENOSPC: errno.nospc,
  ENOTDIR: errno.notdir,
  ENOTEMPTY: errno.notempty,
  ENOTSUP: errno.notsup,
  EPERM: errno.perm,
  EPIPE: errno.pipe,
  EROFS: errno.rofs,
  ESPIPE: errno.spipe,
  ETXTBSY: errno.txtbsy,
  EXDEV: errno.xdev,
};

/** WASI `filetype` values. */
const fileType = { unknown: 0, block: 1, character: 2, directory: 3, regular: 4, symlink: 7 } as const;

const oflag = { create: 1, directory: 2, exclusive: 4, truncate: 8 } as const;
const fdflag = { append: 1 } as const;
const rightRead = 2n;
const rightWrite = 64n;
const allRights = (1n << 30n) - 1n;
const lookupFollow = 1;

/** Thrown by `proc_exit` to leave the module. */
class ProcessExit {
  constructor(readonly code: number) {}
}

/** A failed call, with the `errno` the module will see. */
class WasiError {
  constructor(readonly errno: number) {}
}

/** A file of a mounted directory; its contents are asked for when the module opens it. */
export interface VirtualFile {
  /** Bytes. */
  readonly size: number;
  read(): Uint8Array;
}
/** A directory that is not on the disk: names to entries. */
export type VirtualDirectory = Map<string, VirtualFile | VirtualDirectory>;

export interface WasiOptions {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute, normalised path of a read-only virtual directory → what it holds. */
  readonly mounts?: ReadonlyMap<string, VirtualDirectory>;
  /** All of standard input; empty when absent. */
  readonly stdin?: Uint8Array;
  readonly stdout: (bytes: Uint8Array) => void;
  readonly stderr: (bytes: Uint8Array) => void;
}

type Handle =
  | { readonly kind: "stream"; readonly write: (bytes: Uint8Array) => void }
  | { readonly kind: "directory"; readonly path: string; readonly preopen?: string; entries?: fs.Dirent[] }
  | { readonly kind: "file"; readonly fd: number; position: number; readonly append: boolean }
  | { readonly kind: "memory"; readonly data: Uint8Array; position: number; readonly id: number }
  | { readonly kind: "virtualDirectory"; readonly directory: VirtualDirectory; readonly path: string };

type VirtualEntry = VirtualDirectory | VirtualFile;

/**
 * Runs a command module to its end; its exit code.
 * @throws Error (a `WebAssembly.RuntimeError`) when the module traps.
 */
export function runWasi(module: WasmModule, options: WasiOptions): number {
  const host = new WasiHost(options);
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: host.imports() });
  const { memory, _start } = instance.exports as { memory: WasmMemory; _start: () => void };
  return host.run(memory, _start);
}

class WasiHost {
  private memory!: WasmMemory;
  private view!: DataView;
  private bytes!: Uint8Array;
  private readonly handles: (Handle | undefined)[];
  private readonly args: Uint8Array[];
  private readonly env: Uint8Array[];
  private readonly virtualIds = new Map<VirtualEntry, number>();

  constructor(private readonly options: WasiOptions) {
    const encoder = new TextEncoder();
    this.args = options.args.map((a) => encoder.encode(a + "\0"));
    this.env = Object.entries(options.env)
      .filter(([, v]) => v !== undefined)
      .map(([k, v]) => encoder.encode(`${k}=${v}\0`));
    const stdin = options.stdin ?? new Uint8Array();
    this.handles = [
      { kind: "memory", data: stdin, position: 0, id: 0 },
      { kind: "stream", write: options.stdout },
      { kind: "stream", write: options.stderr },
      { kind: "directory", path: "/", preopen: "/" },
    ];
  }

  run(memory: WasmMemory, start: () => void): number {
    this.memory = memory;
    this.refresh();
    try {
      start();
      return 0;
    } catch (e) {
      if (e instanceof ProcessExit) return e.code;
      throw e;
    } finally {
      for (const h of this.handles) if (h?.kind === "file") fs.closeSync(h.fd);
    }
  }

  /** The functions a module may import; those it may not use answer "not supported". */
  imports(): Record<string, unknown> {
    // The signatures differ per function; the engine checks arity and conversion, not the type checker.
    const bind = <A extends unknown[]>(f: (...args: A) => void) => this.guarded(f.bind(this)) as unknown;
    const unsupported = () => errno.notsup;
    return {
      args_get: bind(this.argsGet),
      args_sizes_get: bind(this.argsSizesGet),
      environ_get: bind(this.environGet),
      environ_sizes_get: bind(this.environSizesGet),
      clock_time_get: bind(this.clockTimeGet),
      clock_res_get: unsupported,
      fd_advise: unsupported,
      fd_close: bind(this.fdClose),
      fd_fdstat_get: bind(this.fdFdstatGet),
      fd_fdstat_set_flags: unsupported,
      fd_filestat_get: bind(this.fdFilestatGet),
      fd_filestat_set_size: bind(this.fdFilestatSetSize),
      fd_filestat_set_times: () => errno.success,
      fd_pread: bind(this.fdPread),
      fd_prestat_get: bind(this.fdPrestatGet),
      fd_prestat_dir_name: bind(this.fdPrestatDirName),
      fd_pwrite: unsupported,
      fd_read: bind(this.fdRead),
      fd_readdir: bind(this.fdReaddir),
      fd_seek: bind(this.fdSeek),
      fd_sync: () => errno.success,
      fd_tell: bind(this.fdTell),
      fd_write: bind(this.fdWrite),
      path_create_directory: bind(this.pathCreateDirectory),
      path_filestat_get: bind(this.pathFilestatGet),
      path_filestat_set_times: unsupported,
      path_link: unsupported,
      path_open: bind(this.pathOpen),
      path_readlink: bind(this.pathReadlink),
      path_remove_directory: bind(this.pathRemoveDirectory),
      path_rename: bind(this.pathRename),
      path_symlink: unsupported,
      path_unlink_file: bind(this.pathUnlinkFile),
      poll_oneoff: unsupported,
      proc_exit: (code: number) => {
        throw new ProcessExit(code);
      },
      random_get: bind(this.randomGet),
      sched_yield: () => errno.success,
    };
  }

  private guarded<A extends unknown[]>(f: (...args: A) => void): (...args: A) => number {
    return (...args) => {
      this.refresh();
      try {
        f(...args);
        return errno.success;
      } catch (e) {
        if (e instanceof WasiError) return e.errno;
        const code = (e as NodeJS.ErrnoException).code;
        if (code !== undefined && (e as NodeJS.ErrnoException).syscall !== undefined)
          return errnoOfCode[code] ?? errno.io;
        throw e;
      }
    };
  }

  /** Growing the module's memory detaches earlier views of it. */
  private refresh(): void {
    if (this.bytes?.buffer === this.memory.buffer) return;
    this.bytes = new Uint8Array(this.memory.buffer);
    this.view = new DataView(this.memory.buffer);
  }

  // --- arguments, environment, time, chance -------------------------------------------------------------

  private putStrings(strings: readonly Uint8Array[], pointers: number, buffer: number): void {
    for (const s of strings) {
      this.view.setUint32(pointers, buffer, true);
      this.bytes.set(s, buffer);
      pointers += 4;
      buffer += s.length;
    }
  }
  private putSizes(strings: readonly Uint8Array[], countAt: number, sizeAt: number): void {
    this.view.setUint32(countAt, strings.length, true);
    this.view.setUint32(sizeAt, strings.reduce((n, s) => n + s.length, 0), true); // biome-ignore format: one line
  }
  private argsGet(pointers: number, buffer: number): void {
    this.putStrings(this.args, pointers, buffer);
  }
  private argsSizesGet(countAt: number, sizeAt: number): void {
    this.putSizes(this.args, countAt, sizeAt);
  }
  private environGet(pointers: number, buffer: number): void {
    this.putStrings(this.env, pointers, buffer);
  }
  private environSizesGet(countAt: number, sizeAt: number): void {
    this.putSizes(this.env, countAt, sizeAt);
  }
  private clockTimeGet(clock: number, _precision: bigint, at: number): void {
    const now = clock === 0 ? BigInt(Date.now()) * 1_000_000n : process.hrtime.bigint();
    this.view.setBigUint64(at, now, true);
  }
  private randomGet(at: number, length: number): void {
    randomFillSync(this.bytes, at, length);
  }

  // --- open files -----------------------------------------------------------------------------------------

  private handle(fd: number): Handle {
    const h = this.handles[fd];
    if (h === undefined) throw new WasiError(errno.badf);
    return h;
  }
  private open(h: Handle): number {
    let fd = 4;
    while (this.handles[fd] !== undefined) fd++;
    this.handles[fd] = h;
    return fd;
  }
  private fdClose(fd: number): void {
    const h = this.handle(fd);
    this.handles[fd] = undefined;
    if (h.kind === "file") fs.closeSync(h.fd);
  }
  private fdFdstatGet(fd: number, at: number): void {
    const h = this.handle(fd);
    const type =
      h.kind === "stream"
        ? fileType.character
        : h.kind === "directory" || h.kind === "virtualDirectory"
          ? fileType.directory
          : fileType.regular;
    this.view.setUint8(at, type);
    this.view.setUint16(at + 2, h.kind === "file" && h.append ? fdflag.append : 0, true);
    this.view.setBigUint64(at + 8, allRights, true);
    this.view.setBigUint64(at + 16, allRights, true);
  }
  private fdFilestatGet(fd: number, at: number): void {
    const h = this.handle(fd);
    if (h.kind === "file") this.putStat(at, fs.fstatSync(h.fd, { bigint: true }));
    else if (h.kind === "directory") this.putStat(at, fs.statSync(h.path, { bigint: true }));
    else if (h.kind === "memory") this.putVirtualStat(at, fileType.regular, h.data.length, h.id);
    else if (h.kind === "virtualDirectory")
      this.putVirtualStat(at, fileType.directory, 0, this.virtualId(h.directory));
    else this.putVirtualStat(at, fileType.character, 0, 0);
  }
  private fdFilestatSetSize(fd: number, size: bigint): void {
    const h = this.handle(fd);
    if (h.kind === "file") fs.ftruncateSync(h.fd, Number(size));
    else throw new WasiError(errno.inval);
  }
  private fdPrestatGet(fd: number, at: number): void {
    const h = this.handle(fd);
    if (h.kind !== "directory" || h.preopen === undefined) throw new WasiError(errno.badf);
    this.view.setUint32(at, 0, true);
    this.view.setUint32(at + 4, h.preopen.length, true);
  }
  private fdPrestatDirName(fd: number, at: number, length: number): void {
    const h = this.handle(fd);
    if (h.kind !== "directory" || h.preopen === undefined) throw new WasiError(errno.badf);
    this.bytes.set(new TextEncoder().encode(h.preopen).subarray(0, length), at);
  }

  private readAt(h: Handle, into: Uint8Array, position: number): number {
    if (h.kind === "file") return fs.readSync(h.fd, into, 0, into.length, position);
    if (h.kind !== "memory")
      throw new WasiError(
        h.kind === "virtualDirectory" || h.kind === "directory" ? errno.isdir : errno.notsup,
      );
    const part = h.data.subarray(position, position + into.length);
    into.set(part);
    return part.length;
  }
  private readVectors(h: Handle, vectors: number, count: number, position: number): number {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const at = this.view.getUint32(vectors + 8 * i, true);
      const length = this.view.getUint32(vectors + 8 * i + 4, true);
      if (length === 0) continue;
      const n = this.readAt(h, this.bytes.subarray(at, at + length), position + total);
      total += n;
      if (n < length) break;
    }
    return total;
  }
  private fdRead(fd: number, vectors: number, count: number, resultAt: number): void {
    const h = this.handle(fd);
    const position = h.kind === "file" || h.kind === "memory" ? h.position : 0;
    const n = this.readVectors(h, vectors, count, position);
    if (h.kind === "file" || h.kind === "memory") h.position = position + n;
    this.view.setUint32(resultAt, n, true);
  }
  private fdPread(fd: number, vectors: number, count: number, offset: bigint, resultAt: number): void {
    this.view.setUint32(resultAt, this.readVectors(this.handle(fd), vectors, count, Number(offset)), true);
  }
  private fdWrite(fd: number, vectors: number, count: number, resultAt: number): void {
    const h = this.handle(fd);
    let total = 0;
    for (let i = 0; i < count; i++) {
      const at = this.view.getUint32(vectors + 8 * i, true);
      const length = this.view.getUint32(vectors + 8 * i + 4, true);
      if (length === 0) continue;
      total += this.write(h, this.bytes.subarray(at, at + length));
    }
    this.view.setUint32(resultAt, total, true);
  }
  private write(h: Handle, part: Uint8Array): number {
    if (h.kind === "stream") {
      // The module's memory is reused at once, so the receiver gets a copy.
      h.write(part.slice());
    } else if (h.kind === "file") {
      const n = fs.writeSync(h.fd, part, 0, part.length, h.append ? null : h.position);
      h.position += n;
      return n;
    } else throw new WasiError(errno.badf);
    return part.length;
  }
  private fdSeek(fd: number, offset: bigint, whence: number, resultAt: number): void {
    const h = this.handle(fd);
    if (h.kind !== "file" && h.kind !== "memory") throw new WasiError(errno.spipe);
    const size = whence !== 2 ? 0 : h.kind === "file" ? fs.fstatSync(h.fd).size : h.data.length;
    const position = Number(offset) + (whence === 0 ? 0 : whence === 1 ? h.position : size);
    if (position < 0) throw new WasiError(errno.inval);
    h.position = position;
    this.view.setBigUint64(resultAt, BigInt(position), true);
  }
  private fdTell(fd: number, resultAt: number): void {
    const h = this.handle(fd);
    if (h.kind !== "file" && h.kind !== "memory") throw new WasiError(errno.spipe);
    this.view.setBigUint64(resultAt, BigInt(h.position), true);
  }

  /** Entries in the order of their names, so that the result does not depend on the file system. */
  private fdReaddir(fd: number, buffer: number, length: number, cookie: bigint, usedAt: number): void {
    const h = this.handle(fd);
    let entries: { name: string; type: number }[];
    if (h.kind === "directory") {
      h.entries ??= fs.readdirSync(h.path, { withFileTypes: true });
      entries = h.entries.map((e) => ({ name: e.name, type: typeOf(e) }));
    } else if (h.kind === "virtualDirectory") {
      entries = [...h.directory].map(([name, e]) => ({
        name,
        type: !(e instanceof Map) ? fileType.regular : fileType.directory,
      }));
    } else throw new WasiError(errno.notdir);
    entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const start = buffer;
    const end = buffer + length;
    for (let i = Number(cookie); i < entries.length && buffer < end; i++) {
      const name = new TextEncoder().encode(entries[i]!.name);
      const record = new Uint8Array(24 + name.length);
      const view = new DataView(record.buffer);
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setUint32(16, name.length, true);
      view.setUint8(20, entries[i]!.type);
      record.set(name, 24);
      // A record that does not fit is cut off; the module then asks for it again.
      const part = record.subarray(0, end - buffer);
      this.bytes.set(part, buffer);
      buffer += part.length;
    }
    this.view.setUint32(usedAt, buffer - start, true);
  }

  // --- paths ----------------------------------------------------------------------------------------------

  /** The path a call names: for the operating system, or for `virtualEntry`. */
  private resolve(fd: number, at: number, length: number): string {
    const path = new TextDecoder().decode(this.bytes.subarray(at, at + length));
    const h = this.handle(fd);
    if (h.kind === "virtualDirectory") return `${h.path}/${path}`;
    if (h.kind !== "directory") throw new WasiError(errno.notdir);
    if (path.startsWith("/")) return path;
    return h.path.endsWith("/") ? h.path + path : `${h.path}/${path}`;
  }
  /** What a mount has at `path`; undefined when no mount covers it. */
  private virtualEntry(path: string): VirtualEntry | undefined {
    for (const [root, directory] of this.options.mounts ?? []) {
      if (path !== root && !path.startsWith(root + "/")) continue;
      const trail: VirtualEntry[] = [directory];
      for (const segment of path.substring(root.length).split("/")) {
        const entry = trail[trail.length - 1];
        if (!(entry instanceof Map)) throw new WasiError(errno.notdir);
        if (segment === "" || segment === ".") continue;
        if (segment === "..") {
          trail.pop();
          if (trail.length === 0) return undefined;
          continue;
        }
        const next = entry.get(segment);
        if (next === undefined) throw new WasiError(errno.noent);
        trail.push(next);
      }
      return trail[trail.length - 1];
    }
    return undefined;
  }
  private virtualId(entry: VirtualEntry): number {
    let id = this.virtualIds.get(entry);
    if (id === undefined) this.virtualIds.set(entry, (id = this.virtualIds.size + 1));
    return id;
  }
  private pathOpen(
    dir: number,
    _dirFlags: number,
    at: number,
    length: number,
    oflags: number,
    rights: bigint,
    _inheriting: bigint,
    fdflags: number,
    resultAt: number,
  ): void {
    const path = this.resolve(dir, at, length);
    this.view.setUint32(resultAt, this.open(this.openPath(path, oflags, rights, fdflags)), true);
  }
  private openPath(path: string, oflags: number, rights: bigint, fdflags: number): Handle {
    const writes = (rights & rightWrite) !== 0n;
    const entry = this.virtualEntry(path);
    if (entry !== undefined) {
      if (writes || (oflags & oflag.create) !== 0) throw new WasiError(errno.rofs);
      if (entry instanceof Map) return { kind: "virtualDirectory", directory: entry, path };
      if ((oflags & oflag.directory) !== 0) throw new WasiError(errno.notdir);
      return { kind: "memory", data: entry.read(), position: 0, id: this.virtualId(entry) };
    }
    if ((oflags & oflag.directory) !== 0 || (!writes && isDirectory(path))) {
      if (!isDirectory(path)) {
        fs.statSync(path); // throws "no such entry" where that is the reason
        throw new WasiError(errno.notdir);
      }
      return { kind: "directory", path };
    }
    const c = fs.constants;
    let flags = writes ? ((rights & rightRead) !== 0n ? c.O_RDWR : c.O_WRONLY) : c.O_RDONLY;
    if ((oflags & oflag.create) !== 0) flags |= c.O_CREAT;
    if ((oflags & oflag.exclusive) !== 0) flags |= c.O_EXCL;
    if ((oflags & oflag.truncate) !== 0) flags |= c.O_TRUNC;
    const append = (fdflags & fdflag.append) !== 0;
    if (append) flags |= c.O_APPEND;
    return { kind: "file", fd: fs.openSync(path, flags, 0o666), position: 0, append };
  }
  private pathFilestatGet(dir: number, flags: number, at: number, length: number, resultAt: number): void {
    const path = this.resolve(dir, at, length);
    const entry = this.virtualEntry(path);
    if (entry !== undefined) {
      const file = !(entry instanceof Map);
      const type = file ? fileType.regular : fileType.directory;
      this.putVirtualStat(resultAt, type, entry instanceof Map ? 0 : entry.size, this.virtualId(entry));
      return;
    }
    // Most look-ups of headers fail; not throwing is several times faster.
    const options = { bigint: true, throwIfNoEntry: false } as const;
    const stat = (flags & lookupFollow) !== 0 ? fs.statSync(path, options) : fs.lstatSync(path, options);
    if (stat === undefined) throw new WasiError(errno.noent);
    this.putStat(resultAt, stat);
  }
  private pathReadlink(
    dir: number,
    at: number,
    length: number,
    buffer: number,
    size: number,
    resultAt: number,
  ): void {
    const path = this.resolve(dir, at, length);
    if (this.virtualEntry(path) !== undefined) throw new WasiError(errno.inval);
    const target = new TextEncoder().encode(fs.readlinkSync(path)).subarray(0, size);
    this.bytes.set(target, buffer);
    this.view.setUint32(resultAt, target.length, true);
  }
  private pathCreateDirectory(dir: number, at: number, length: number): void {
    fs.mkdirSync(this.resolve(dir, at, length));
  }
  private pathRemoveDirectory(dir: number, at: number, length: number): void {
    fs.rmdirSync(this.resolve(dir, at, length));
  }
  private pathRename(
    dir: number,
    at: number,
    length: number,
    toDir: number,
    toAt: number,
    toLength: number,
  ): void {
    fs.renameSync(this.resolve(dir, at, length), this.resolve(toDir, toAt, toLength));
  }
  private pathUnlinkFile(dir: number, at: number, length: number): void {
    fs.unlinkSync(this.resolve(dir, at, length));
  }

  // --- file attributes ------------------------------------------------------------------------------------

  private putStat(at: number, s: fs.BigIntStats): void {
    const v = this.view;
    v.setBigUint64(at, s.dev, true);
    v.setBigUint64(at + 8, s.ino, true);
    v.setUint8(at + 16, typeOf(s));
    v.setBigUint64(at + 24, s.nlink, true);
    v.setBigUint64(at + 32, s.size, true);
    v.setBigUint64(at + 40, s.atimeNs, true);
    v.setBigUint64(at + 48, s.mtimeNs, true);
    v.setBigUint64(at + 56, s.ctimeNs, true);
  }
  /** Virtual entries are on a device of their own, so that no real file has their identity. */
  private putVirtualStat(at: number, type: number, size: number, id: number): void {
    this.bytes.fill(0, at, at + 64);
    this.view.setBigUint64(at, 0xffff_fffen, true);
    this.view.setUint32(at + 8, id, true);
    this.view.setUint8(at + 16, type);
    this.view.setUint32(at + 24, 1, true);
    this.view.setUint32(at + 32, size, true);
  }
}

function isDirectory(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function typeOf(s: fs.BigIntStats | fs.Dirent): number {
  if (s.isFile()) return fileType.regular;
  if (s.isDirectory()) return fileType.directory;
  if (s.isSymbolicLink()) return fileType.symlink;
  if (s.isCharacterDevice()) return fileType.character;
  return s.isBlockDevice() ? fileType.block : fileType.unknown;
}
