/** One invalid text a rule, and what the verifier says about it. */
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/parser.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { verifyFunction, verifyModule } from "../../lto/verify/verifier.js";

const functionOf = (module: Module): Func => module.functions.find((fn) => fn.name === "f")!;

/** Text that parses but breaks a rule of bodies. */
const bodies: readonly (readonly [rule: string, text: string, message: string])[] = [
  ["return type", "define i32 @f() {\n ret i64 0\n}", "@f: 'ret i64 0': returns i64 from a function of i32"],
  ["return nothing", "define i32 @f() {\n ret void\n}", "@f: 'ret': returns nothing from a function of i32"],
  [
    "condition",
    "define void @f(i8 %a) {\n br i8 %a, label %x, label %x\nx:\n ret void\n}",
    "@f: 'br i8 %0, label %2, label %2': condition of type i8",
  ],
  [
    "switch twice",
    "define void @f(i8 %a) {\n switch i8 %a, label %x [ i8 1, label %x i8 1, label %x ]\nx:\n ret void\n}",
    "@f: 'switch i8 %0, label %2, label %2, label %2': case 1 occurs twice",
  ],
  [
    "arithmetic on floats",
    "define void @f(float %a) {\n %x = add float %a, %a\n ret void\n}",
    "@f: '%2 = add float %0, float %0 → float': operands of type float",
  ],
  [
    "float arithmetic on integers",
    "define void @f(i8 %a) {\n %x = fadd i8 %a, %a\n ret void\n}",
    "@f: '%2 = fadd i8 %0, i8 %0 → i8': operands of type i8",
  ],
  [
    "negation",
    "define void @f(i8 %a) {\n %x = fneg i8 %a\n ret void\n}",
    "@f: '%2 = fneg i8 %0 → i8': operand of type i8",
  ],
  [
    "trunc",
    "define void @f(i8 %a) {\n %x = trunc i8 %a to i16\n ret void\n}",
    "@f: '%2 = trunc i8 %0 → i16': cannot convert i8 to i16",
  ],
  [
    "zext of vectors",
    "define void @f(<2 x i8> %a) {\n %x = zext <2 x i8> %a to i16\n ret void\n}",
    "@f: '%2 = zext <2 x i8> %0 → i16': cannot convert <2 x i8> to i16",
  ],
  [
    "bitcast",
    "define void @f(ptr %a) {\n %x = bitcast ptr %a to i64\n ret void\n}",
    "@f: '%2 = bitcast ptr %0 → i64': cannot convert ptr to i64",
  ],
  [
    "bitcast of sizes",
    "define void @f(double %a) {\n %x = bitcast double %a to i32\n ret void\n}",
    "@f: '%2 = bitcast double %0 → i32': cannot convert double to i32",
  ],
  [
    "fpext",
    "define void @f(double %a) {\n %x = fpext double %a to float\n ret void\n}",
    "@f: '%2 = fpext double %0 → float': cannot convert double to float",
  ],
  [
    "addrspacecast",
    "define void @f(ptr %a) {\n %x = addrspacecast ptr %a to ptr\n ret void\n}",
    "@f: '%2 = addrspacecast ptr %0 → ptr': cannot convert ptr to ptr",
  ],
  [
    "icmp",
    "define void @f(float %a) {\n %x = icmp eq float %a, %a\n ret void\n}",
    "@f: '%2 = icmp float %0, float %0 → i1': operands of type float",
  ],
  [
    "fcmp",
    "define void @f(i8 %a) {\n %x = fcmp oeq i8 %a, %a\n ret void\n}",
    "@f: '%2 = fcmp i8 %0, i8 %0 → i1': operands of type i8",
  ],
  [
    "select",
    "define void @f(i8 %a) {\n %x = select i8 %a, i8 1, i8 2\n ret void\n}",
    "@f: '%2 = select i8 %0, i8 1, i8 2 → i8': condition of type i8",
  ],
  [
    "select choices",
    "define void @f(i1 %a) {\n %x = select i1 %a, i8 1, i16 2\n ret void\n}",
    "@f: '%2 = select i1 %0, i8 1, i16 2 → i8': choices have different types, i8 and i16",
  ],
  [
    "select lengths",
    "define void @f(<2 x i1> %a) {\n %x = select <2 x i1> %a, i8 1, i8 2\n ret void\n}",
    "condition and choices differ in length",
  ],
  [
    "fast-math on integers",
    "define void @f(i1 %a) {\n %x = select fast i1 %a, i8 1, i8 2\n ret void\n}",
    "fast-math flags without a floating point value",
  ],
  [
    "load address",
    "define void @f(i64 %a) {\n %x = load i8, i64 %a\n ret void\n}",
    "@f: '%2 = load i64 %0 → i8': address of type i64",
  ],
  [
    "atomic load order",
    "define void @f(ptr %a) {\n %x = load atomic i8, ptr %a release, align 1\n ret void\n}",
    "ordering release",
  ],
  [
    "atomic load type",
    "define void @f(ptr %a) {\n %x = load atomic i7, ptr %a acquire, align 1\n ret void\n}",
    "atomic access to i7",
  ],
  [
    "atomic store order",
    "define void @f(ptr %a) {\n store atomic i8 1, ptr %a acquire, align 1\n ret void\n}",
    "ordering acquire",
  ],
  ["fence order", "define void @f() {\n fence monotonic\n ret void\n}", "ordering monotonic"],
  [
    "cmpxchg order",
    "define void @f(ptr %a) {\n %x = cmpxchg ptr %a, i8 1, i8 2 seq_cst release\n ret void\n}",
    "failure ordering release",
  ],
  [
    "cmpxchg types",
    "define void @f(ptr %a) {\n %x = cmpxchg ptr %a, i8 1, i16 2 seq_cst seq_cst\n ret void\n}",
    "values of different types",
  ],
  [
    "cmpxchg of floats",
    "define void @f(ptr %a) {\n %x = cmpxchg ptr %a, float 1.0, float 2.0 seq_cst seq_cst\n ret void\n}",
    "atomic access to float",
  ],
  [
    "atomicrmw",
    "define void @f(ptr %a) {\n %x = atomicrmw add ptr %a, float 1.0 seq_cst\n ret void\n}",
    "add of float",
  ],
  [
    "atomicrmw float",
    "define void @f(ptr %a) {\n %x = atomicrmw fadd ptr %a, i32 1 seq_cst\n ret void\n}",
    "fadd of i32",
  ],
  ["alloca count", "define void @f() {\n %x = alloca i8, float 1.0\n ret void\n}", "count of type float"],
  [
    "gep into scalar",
    "define void @f(ptr %a) {\n %x = getelementptr i8, ptr %a, i64 0, i64 0\n ret void\n}",
    "@f: '%2 = getelementptr ptr %0, i64 0, i64 0 → ptr': index into i8",
  ],
  [
    "gep struct index",
    "define void @f(ptr %a) {\n %x = getelementptr { i8 }, ptr %a, i64 0, i32 1\n ret void\n}",
    "struct index is not a constant within { i8 }",
  ],
  [
    "gep struct index type",
    "define void @f(ptr %a) {\n %x = getelementptr { i8 }, ptr %a, i64 0, i64 0\n ret void\n}",
    "struct index of type i64",
  ],
  [
    "gep variable struct index",
    "define void @f(ptr %a, i32 %i) {\n %x = getelementptr { i8 }, ptr %a, i64 0, i32 %i\n ret void\n}",
    "struct index is not a constant within { i8 }",
  ],
  [
    "gep float index",
    "define void @f(ptr %a) {\n %x = getelementptr i8, ptr %a, float 0.0\n ret void\n}",
    "index of type float",
  ],
  [
    "gep vector lengths",
    "define void @f(<2 x ptr> %a) {\n %x = getelementptr i8, <2 x ptr> %a, <4 x i64> zeroinitializer\n ret void\n}",
    "vectors of different lengths",
  ],
  [
    "extractelement index",
    "define void @f(<2 x i8> %a) {\n %x = extractelement <2 x i8> %a, float 0.0\n ret void\n}",
    "index of type float",
  ],
  [
    "insertelement element",
    "define void @f(<2 x i8> %a) {\n %x = insertelement <2 x i8> %a, i16 0, i32 0\n ret void\n}",
    "element of type i16",
  ],
  [
    "shuffle operands",
    "define void @f(<2 x i8> %a, <3 x i8> %b) {\n %x = shufflevector <2 x i8> %a, <3 x i8> %b, <2 x i32> zeroinitializer\n ret void\n}",
    "operands are not vectors of one type",
  ],
  [
    "shuffle mask",
    "define void @f(<2 x i8> %a) {\n %x = shufflevector <2 x i8> %a, <2 x i8> %a, <2 x i32> <i32 0, i32 4>\n ret void\n}",
    "mask element 4 is out of range",
  ],
  ["va_arg", "define void @f(i64 %a) {\n %x = va_arg i64 %a, i32\n ret void\n}", "list of type i64"],
  [
    "argument types",
    "declare void @g(i32)\ndefine void @f() {\n call void (i32) @g(i64 1)\n ret void\n}",
    "@f: 'call ptr @g, i64 1': argument 0 has type i64 instead of i32",
  ],
  [
    "argument count",
    "declare void @g(i32)\ndefine void @f() {\n call void (i32) @g()\n ret void\n}",
    "0 arguments for 1 parameters",
  ],
  [
    "too few arguments",
    "declare void @g(i32, ...)\ndefine void @f() {\n call void (i32, ...) @g()\n ret void\n}",
    "0 arguments for 1 parameters",
  ],
  [
    "byval of a non-pointer",
    "declare void @g(i32)\ndefine void @f() {\n call void @g(i32 byval(i32) 1)\n ret void\n}",
    "parameter 0: 'byval' on i32",
  ],
  [
    "extension of a pointer",
    "define void @f(ptr %p) {\n call void %p(ptr zeroext %p)\n ret void\n}",
    "parameter 0: an extension attribute on ptr",
  ],
  [
    "immediate",
    "declare void @llvm.x(i32 immarg)\ndefine void @f(i32 %a) {\n call void @llvm.x(i32 %a)\n ret void\n}",
    "argument 0 must be a constant",
  ],
  [
    "musttail not returned",
    "declare void @g()\ndefine void @f() {\n musttail call void @g()\n unreachable\n}",
    "musttail call is not followed by a return of its value",
  ],
  [
    "musttail other value",
    "declare i32 @g()\ndefine i32 @f() {\n %x = musttail call i32 @g()\n ret i32 1\n}",
    "musttail call is not followed by a return of its value",
  ],
  [
    "musttail convention",
    "declare fastcc void @g()\ndefine void @f() {\n musttail call fastcc void @g()\n ret void\n}",
    "musttail call with another calling convention",
  ],
  [
    "musttail parameters",
    "declare void @g(i32)\ndefine void @f() {\n musttail call void @g(i32 1)\n ret void\n}",
    "musttail call with other parameter types",
  ],
  [
    "musttail variadic",
    "declare void @g(...)\ndefine void @f() {\n musttail call void (...) @g()\n ret void\n}",
    "musttail call differs from its caller in '...'",
  ],
  [
    "musttail passing",
    "declare void @g(ptr)\ndefine void @f(ptr byval(i32) %p) {\n musttail call void @g(ptr %p)\n ret void\n}",
    "musttail call passes argument 0 in another way than its caller ('byval')",
  ],
  [
    "entry predecessors",
    "define void @f() {\nx:\n br label %x\n}",
    "@f: block %0: the entry block has predecessors",
  ],
  [
    "phi predecessors",
    "define void @f() {\n br label %x\nx:\n %p = phi i32 [ 0, %x ]\n ret void\n}",
    "@f: '%2 = phi i32 0, label %1 → i32': incoming blocks are not the predecessors of its block",
  ],
  [
    "phi missing",
    "define void @f(i1 %c) {\n br i1 %c, label %x, label %y\ny:\n br label %x\nx:\n %p = phi i32 [ 0, %y ]\n ret void\n}",
    "incoming blocks are not the predecessors of its block",
  ],
  [
    "phi disagreeing",
    "define void @f(i1 %c) {\nentry:\n br i1 %c, label %x, label %x\nx:\n %p = phi i32 [ 0, %entry ], [ 1, %entry ]\n ret void\n}",
    "different values from one block, %1",
  ],
  [
    "phi position",
    "define void @f() {\nentry:\n br label %x\nx:\n %a = add i32 1, 1\n %p = phi i32 [ 0, %entry ]\n ret void\n}",
    "a phi after other instructions",
  ],
  [
    "use before definition",
    "define void @f() {\n %a = add i32 %b, 1\n %b = add i32 1, 1\n ret void\n}",
    "@f: '%1 = add i32 %2, i32 1 → i32': operand 0, %2, does not dominate its use",
  ],
  [
    "use in another branch",
    "define i32 @f(i1 %c) {\n br i1 %c, label %x, label %y\nx:\n %a = add i32 1, 1\n br label %y\ny:\n ret i32 %a\n}",
    "operand 0, %3, does not dominate its use",
  ],
  [
    "phi of a later value",
    "define void @f(i1 %c) {\nentry:\n br label %x\nx:\n %p = phi i32 [ %a, %entry ]\n %a = add i32 %p, 1\n ret void\n}",
    "operand 0, %4, does not dominate its use",
  ],
  [
    "value from dead code",
    "define i32 @f() {\n br label %y\nx:\n %a = add i32 1, 1\n br label %y\ny:\n ret i32 %a\n}",
    "does not dominate its use",
  ],
  [
    "invoke result after unwinding",
    "declare i32 @p(...)\ndefine i32 @f() personality ptr @p {\n %v = invoke i32 @p() to label %x unwind label %y\nx:\n ret i32 %v\ny:\n %l = landingpad i32 cleanup\n ret i32 %v\n}",
    "does not dominate its use",
  ],
  [
    "unwind target",
    "declare i32 @p(...)\ndefine void @f() personality ptr @p {\n invoke void @p() to label %x unwind label %y\nx:\n ret void\ny:\n ret void\n}",
    "it unwinds to a block without a landingpad",
  ],
  [
    "landingpad entered",
    "declare i32 @p(...)\ndefine void @f() personality ptr @p {\n br label %y\ny:\n %l = landingpad i32 cleanup\n ret void\n}",
    "a landingpad entered from %0",
  ],
  [
    "landingpad position",
    "declare i32 @p(...)\ndefine void @f() personality ptr @p {\n %a = add i32 1, 1\n %l = landingpad i32 cleanup\n ret void\n}",
    "a landingpad that is not the first instruction of its block",
  ],
  [
    "landingpad in entry",
    "declare i32 @p(...)\ndefine void @f() personality ptr @p {\n %l = landingpad i32 cleanup\n ret void\n}",
    "a landingpad in the entry block",
  ],
  [
    "landingpad without clauses",
    "declare i32 @p(...)\ndefine void @f() personality ptr @p {\n invoke void @p() to label %x unwind label %y\nx:\n ret void\ny:\n %l = landingpad i32\n ret void\n}",
    "neither a cleanup nor a clause",
  ],
  [
    "landingpad personality",
    "declare void @p()\ndefine void @f() {\n invoke void @p() to label %x unwind label %y\nx:\n ret void\ny:\n %l = landingpad i32 cleanup\n ret void\n}",
    "landingpad in a function without a personality",
  ],
  [
    "catch type",
    "declare void @p()\ndefine void @f() personality ptr @p {\n invoke void @p() to label %x unwind label %y\nx:\n ret void\ny:\n %l = landingpad i32 catch i32 1\n ret void\n}",
    "catch of type i32",
  ],
  [
    "landingpad types",
    "declare void @p()\ndefine void @f() personality ptr @p {\n invoke void @p() to label %x unwind label %y\nx:\n ret void\ny:\n %l = landingpad i32 cleanup\n resume i64 1\n}",
    "landing pads and resumes of one function differ in type",
  ],
  ["resume", "define void @f() {\n resume i32 1\n}", "resume in a function without a personality"],
  ["indirectbr", "define void @f(i64 %a) {\n indirectbr i64 %a, []\n}", "address of type i64"],
  [
    "blockaddress of entry",
    "define ptr @f() {\nentry:\n ret ptr blockaddress(@f, %entry)\n}",
    "blockaddress of block 0, which cannot be jumped to",
  ],
  [
    "constant expression",
    "@g = global i32 0\ndefine i64 @f() {\n ret i64 add (i64 1, i64 trunc (i64 ptrtoint (ptr @g to i64) to i64))\n}",
    "constant expression: cannot convert i64 to i64",
  ],
  [
    "intrinsic as a value",
    "declare i8 @llvm.umax.i8(i8, i8)\ndefine ptr @f() {\n ret ptr @llvm.umax.i8\n}",
    "@llvm.umax.i8 is used other than by a call",
  ],
  [
    "intrinsic called with other types",
    "declare i8 @llvm.umax.i8(i8, i8)\ndefine void @f() {\n %x = call i8 (i8) @llvm.umax.i8(i8 1)\n ret void\n}",
    "i8 (i8) is not a type of @llvm.umax.i8",
  ],
  ...[
    ['i32 asm "x", "=r,r"()', "assembly with 1 inputs and 0 parameters"],
    ['i32 asm "x", "r"(i32 1)', "assembly with 0 outputs that returns 1 values"],
    ['void asm "x", "=r"()', "assembly with 1 outputs that returns 0 values"],
    ['i32 asm "x", "=r,=r"()', "assembly with 2 outputs that returns 1 values"],
    ['void asm "x", "=*m"()', "assembly with 1 inputs and 0 parameters"],
    ['i32 asm "x", "=r,1"(i32 1)', "assembly constraint '1' names no output"],
    ['i32 asm "x", "=&"()', "assembly constraint '=&'"],
    ['void asm "x", "!i"()', "assembly with 1 labels and 0 targets"],
  ].map(
    ([call, message]) =>
      [`${call}`, `define void @f() {\n call ${call}\n ret void\n}`, message!] as [string, string, string],
  ),
];

const globals: readonly (readonly [rule: string, text: string, message: string])[] = [
  [
    "declaration linkage",
    "@x = external global i32\ndeclare internal void @f()",
    "@f: a declaration cannot have linkage internal",
  ],
  [
    "definition extern_weak",
    "define extern_weak void @f() {\n ret void\n}",
    "@f: a definition cannot have linkage extern_weak",
  ],
  ["common constant", "@x = common constant i32 0", "@x: a constant cannot have linkage common"],
  ["common value", "@x = common global i32 1", "@x: a variable of linkage common is not zero"],
  ["common function", "define common void @f() {\n ret void\n}", "@f: a function cannot have linkage common"],
  [
    "common in comdat",
    "$c = comdat any\n@x = common global i32 0, comdat($c)",
    "@x: a variable of linkage common cannot be in a comdat",
  ],
  ["appending scalar", "@x = appending global i32 1", "@x: only arrays can have linkage appending"],
  [
    "alias linkage",
    "@x = global i32 0\n@a = common alias i32, ptr @x",
    "@a: an alias cannot have linkage common",
  ],
  [
    "alias of a declaration",
    "@x = external global i32\n@a = alias i32, ptr @x",
    "@a: an alias of a declaration",
  ],
  ["alias of itself", "@a = alias i32, ptr @b\n@b = alias i32, ptr @a", "@a: an alias of itself"],
  ["alias of null", "@a = alias i32, ptr null", "@a: an alias of something that is not a global"],
  [
    "ifunc of a variable",
    "@x = global i32 0\n@a = ifunc void (), ptr @x",
    "@a: its resolver is not a function",
  ],
  [
    "local visibility",
    "@x = internal hidden global i32 0",
    "@x: a local symbol that is not of default visibility",
  ],
  ["declaration in comdat", "$f = comdat any\ndeclare void @f() comdat", "@f: a declaration in a comdat"],
  ["declared personality", "declare void @f() personality ptr null", "@f: a declaration with a personality"],
  [
    "thread-local function",
    "define thread_local void @f() {\n ret void\n}",
    "@f: a function cannot be thread-local",
  ],
  ["metadata parameter", "define void @f(metadata %m) {\n ret void\n}", "@f: a parameter has type metadata"],
  ["token result", "declare token @f()", "@f: it returns a token"],
  ["parameter attribute", "declare void @f(i32 sret(i32))", "@f: parameter 0: 'sret' on i32"],
  [
    "llvm.used",
    "@llvm.used = global [1 x ptr] [ptr @llvm.used]",
    "@llvm.used: not an appending array of pointers",
  ],
  [
    "llvm.global_ctors",
    "@llvm.global_ctors = appending global [1 x ptr] [ptr null]",
    "@llvm.global_ctors: not an appending array of { i32, ptr, ptr }",
  ],
  [
    "initializer",
    "@x = global i64 add (i64 1, i64 ptrtoint (ptr getelementptr (i8, ptr @x, i64 0, i64 1) to i64))",
    "@x: constant expression: index into i8",
  ],
  ["intrinsic body", "define void @llvm.trap() {\n unreachable\n}", "@llvm.trap: an intrinsic with a body"],
];

/** Calls of intrinsics with types they do not take. */
const intrinsics: readonly string[] = [
  "i8 @llvm.umax.i8(i8)",
  "i8 @llvm.umax.i8(i8, i16)",
  "float @llvm.umax.f32(float, float)",
  "float @llvm.umax.f32(float, float, ...)",
  "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64)",
  "void @llvm.memcpy.p0.p0.i64(ptr, i64, i64, i1)",
  "i32 @llvm.sadd.with.overflow.i32(i32, i32)",
  "{ i32, i1 } @llvm.sadd.with.overflow.v2i32(<2 x i32>, <2 x i32>)",
  "i32 @llvm.vector.reduce.add.v4i64(<4 x i64>)",
  "i32 @llvm.lrint.i32(i32)",
  "<2 x i1> @llvm.is.fpclass.f32(float, i32)",
];

describe("invalid text", () => {
  it.each(bodies)("%s", (_, text, message) => {
    const module = parseModule(text, "x.ll");
    const messages = verifyFunction(functionOf(module));
    expect(messages.join("\n")).toContain(message);
    expect(verifyModule(module)).toEqual(messages);
  });
  it.each(globals)("%s", (_, text, message) => {
    expect(verifyModule(parseModule(text, "x.ll"))[0]).toBe(message);
  });
  it.each(intrinsics)("call %s", (declaration) => {
    const [, result, name, parameters] = /^(.*) (@[^(]*)\((.*)\)$/.exec(declaration)!;
    const types = parameters!.split(/, (?=[^.])/);
    const call = `call ${result} (${parameters}) ${name}(${types.map((type) => `${type.replace(", ...", "")} poison`).join(", ")})`;
    const text = `declare ${declaration}\ndefine void @f() {\n ${call}\n ret void\n}`;
    expect(verifyModule(parseModule(text, "x.ll"))).toEqual([
      expect.stringContaining(`${result} (${parameters}) is not a type of ${name}`),
    ]);
    expect(verifyModule(parseModule(`declare ${declaration}`, "x.ll")), "nothing calls it").toEqual([]);
  });
});
