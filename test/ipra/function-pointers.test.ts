/**
 * The pointer analysis that serves IPRA of calls through pointers: what it finds out, and every way in which an address
 * gets out of its sight. `@f` is the function whose address is taken, `@site` calls through a pointer.
 */

import { describe, expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import { finish } from "../../lto/ir/steps.js";
import { x64Target } from "../../lto/x64/target.js";
import { codegenOptions, link } from "./compile.js";

const header = `
declare void @ext(ptr)
declare ptr @give()
declare void @print(ptr, ...)
declare noalias ptr @malloc(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @personality(...)
define internal i64 @f(i64 %x) {
  %r = add i64 %x, 1
  ret i64 %r
}
define internal i64 @g(i64 %x) {
  %r = add i64 %x, 2
  ret i64 %r
}
`;
const main = (body: string): string => `
define i64 @main(i64 %n, ptr %argv) {
${body}
}
`;

interface Outcome {
  /** Functions whose address is taken and that unknown code cannot enter. */
  readonly closed: string[];
  /** By function: its calls through pointers, each as the names it reaches, `?` for what is not known. */
  readonly sites: Record<string, string[]>;
}

function analyse(text: string, output: "executable" | "shared" = "executable"): Outcome {
  const { module, summary } = link(header + text, output);
  const options: CodegenOptions = { ...codegenOptions, relocation: output === "shared" ? "pic" : "pie" };
  const { indirect, open } = finish(planProgram(module, summary, options, x64Target, bodyCodec()));
  const names = definedFunctions(module).map((fn) => fn.name);
  const spell = (set: number): string => {
    const found = indirect.sets[set];
    if (found === undefined) return "?";
    return found.members.map((fn) => names[fn]!).join(" ") + (found.unknown ? " ?" : "");
  };
  for (let fn = 0; fn < names.length; fn++) if (indirect.closed[fn] === 1) expect(open[fn]).toBe(0);
  return {
    closed: names.filter((_, fn) => indirect.closed[fn] === 1),
    sites: Object.fromEntries(
      names
        .map((name, fn) => [name, indirect.sites[fn]!.map(spell)] as const)
        .filter(([, s]) => s.length > 0),
    ),
  };
}

/** A function that calls its parameter; `@main` passes it `@f`. */
const site = `
define internal i64 @site(ptr %p, i64 %x) noinline {
  %r = call i64 %p(i64 %x)
  ret i64 %r
}
`;

it("calls that may unwind pass their arguments", () => {
  const text = `${site}
define i64 @main(i64 %n) personality ptr @personality {
  %a = invoke i64 @site(ptr @f, i64 1) to label %next unwind label %pad
next:
  %b = call i64 @site(ptr @g, i64 %a)
  ret i64 %b
pad:
  %l = landingpad { ptr, i32 } cleanup
  ret i64 0
}`;
  expect(analyse(text)).toEqual({ closed: ["f", "g"], sites: { site: ["f g"] } });
});

describe("callees that are known", () => {
  const known = (title: string, text: string, sites: Record<string, string[]>, closed = ["f", "g"]): void =>
    it(title, () => expect(analyse(text)).toEqual({ closed, sites }));

  known(
    "a parameter of a closed function",
    `${site}${main("%a = call i64 @site(ptr @f, i64 1)\n%b = call i64 @site(ptr @g, i64 %a)\nret i64 %b")}`,
    { site: ["f g"] },
  );
  known(
    "select, phi and freeze",
    main(`  %c = icmp eq i64 %n, 1
  %s = select i1 %c, ptr @f, ptr @g
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %p = phi ptr [ %s, %0 ], [ @f, %a ]
  %q = freeze ptr %p
  %r = call i64 %q(i64 1)
  ret i64 %r`),
    { main: ["f g"] },
  );
  known(
    "a table, by an index that is not known",
    `@table = internal constant [2 x ptr] [ptr @f, ptr @g]
${main("%p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %n\n%f = load ptr, ptr %p\n%r = call i64 %f(i64 1)\nret i64 %r")}`,
    { main: ["f g"] },
  );
  known(
    "a column of a table, whatever happens to the others",
    `@name = internal constant [2 x i8] c"a\\00"
@table = internal constant [2 x { ptr, ptr, i32 }] [{ ptr, ptr, i32 } { ptr @name, ptr @f, i32 1 }, { ptr, ptr, i32 } { ptr @name, ptr @g, i32 2 }]
${main(`  %row = getelementptr { ptr, ptr, i32 }, ptr @table, i64 %n
  %s = load ptr, ptr %row
  call void @ext(ptr %s)
  %w = getelementptr i8, ptr %row, i64 16
  %i = load i32, ptr %w
  %x = zext i32 %i to i64
  %p = getelementptr i8, ptr %row, i64 8
  %f = load ptr, ptr %p
  %r = call i64 %f(i64 %x)
  ret i64 %r`)}`,
    { main: ["f g"] },
  );
  known(
    "structures of functions, through a pointer to them",
    `@one = internal constant { ptr, ptr } { ptr @f, ptr @two }
@two = internal constant { ptr, ptr } { ptr @g, ptr null }
define internal i64 @walk(ptr %o, i64 %x) noinline {
  %f = load ptr, ptr %o
  %r = call i64 %f(i64 %x)
  %p = getelementptr { ptr, ptr }, ptr %o, i32 0, i32 1
  %next = load ptr, ptr %p
  %c = icmp eq ptr %next, null
  br i1 %c, label %end, label %more
more:
  %s = call i64 @walk(ptr %next, i64 %r)
  ret i64 %s
end:
  ret i64 %r
}
${main("%r = call i64 @walk(ptr @one, i64 %n)\nret i64 %r")}`,
    { walk: ["f g"] },
  );
  known(
    "a variable",
    `@current = internal global ptr @f
${main("%f = load ptr, ptr @current\nstore ptr @g, ptr @current\n%r = call i64 %f(i64 1)\nret i64 %r")}`,
    { main: ["f g"] },
  );
  known(
    "a structure on the stack, beside numbers",
    `define internal i64 @visit(ptr %w) noinline {
  %d = getelementptr { i64, ptr }, ptr %w, i32 0, i32 1
  %f = load ptr, ptr %d
  %x = load i64, ptr %w
  %r = call i64 %f(i64 %x)
  ret i64 %r
}
${main(`  %w = alloca { i64, ptr }
  store i64 %n, ptr %w
  %p = getelementptr i8, ptr %w, i64 8
  store ptr @f, ptr %p
  %r = call i64 @visit(ptr %w)
  store ptr @g, ptr %p
  %s = call i64 @visit(ptr %w)
  %t = add i64 %r, %s
  ret i64 %t`)}`,
    { visit: ["f g"] },
  );
  known(
    "a copy of a structure",
    `@one = internal constant { ptr, ptr } { ptr @f, ptr @g }
${main(`  %w = alloca { ptr, ptr }
  call void @llvm.memcpy.p0.p0.i64(ptr %w, ptr @one, i64 16, i1 false)
  %f = load ptr, ptr %w
  %r = call i64 %f(i64 1)
  ret i64 %r`)}`,
    { main: ["f g"] },
  );
  known(
    "the result of a function, and a callback that calls another",
    `${site}
define internal ptr @pick(i64 %x) noinline {
  %c = icmp eq i64 %x, 1
  %s = select i1 %c, ptr @f, ptr @g
  ret ptr %s
}
define internal i64 @h(i64 %x) {
  %p = call ptr @pick(i64 %x)
  %r = call i64 @site(ptr %p, i64 %x)
  ret i64 %r
}
${main("%r = call i64 @site(ptr @h, i64 %n)\nret i64 %r")}`,
    { site: ["f g h"] },
    ["f", "g", "h"],
  );
  it("some callees are known: they are closed, the call may reach others", () => {
    const text = `${site}${main("%p = call ptr @give()\n%a = call i64 @site(ptr @f, i64 1)\n%b = call i64 @site(ptr %p, i64 %a)\nret i64 %b")}`;
    expect(analyse(text)).toEqual({ closed: ["f"], sites: { site: ["f ?"] } });
  });
});

/** `@f` stays closed in `text` if the escape is taken out of it. */
interface Escape {
  readonly title: string;
  /** Top-level text, and what `@main` does beside. */
  readonly globals?: string;
  readonly body?: string;
  readonly shared?: boolean;
}

/** A function that runs inline assembly. */
const assembly = (code: string): string => `
define internal void @k(ptr %p) noinline {
  call void asm sideeffect ${code}
  ret void
}`;

const escapes: Escape[] = [
  { title: "an argument of a function outside", body: "call void @ext(ptr @f)" },
  { title: "a variable argument", body: "call void (ptr, ...) @print(ptr null, ptr @f)" },
  {
    title: "a variable argument of a function of the program",
    globals: "define internal void @vary(i64 %x, ...) noinline {\nret void\n}",
    body: "call void (i64, ...) @vary(i64 1, ptr @f)",
  },
  { title: "memory from outside", body: "%m = call ptr @give()\nstore ptr @f, ptr %m" },
  { title: "the heap", body: "%m = call ptr @malloc(i64 8)\nstore ptr @f, ptr %m" },
  { title: "memory of the program's arguments", body: "store ptr @f, ptr %argv" },
  {
    title: "a variable of another module",
    globals: "@v = external global ptr",
    body: "store ptr @f, ptr @v",
  },
  { title: "an exported variable", globals: "@v = global ptr @f", shared: true },
  {
    title: "a variable that an alias exports",
    globals: "@v = internal global ptr @f\n@w = alias ptr, ptr @v",
    shared: true,
  },
  {
    title: "a thread-local variable",
    globals: "@v = internal thread_local global ptr @f",
    body: "%v = load ptr, ptr @v\nstore ptr null, ptr @v",
  },
  {
    title: "a variable in a section of its own",
    globals: '@v = internal global ptr @f, section "list"',
    body: "%v = load ptr, ptr @v\nstore ptr null, ptr @v",
  },
  {
    title: "memory whose address gets out",
    body: "%m = alloca ptr\ncall void @ext(ptr %m)\nstore ptr @f, ptr %m",
  },
  {
    title: "a structure in memory that gets out",
    body: "%m = alloca { i64, ptr }\n%p = getelementptr { i64, ptr }, ptr %m, i32 0, i32 1\nstore ptr @f, ptr %p\ncall void @ext(ptr %m)",
  },
  {
    title: "memory that points to memory that gets out",
    body: "%m = alloca ptr\n%k = alloca ptr\nstore ptr %k, ptr %m\nstore ptr @f, ptr %k\ncall void @ext(ptr %m)",
  },
  {
    title: "a copy in memory that gets out",
    body: "%m = alloca ptr\n%k = alloca ptr\nstore ptr @f, ptr %m\ncall void @ext(ptr %k)\ncall void @llvm.memcpy.p0.p0.i64(ptr %k, ptr %m, i64 8, i1 false)",
  },
  { title: "an integer", body: "%i = ptrtoint ptr @f to i64\nstore i64 %i, ptr %argv" },
  { title: "a constant integer", body: "store i64 ptrtoint (ptr @f to i64), ptr %argv" },
  {
    title: "an integer in a table",
    globals: "@t = internal constant [1 x i64] [i64 ptrtoint (ptr @f to i64)]",
    body: "%i = load i64, ptr @t\nstore i64 %i, ptr %argv",
  },
  {
    title: "a distance in a table of structures",
    globals:
      "@t = internal constant { ptr, i32 } { ptr null, i32 trunc (i64 sub (i64 ptrtoint (ptr @f to i64), i64 ptrtoint (ptr @main to i64)) to i32) }",
    body: "%p = getelementptr i8, ptr @t, i64 8\n%i = load i32, ptr %p\nstore i32 %i, ptr %argv",
  },
  {
    title: "bytes of memory",
    body: "%m = alloca ptr\nstore ptr @f, ptr %m\n%p = getelementptr i8, ptr %m, i64 %n\n%b = load i8, ptr %p\nstore i8 %b, ptr %argv",
  },
  {
    title: "a word read as an integer",
    body: "%m = alloca ptr\nstore ptr @f, ptr %m\n%b = load i64, ptr %m\nstore i64 %b, ptr %argv",
  },
  {
    title: "half a word read as an integer, before it is written",
    body: "%m = alloca { ptr, ptr }\n%h = getelementptr i8, ptr %m, i64 12\n%b = load i32, ptr %h\n%p = getelementptr i8, ptr %m, i64 8\nstore ptr @f, ptr %p\nstore i32 %b, ptr %argv",
  },
  {
    title: "a structure read as a whole",
    body: "%m = alloca { ptr, i64 }\nstore ptr @f, ptr %m\n%b = load { ptr, i64 }, ptr %m\nstore { ptr, i64 } %b, ptr %argv",
  },
  {
    title: "the number beside a pointer in a structure read as a whole",
    body: "%m = alloca { i64, ptr }\nstore ptr @f, ptr %m\n%b = load { i64, ptr }, ptr %m\n%i = extractvalue { i64, ptr } %b, 0\nstore i64 %i, ptr %argv",
  },
  {
    title: "a copy of a structure read as integers",
    globals: "@one = internal constant { ptr, ptr } { ptr @f, ptr null }",
    body: "%m = alloca { ptr, ptr }\ncall void @llvm.memcpy.p0.p0.i64(ptr %m, ptr @one, i64 16, i1 false)\n%b = load i64, ptr %m\nstore i64 %b, ptr %argv",
  },
  {
    title: "arithmetic on its address",
    body: "%p = getelementptr i8, ptr @f, i64 %n\ncall void @ext(ptr %p)",
  },
  { title: "memory of another address space", body: "store ptr @f, ptr addrspace(257) null" },
  {
    title: "a copy to another address space",
    globals:
      "declare void @llvm.memcpy.p256.p0.i64(ptr addrspace(256), ptr, i64, i1)\n@v = internal global ptr @f",
    body: "call void @llvm.memcpy.p256.p0.i64(ptr addrspace(256) null, ptr @v, i64 8, i1 false)",
  },
  {
    title: "a store to address 0, where that is memory",
    globals:
      "define internal void @k(ptr %p, ptr %x) noinline null_pointer_is_valid {\nstore ptr %x, ptr %p\nret void\n}",
    body: "call void @k(ptr null, ptr @f)",
  },
  {
    title: "memory at a number",
    body: "%p = getelementptr i8, ptr null, i64 %n\nstore ptr @f, ptr %p",
  },
  {
    title: "memory at a constant number",
    body: "store ptr @f, ptr getelementptr (i8, ptr null, i64 4096)",
  },
  {
    title: "a volatile store",
    globals: "@v = internal global ptr null",
    body: "store volatile ptr @f, ptr @v",
  },
  {
    title: "an atomic exchange",
    globals: "@v = internal global ptr null",
    body: "%o = atomicrmw xchg ptr @v, ptr @f seq_cst\ncall void @ext(ptr %o)",
  },
  {
    title: "inline assembly",
    globals: assembly('"", "r"(ptr %p)'),
    body: "call void @k(ptr @f)",
  },
  {
    title: "memory that inline assembly reads",
    globals: `@v = internal global ptr @f\n${assembly('"", "*m"(ptr elementtype(ptr) %p)')}`,
    body: "call void @k(ptr @v)",
  },
  {
    title: "a name in inline assembly",
    globals: assembly('"lea f(%rip), %rax", "~{rax}"()'),
    body: "call void @k(ptr null)",
  },
  {
    title: "a used list",
    globals: '@llvm.used = appending global [1 x ptr] [ptr @f], section "llvm.metadata"',
  },
  {
    title: "a table of constructors",
    globals:
      "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]",
  },
  { title: "an alias", globals: "@other = alias i64 (i64), ptr @f", body: "call void @ext(ptr @other)" },
  {
    title: "an ifunc",
    globals: "@fast = ifunc i64 (i64), ptr @resolve\ndefine internal ptr @resolve() {\nret ptr @f\n}",
    body: "%q = call i64 @fast(i64 1)",
  },
  {
    title: "prefix data",
    globals: "define internal i64 @k(i64 %x) noinline prefix ptr @f {\nret i64 %x\n}",
    body: "%q = call i64 @k(i64 1)",
  },
  {
    title: "a personality",
    globals: "define internal i64 @k(i64 %x) noinline personality ptr @f {\nret i64 %x\n}",
    body: "%q = call i64 @k(i64 1)",
  },
  { title: "the result of an exported function", globals: "define ptr @k() {\nret ptr @f\n}", shared: true },
  {
    title: "a call with another signature",
    globals: "define internal void @k(i64 %x) noinline {\nret void\n}",
    body: "call void @k(ptr @f)",
  },
  {
    title: "a structure passed by value",
    globals: "define internal void @k(ptr byval({ ptr, ptr }) %x) noinline {\nret void\n}",
    body: "%m = alloca { ptr, ptr }\nstore ptr @f, ptr %m\ncall void @k(ptr byval({ ptr, ptr }) %m)",
  },
  {
    title: "the argument of a call through an unknown pointer",
    body: "%u = call ptr @give()\ncall void %u(ptr @f)",
  },
  {
    title: "the argument of an unknown intrinsic",
    globals: "declare void @llvm.va_start.p0(ptr)",
    body: "%m = alloca { i64, ptr }\nstore ptr @f, ptr %m\ncall void @llvm.va_start.p0(ptr %m)",
  },
  {
    title: "an operand of an operand bundle",
    globals: "declare void @nop()",
    body: 'call void @nop() [ "align"(ptr @f) ]',
  },
  {
    title: "an element of a vector at an unknown place",
    body: "%v = insertelement <2 x ptr> poison, ptr @f, i64 %n\n%e = extractelement <2 x ptr> %v, i64 0\ncall void @ext(ptr %e)",
  },
  {
    title: "a member of an aggregate",
    body: "%v = insertvalue { ptr, i64 } poison, ptr @f, 0\n%e = extractvalue { ptr, i64 } %v, 0\ncall void @ext(ptr %e)",
  },
];

describe("ways out of sight", () => {
  for (const { title, globals = "", body = "", shared = false } of escapes)
    it(title, () => {
      const rest =
        "%r = call i64 @site(ptr @f, i64 1)\n%s = call i64 @site(ptr @g, i64 1)\n%t = add i64 %r, %s\nret i64 %t";
      const text = `${globals}${site}${main(`${body}\n${rest}`)}`;
      const { closed, sites } = analyse(text, shared ? "shared" : "executable");
      expect(closed).not.toContain("f");
      // What does not escape is not taken along.
      expect(closed).toContain("g");
      expect(sites["site"]).toEqual(["f g"]);
    });
});

describe("callees that are not known", () => {
  const unknown: {
    readonly title: string;
    readonly globals?: string;
    readonly pointer: string;
    readonly shared?: boolean;
  }[] = [
    { title: "the result of a function outside", pointer: "%p = call ptr @give()" },
    { title: "memory from outside", pointer: "%p = load ptr, ptr %argv" },
    { title: "an integer", pointer: "%p = inttoptr i64 %n to ptr" },
    { title: "memory of another address space", pointer: "%p = load ptr, ptr addrspace(256) null" },
    {
      title: "a copy from another address space",
      globals: "declare void @llvm.memcpy.p0.p256.i64(ptr, ptr addrspace(256), i64, i1)",
      pointer:
        "%m = alloca ptr\ncall void @llvm.memcpy.p0.p256.i64(ptr %m, ptr addrspace(256) null, i64 8, i1 false)\n%p = load ptr, ptr %m",
    },
    {
      title: "memory at address 0, where that is some",
      globals:
        "define internal ptr @k(ptr %p) noinline null_pointer_is_valid {\n%x = load ptr, ptr %p\nret ptr %x\n}",
      pointer: "%p = call ptr @k(ptr null)",
    },
    {
      title: "memory at a number",
      pointer: "%q = getelementptr i8, ptr null, i64 %n\n%p = load ptr, ptr %q",
    },
    {
      title: "an exported variable",
      globals: "@v = global ptr @f",
      pointer: "%p = load ptr, ptr @v",
      shared: true,
    },
    {
      title: "a variable of another module",
      globals: "@v = external global ptr",
      pointer: "%p = load ptr, ptr @v",
    },
    {
      title: "memory whose address got out",
      pointer: "%m = alloca ptr\nstore ptr @f, ptr %m\ncall void @ext(ptr %m)\n%p = load ptr, ptr %m",
    },
    {
      title: "memory that is written as an integer",
      pointer: "%m = alloca ptr\nstore i64 %n, ptr %m\n%p = load ptr, ptr %m",
    },
    {
      title: "memory of which a byte is written",
      pointer:
        "%m = alloca ptr\nstore ptr @f, ptr %m\n%b = getelementptr i8, ptr %m, i64 %n\nstore i8 1, ptr %b\n%p = load ptr, ptr %m",
    },
    {
      title: "a copy of memory that was written as integers",
      pointer:
        "%m = alloca ptr\n%k = alloca ptr\nstore i64 %n, ptr %m\ncall void @llvm.memcpy.p0.p0.i64(ptr %k, ptr %m, i64 8, i1 false)\n%p = load ptr, ptr %k",
    },
    {
      title: "a number in a table",
      globals: "@t = internal constant { ptr, i64 } { ptr null, i64 4096 }",
      pointer: "%q = getelementptr i8, ptr @t, i64 8\n%p = load ptr, ptr %q",
    },
    {
      title: "a number in a variable that holds a function later",
      globals: "@t = internal global { ptr, i64 } { ptr null, i64 4096 }",
      pointer: "%q = getelementptr i8, ptr @t, i64 8\n%p = load ptr, ptr %q\nstore ptr @f, ptr %q",
    },
    {
      title: "an integer, or a function",
      pointer: "%i = inttoptr i64 %n to ptr\n%c = icmp eq i64 %n, 0\n%p = select i1 %c, ptr %i, ptr @f",
    },
    {
      title: "a word that is a number or a function",
      pointer:
        "%m = alloca { ptr, ptr }\n%q = getelementptr i8, ptr %m, i64 8\nstore i64 %n, ptr %q\nstore ptr @f, ptr %q\n%p = load ptr, ptr %q",
    },
    {
      title: "a copy of memory that holds numbers and a function",
      pointer:
        "%m = alloca { ptr, ptr }\n%k = alloca { ptr, ptr }\n%q = getelementptr i8, ptr %m, i64 8\nstore i64 %n, ptr %m\nstore ptr @f, ptr %q\ncall void @llvm.memcpy.p0.p0.i64(ptr %k, ptr %m, i64 16, i1 false)\n%p = load ptr, ptr %k",
    },
    {
      title: "a volatile variable",
      globals: "@v = internal global ptr @f",
      pointer: "%p = load volatile ptr, ptr @v",
    },
    {
      title: "a variable argument",
      globals: "declare void @llvm.va_start.p0(ptr)",
      pointer: "%m = alloca { i64, ptr }\n%p = va_arg ptr %m, ptr",
    },
    {
      title: "a function that may be replaced",
      globals: "define weak ptr @k() {\nret ptr @f\n}",
      pointer: "%p = call ptr @k()",
      shared: true,
    },
    {
      title: "outside of a variable",
      globals: "@v = internal global { ptr, ptr } { ptr @f, ptr null }",
      pointer:
        "%e = getelementptr i8, ptr @v, i64 -8\nstore i64 %n, ptr %e\n%q = getelementptr i8, ptr %e, i64 8\n%p = load ptr, ptr %q",
    },
    { title: "code read as data", pointer: "%p = load ptr, ptr @f" },
  ];
  for (const { title, globals = "", pointer, shared = false } of unknown)
    it(title, () => {
      const text = `${globals}${main(`${pointer}\n%r = call i64 %p(i64 1)\n%z = ptrtoint ptr @g to i64\n%s = add i64 %r, %z\nret i64 %s`)}`;
      const { sites } = analyse(text, shared ? "shared" : "executable");
      expect(sites["main"]).toEqual([expect.stringMatching(/\?$/)]);
    });

  it("a parameter of a function whose address gets out", () => {
    const text = `${site}${main("call void @ext(ptr @site)\n%r = call i64 @site(ptr @f, i64 1)\nret i64 %r")}`;
    expect(analyse(text)).toEqual({ closed: ["f"], sites: { site: ["f ?"] } });
  });
  it("null, where code may be there", () => {
    const text = main(`  %c = icmp eq i64 %n, 1
  %p = select i1 %c, ptr @f, ptr null
  %r = call i64 %p(i64 1)
  ret i64 %r`).replace("%argv)", "%argv) null_pointer_is_valid");
    expect(analyse(text).sites).toEqual({ main: ["f ?"] });
  });
  it("a pointer that holds nothing", () => {
    const text = `${main("call void @ext(ptr @f)\n%r = call i64 null(i64 1)\nret i64 %r")}`;
    expect(analyse(text)).toEqual({ closed: [], sites: { main: ["?"] } });
  });
});
