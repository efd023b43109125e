/** What the bare command leaves open for libraries that nobody names: whatever they call or replace by name. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DefaultLibraries } from "../../bin/lto/default-libraries.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

async function link(text: string, ...options: string[]): Promise<string> {
  writeFileSync(path("a.ll"), text);
  const { out, err } = await tscLto([...options, path("a.ll"), "-o", "-"], { cwd: folder, env: {} });
  expect(err).toBe("");
  return out;
}

async function open(text: string, ...options: string[]): Promise<string[]> {
  const assembly = await link(`${text}\ndefine i32 @main() {\n  ret i32 0\n}\n`, ...options);
  return [...assembly.matchAll(/^\s*\.(?:globl|weak|comm)\s+([^\s,]+)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "main")
    .sort();
}

const define = (name: string): string => `define void @${name}() {\n  ret void\n}\n`;

/** Status and output of the program as `cc` links the assembly. */
function run(assembly: string, ...options: string[]): string {
  writeFileSync(path("a.s"), assembly);
  execFileSync("cc", [path("a.s"), "-o", path("a"), ...options]);
  const { status, stdout } = spawnSync(path("a"), { encoding: "utf8" });
  return `${stdout}${status}`;
}

/** A pool that `allocate` takes blocks from, and whether a block is one of its. */
const pool = `
@pool = internal global [65536 x i8] zeroinitializer, align 16
@used = internal global i64 0
define internal ptr @allocate(i64 %n) noinline {
  %at = load i64, ptr @used
  %p = getelementptr [65536 x i8], ptr @pool, i64 0, i64 %at
  %more = add i64 %n, 31
  %whole = and i64 %more, -16
  %next = add i64 %at, %whole
  store i64 %next, ptr @used
  ret ptr %p
}
define internal i32 @is_ours(ptr %p) noinline {
  %a = ptrtoint ptr %p to i64
  %d = sub i64 %a, ptrtoint (ptr @pool to i64)
  %c = icmp ult i64 %d, 65536
  %r = zext i1 %c to i32
  ret i32 %r
}
`;

/** The program's own allocation; the C library's strdup uses it, and the program frees what that returns. */
const allocator = `${pool}
@freed = internal global i32 0
@text = internal constant [4 x i8] c"abc\\00"
declare ptr @strdup(ptr)
define ptr @malloc(i64 %n) {
  %p = call ptr @allocate(i64 %n)
  ret ptr %p
}
define ptr @calloc(i64 %n, i64 %m) {
  %size = mul i64 %n, %m
  %p = call ptr @allocate(i64 %size)
  ret ptr %p
}
define ptr @realloc(ptr %old, i64 %n) {
  %p = call ptr @allocate(i64 %n)
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %old, i64 4, i1 false)
  ret ptr %p
}
define void @free(ptr %p) {
  %ours = call i32 @is_ours(ptr %p)
  %n = load i32, ptr @freed
  %more = add i32 %n, %ours
  store i32 %more, ptr @freed
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @main() {
  %p = call ptr @strdup(ptr @text)
  call void @free(ptr %p)
  %freed = load i32, ptr @freed
  %code = add i32 %freed, 40
  ret i32 %code
}
`;

describe("programs that replace what libraries use", () => {
  it.each(["-O0", "-O1", "-O2", "-Os", "-Oz"])("allocation in C at %s", async (level) => {
    const pie = await link(allocator, level, "--relocation-model=pie");
    expect(run(pie, "-pie")).toBe("41");
    const fixed = await link(allocator, level, "--relocation-model=static", "--no-ipra");
    expect(run(fixed, "-static")).toBe("41");
    expect(await link(allocator, level, "--no-default-libs")).not.toContain(".globl malloc");
  });

  it("allocation in C++", async () => {
    // A stream's buffer, which libstdc++ allocates and frees with these.
    const text = `${pool}
@balance = internal global i32 0
@made = internal global i32 0
declare void @_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEC1Ev(ptr)
declare void @_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEED1Ev(ptr)
declare i64 @_ZNSt15basic_streambufIcSt11char_traitsIcEE6xsputnEPKcl(ptr, ptr, i64)
@text = internal constant [100 x i8] zeroinitializer
define ptr @_Znwm(i64 %n) {
  %b = load i32, ptr @balance
  %b2 = add i32 %b, 1
  store i32 %b2, ptr @balance
  %m = load i32, ptr @made
  %m2 = add i32 %m, 1
  store i32 %m2, ptr @made
  %p = call ptr @allocate(i64 %n)
  ret ptr %p
}
define void @_ZdlPv(ptr %p) {
  %ours = call i32 @is_ours(ptr %p)
  %b = load i32, ptr @balance
  %b2 = sub i32 %b, %ours
  store i32 %b2, ptr @balance
  ret void
}
define void @_ZdlPvm(ptr %p, i64 %n) {
  call void @_ZdlPv(ptr %p)
  ret void
}
define i32 @main() {
  %buffer = alloca [256 x i8], align 16
  call void @_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEC1Ev(ptr %buffer)
  %n = call i64 @_ZNSt15basic_streambufIcSt11char_traitsIcEE6xsputnEPKcl(ptr %buffer, ptr @text, i64 100)
  call void @_ZNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEED1Ev(ptr %buffer)
  %made = load i32, ptr @made
  %some = icmp ne i32 %made, 0
  %balance = load i32, ptr @balance
  %even = icmp eq i32 %balance, 0
  %both = and i1 %some, %even
  %code = select i1 %both, i32 7, i32 8
  ret i32 %code
}
`;
    for (const level of ["-O0", "-Oz"]) {
      const assembly = await link(text, level, "--relocation-model=pie");
      expect(run(assembly, "-lstdc++")).toBe("7");
      expect(run(assembly, "-static", "-lstdc++")).toBe("7");
    }
  });

  it("variables, aliases and functions under another name", async () => {
    // The C library's getenv reads the program's `__environ`; its exit calls the program's `_exit`, where it is static.
    const text = `
@entry = internal constant [4 x i8] c"A=3\\00"
@list = internal constant [2 x ptr] [ptr @entry, ptr null]
@__environ = global ptr null
@key = internal constant [2 x i8] c"A\\00"
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
define i32 @main() {
  store ptr @list, ptr @__environ
  %value = call ptr @getenv(ptr @key)
  %n = call i32 @atoi(ptr %value)
  ret i32 %n
}
`;
    for (const level of ["-O0", "-O2"]) expect(run(await link(text, level), "-no-pie")).toBe("3");
    const exits = `
declare i64 @syscall(i64, ...)
define i32 @own(i32 %code) {
  %n = call i64 (i64, ...) @syscall(i64 231, i32 77)
  unreachable
}
@_exit = alias i32 (i32), ptr @own
define i32 @main() {
  ret i32 1
}
`;
    expect(run(await link(exits, "-O2"), "-static")).toBe("77");
    expect(run(await link(exits.replace("@_exit =", '@"\\01_exit" ='), "-O2"), "-static")).toBe("77");
  });
});

describe("what stays open", () => {
  it("is what the tables of the default libraries name", async () => {
    const own = ["strlen", "write", "getenv", "__errno_location", "sqrtf", "qsort"];
    const names = [...own, "helper", "my_malloc", "write_all"];
    const text = names.map(define).join("");
    expect(await open(text)).toEqual([...own].sort());
    // The compiler's own libraries may call this.
    const closed = ["strlen"];
    for (const word of ["--no-default-libs", "-nostdlib", "--nostdlib", "-nodefaultlibs", "--nodefaultlibs"])
      expect(await open(text, word), word).toEqual(closed);
  });

  it("whatever kind of definition it is", async () => {
    const text = `
@optind = common global i32 0
@optarg = weak global ptr null
@tzname = hidden global [2 x ptr] zeroinitializer
@getpid = alias void (), ptr @f
@time = ifunc i64 (ptr), ptr @resolver
define internal ptr @resolver() {
  ret ptr @f
}
define internal void @f() {
  ret void
}
define weak void @abort() {
  ret void
}
define hidden void @raise() {
  ret void
}
define protected void @kill() {
  ret void
}
`;
    const names = ["abort", "getpid", "kill", "optarg", "optind", "raise", "time", "tzname"];
    expect(await open(text)).toEqual(names);
    expect(await open(text, "--exclude-libs=ALL")).toEqual(names);
  });

  it("in C++, but no copies of inline functions that the library has", async () => {
    const name = "_ZNSt6thread4joinEv";
    const inline = (words: string): string =>
      `$${name} = comdat any\ndefine linkonce_odr void @${name}() ${words} comdat {\n  ret void\n}\n`;
    expect(await open(define(name))).toEqual([name]);
    expect(await open(inline(""))).toEqual([name]);
    expect(await open(inline("unnamed_addr"))).toEqual([]);
    expect(await open(define("_ZN4mine4joinEv"))).toEqual([]);
    const operators = ["_ZdlPv", "_ZdaPvSt11align_val_t", "_ZnwmRKSt9nothrow_t", "_Znam"];
    expect(await open(operators.map(define).join(""))).toEqual([...operators].sort());
  });

  it("families of names also where a C library is among the inputs", async () => {
    execFileSync("cc", ["-shared", "-nostdlib", "-o", path("libc.so.6"), "-x", "c", "/dev/null"]);
    const text = ["malloc", "_ZdlPv", "_Unwind_Resume", "write"].map(define).join("");
    const all = ["_Unwind_Resume", "_ZdlPv", "malloc", "write"];
    expect(await open(text)).toEqual(all);
    expect(await open(text, path("libc.so.6"))).toEqual(all.slice(0, 3));
  });

  it("but those of libraries that the program is not linked with", async () => {
    const text = ["read", "write", "_ZNSt6thread4joinEv"].map(define).join("");
    expect(await open(text)).toEqual(["_ZNSt6thread4joinEv", "read", "write"]);
    expect(await open(text, "-nostdlib++")).toEqual(["read", "write"]);
    // The C++ library reads and writes files, whosever C library there is.
    expect(await open(text, "-nolibc")).toEqual(["_ZNSt6thread4joinEv", "read", "write"]);
    expect(await open(text, "-nolibc", "--no-stdlibxx")).toEqual([]);
    expect(await open(text, "-nostdlib")).toEqual([]);
  });

  it("neither in shared libraries, where all is, nor in relocatable ones", async () => {
    const text = `${define("write")}${define("helper")}define hidden void @read() {\n  ret void\n}\n`;
    expect(await open(text, "--shared")).toEqual(["helper", "write"]);
    expect(await open(text, "-r")).toEqual(["helper", "read", "write"]);
  });
});

describe("libraries", () => {
  const both = { c: true, cxx: true };
  const mentions = (folders: string[], names: string[], parts = both): (string | null)[] => {
    const libraries = new DefaultLibraries(parts, folders);
    return names.map((name) => libraries.mention(name));
  };
  const library = (name: string, source: string): void => {
    writeFileSync(path("source.c"), source);
    execFileSync("cc", ["-shared", "-fPIC", "-nostdlib", path("source.c"), "-o", path(name)]);
  };

  it("that are not there: what the standards name", () => {
    const names = ["write", "pthread_create", "_ZSt9terminatev", "_ZTVN10__cxxabiv117__class_type_infoE"];
    for (const folders of [[], [path("none")]])
      expect(mentions(folders, [...names, "malloc", "helper", "__helper", "_ZN4mine1fEv"])).toEqual([
        ...names.map(() => "defined"),
        "undefined",
        null,
        null,
        null,
      ]);
  });

  it("for other machines, damaged, or no libraries are passed over", () => {
    mkdirSync(path("bad"), { recursive: true });
    mkdirSync(path("good"), { recursive: true });
    library("good/libc.so.6", "void one(void) {} void two(void); void pthread_create(void) { two(); }");
    const good = readFileSync(path("good/libc.so.6"));
    const wide = Buffer.from(good);
    wide[4] = 1;
    const cut = good.subarray(0, 100);
    for (const bytes of [Buffer.from("OUTPUT_FORMAT(elf64-x86-64)\n"), wide, cut, Buffer.alloc(0)]) {
      writeFileSync(path("bad/libc.so.6"), bytes);
      expect(mentions([path("bad"), path("good")], ["one", "two", "three", "write"])).toEqual([
        "defined",
        "undefined",
        null,
        null,
      ]);
      // Without another one, as if there were none.
      expect(mentions([path("bad")], ["one", "write"])).toEqual([null, "defined"]);
    }
  });

  it("with parts of their own for threads, and static ones with names of their own", () => {
    mkdirSync(path("old"), { recursive: true });
    library("old/libc.so.6", "void one(void) {}");
    library("old/libpthread.so.0", "void pthread_create(void) {}");
    library("old/libgcc_s.so.1", "void __of_gcc(void) {} void of_gcc(void) {}");
    writeFileSync(path("inner.c"), "void __inner(void) {} void inner(void) {}");
    execFileSync("cc", ["-c", path("inner.c"), "-o", path("inner.o")]);
    execFileSync("ar", ["rcs", path("old/libc.a"), path("inner.o")]);
    const names = ["one", "pthread_create", "__of_gcc", "of_gcc", "__inner", "inner", "__inn", "nner"];
    expect(mentions([path("old")], names)).toEqual([
      "defined",
      "defined",
      "defined",
      null,
      "defined",
      null,
      null,
      null,
    ]);
  });

  it("of which the program has not all", () => {
    mkdirSync(path("parts"), { recursive: true });
    library("parts/libc.so.6", "void one(void) {} void pthread_create(void) {}");
    library("parts/libgcc_s.so.1", "void abort(void); void __of_gcc(void) { abort(); }");
    library("parts/libstdc++.so.6", "void strlen(void); void _ZSt3onev(void) { strlen(); }");
    const names = ["one", "abort", "__of_gcc", "strlen", "_ZSt3onev"];
    const of = (c: boolean, cxx: boolean): (string | null)[] => mentions([path("parts")], names, { c, cxx });
    expect(of(true, true)).toEqual(["defined", null, "defined", null, "defined"]);
    expect(of(true, false)).toEqual(["defined", null, "defined", null, null]);
    expect(of(false, true)).toEqual([null, "undefined", "defined", "undefined", "defined"]);
    expect(of(false, false)).toEqual([null, "undefined", "defined", null, null]);
  });

  it("are known apart by size and time", () => {
    mkdirSync(path("changing"), { recursive: true });
    library("changing/libc.so.6", "void one(void) {}");
    const identity = (): string => new DefaultLibraries(both, [path("changing")]).identity();
    const first = identity();
    expect(first).toContain(path("changing/libc.so.6"));
    expect(identity()).toBe(first);
    const { atimeMs, mtimeMs } = statSync(path("changing/libc.so.6"));
    utimesSync(path("changing/libc.so.6"), atimeMs / 1000, mtimeMs / 1000 + 5);
    expect(identity()).not.toBe(first);
  });
});
