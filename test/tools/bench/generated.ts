/**
 * Programs of any size for the growth of a link's cost: LLVM assembly, since what a generator leaves to a C compiler
 * would be as large as that compiler likes.
 *
 * Functions walk arrays of structures, branch on what they find, and call functions before them, as ordinary code
 * does; each differs from the others, so that folding finds nothing. A function has about sixty instructions, a file
 * about a hundred functions: every size has the same shape, and twice the size is twice the work.
 */
import { Random } from "./random.js";

/** Instructions of a function and functions of a file, about. */
const perFile = 60 * 100;

export interface GeneratedFile {
  readonly name: string;
  readonly text: string;
}

/** @param instructions of the whole program, about @param files at least so many */
export function* generateProgram(instructions: number, files: number, seed = 1): Generator<GeneratedFile> {
  const count = Math.max(files, Math.round(instructions / perFile));
  const perOne = Math.max(1, Math.round(instructions / count / 60));
  for (let file = 0; file < count; file++) yield oneFile(file, count, perOne, seed);
}

function oneFile(file: number, files: number, functions: number, seed: number): GeneratedFile {
  const random = new Random(seed * 7919 + file);
  const out: string[] = [
    'target triple = "x86_64-unknown-linux-gnu"',
    'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"',
    "declare i32 @puts(ptr)",
    `@text${file} = private unnamed_addr constant [12 x i8] c"file ${String(file).padStart(6, "0")}\\00"`,
    `@count${file} = internal global i32 0`,
  ];
  const declared = new Set<string>();
  for (let fn = 0; fn < functions; fn++) {
    const callees: string[] = [];
    for (let k = 0; k < 2; k++) {
      // Mostly of the same file, now and then of one before it.
      const isNear = fn > 0 && (file === 0 || random.below(4) > 0);
      if (!isNear && file === 0) continue;
      const name = isNear
        ? `f${file}_${random.below(fn)}`
        : `f${random.below(file)}_${random.below(functions)}`;
      if (!isNear) declared.add(name);
      callees.push(name);
    }
    out.push(oneFunction(`f${file}_${fn}`, file, callees, random));
  }
  for (const name of declared) out.push(`declare i32 @${name}(ptr, i32)`);
  if (file === files - 1) {
    const results: string[] = [];
    for (let f = 0; f < files; f++) {
      const name = `f${f}_${functions - 1}`;
      if (f !== file && !declared.has(name)) out.push(`declare i32 @${name}(ptr, i32)`);
      results.push(`  %r${f} = call i32 @${name}(ptr %v, i32 %n)`);
    }
    out.push("define i32 @main(i32 %n, ptr %v) #0 {", ...results, "  ret i32 %r0", "}");
  }
  out.push("attributes #0 = { minsize nounwind optsize }");
  return { name: `g${file}.ll`, text: `${out.join("\n")}\n` };
}

/** Sixty instructions: a loop over an array of structures with two fields, in it a branch, after it calls. */
function oneFunction(name: string, file: number, callees: readonly string[], random: Random): string {
  const lines: string[] = [];
  let values = ["%n", "%a"];
  let next = 0;
  const ops = ["add", "sub", "mul", "xor", "and", "or"];
  const compute = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const [x, y] = [values[random.below(values.length)]!, values[random.below(values.length)]!];
      const shift = random.below(3) === 0;
      const result = `%v${next++}`;
      lines.push(
        shift
          ? `  ${result} = lshr i32 ${x}, ${1 + random.below(30)}`
          : `  ${result} = ${ops[random.below(ops.length)]!} i32 ${x}, ${random.below(2) === 0 ? y : random.below(1 << 20)}`,
      );
      values = [...values.slice(-5), result];
    }
  };
  const before = random.below(1 << 16);
  lines.push(
    `define i32 @${name}(ptr %p, i32 %n) #0 {`,
    "entry:",
    `  %a = load i32, ptr %p`,
    `  %enough = icmp sgt i32 %n, ${before}`,
    "  br i1 %enough, label %out, label %loop",
    "loop:",
    "  %i = phi i32 [ 0, %entry ], [ %inext, %latch ]",
    "  %sum = phi i32 [ %a, %entry ], [ %sumnext, %latch ]",
    "  %wide = zext i32 %i to i64",
    "  %at = getelementptr { i32, i32 }, ptr %p, i64 %wide",
    "  %first = load i32, ptr %at",
    "  %two = getelementptr { i32, i32 }, ptr %at, i64 0, i32 1",
    "  %second = load i32, ptr %two",
  );
  values = ["%first", "%second", "%sum", "%i"];
  compute(10);
  const inLoop = values;
  lines.push(
    `  %less = icmp ult i32 ${values.at(-1)!}, ${random.below(1 << 24)}`,
    "  br i1 %less, label %then, label %latch",
    "then:",
  );
  compute(8);
  lines.push(
    `  store i32 ${values.at(-1)!}, ptr %two`,
    "  br label %latch",
    "latch:",
    `  %sumnext = phi i32 [ ${inLoop.at(-1)!}, %loop ], [ ${values.at(-1)!}, %then ]`,
    "  %inext = add i32 %i, 1",
    "  %done = icmp eq i32 %inext, %n",
    "  br i1 %done, label %end, label %loop",
    "end:",
    `  %old = load i32, ptr @count${file}`,
  );
  values = ["%sumnext", "%old", "%n"];
  compute(8);
  for (const [k, callee] of callees.entries()) {
    lines.push(`  %c${k} = call i32 @${callee}(ptr %p, i32 ${values.at(-1)!})`);
    values.push(`%c${k}`);
    compute(5);
  }
  lines.push(
    `  store i32 ${values.at(-1)!}, ptr @count${file}`,
    `  %said = call i32 @puts(ptr @text${file})`,
    "  br label %out",
    "out:",
    `  %result = phi i32 [ %n, %entry ], [ ${values.at(-1)!}, %end ]`,
    "  ret i32 %result",
    "}",
  );
  return lines.join("\n");
}
