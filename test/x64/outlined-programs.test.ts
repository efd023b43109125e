/** Programs with outlined code: that they run, that unwinding passes through it, and that options and threads agree. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const input = join(folder, "in.ll");
const output = join(folder, "out.s");

/** Stores that nothing else has, with a call in their middle that looks at the stack. */
const repeated = (n: number): string => `
  store volatile i32 ${n}, ptr @own
  store volatile i32 11111, ptr @a
  store volatile i32 22222, ptr @b
  call void @look()
  store volatile i32 33333, ptr @a
  store volatile i32 44444, ptr @b
  store volatile i32 ${n + 50}, ptr @own`;
const user = (n: number, attributes: string): string => `
define void @user${n}(ptr %to) noinline ${attributes} {${repeated(n)}
  %frames = load i32, ptr @frames
  store i32 %frames, ptr %to
  ret void
}`;
/** Frames that each user's call sees; the difference between them is 0 if all look alike. */
const program = (attributes = "minsize optsize uwtable"): string => `
target triple = "x86_64-unknown-linux-gnu"
@own = global i32 0
@a = global i32 0
@b = global i32 0
@frames = global i32 0
@buffer = global [64 x ptr] zeroinitializer
@format = private constant [6 x i8] c"%d %d\\00"
declare i32 @backtrace(ptr, i32)
declare i32 @printf(ptr, ...)
define void @look() noinline ${attributes} {
  %count = call i32 @backtrace(ptr @buffer, i32 64)
  store i32 %count, ptr @frames
  ret void
}
${[1, 2, 3, 4, 5, 6].map((n) => user(n, attributes)).join("")}
define i32 @main() ${attributes} {
  %here = call i32 @backtrace(ptr @buffer, i32 64)
  %x = alloca i32
  ${[1, 2, 3, 4, 5, 6].map((n) => `call void @user${n}(ptr %x)`).join("\n  ")}
  %there = load i32, ptr %x
  %deep = sub i32 %there, %here
  %values = load volatile i32, ptr @b
  call i32 (ptr, ...) @printf(ptr @format, i32 %deep, i32 %values)
  ret i32 0
}`;

async function assembly(text: string, ...options: string[]): Promise<string> {
  writeFileSync(input, text);
  // Passes would make one function of those that are alike.
  const args = ["--only-passes=dce", ...options, input, "-o", output];
  const { code, err } = await tscLto(args, { cwd: folder });
  expect(err).toBe("");
  expect(code).toBe(0);
  return readFileSync(output, "utf8");
}
function run(): string {
  execFileSync("cc", ["-no-pie", output, "-o", "program"], { cwd: folder });
  return execFileSync(join(folder, "program"), { cwd: folder, encoding: "utf8" });
}
const calls = (text: string): number => text.match(/\t(call|jmp)\toutlined\./g)?.length ?? 0;

describe("a program", () => {
  it("prints the same, and one frame more is on the stack", async () => {
    expect(calls(await assembly(program(), "--no-outline"))).toBe(0);
    expect(run()).toBe("2 44444");
    for (const options of [[], ["--no-ipra"], ["--no-shared-unwind"], ["--relocation-model=pie"]]) {
      const text = await assembly(program(), "--check-ipra", ...options);
      expect(calls(text), options.join()).toBeGreaterThanOrEqual(6);
      expect(run(), options.join()).toBe("3 44444");
    }
  });
  it("has the frames it had where only last calls move", async () => {
    expect(calls(await assembly(program(), "--check-ipra", "--outline-forms=thunk"))).toBeGreaterThanOrEqual(
      6,
    );
    expect(run()).toBe("2 44444");
  });
  it("without unwind tables is outlined, too", async () => {
    expect(calls(await assembly(program("minsize optsize")))).toBeGreaterThanOrEqual(6);
  });
  it("for speed is not", async () => {
    expect(calls(await assembly(program("uwtable")))).toBe(0);
    expect(calls(await assembly(program("uwtable"), "-Oz"))).toBeGreaterThanOrEqual(6);
  });
});

describe("options", () => {
  it("--outline-rounds=0 and --no-outline are the same", async () =>
    expect(await assembly(program(), "--outline-rounds=0")).toBe(await assembly(program(), "--no-outline")));
  it("--outline-forms takes names of forms only", async () => {
    const { code, err } = await tscLto(["--outline-forms=call,leap", input], { cwd: folder });
    expect(code).toBe(2);
    expect(err).toContain("expected some of call, thunk, jump");
  });
});

describe("reports", () => {
  const remarks = async (...options: string[]): Promise<string> => {
    const file = join(folder, "remarks.yaml");
    await assembly(program(), `--opt-remarks-filename=${file}`, "--opt-remarks-passes=^outline$", ...options);
    return readFileSync(file, "utf8");
  };
  const sum = (text: string): number =>
    [...text.matchAll(/- OutliningBenefit: (\d+)/g)].reduce((n, [, bytes]) => n + Number(bytes), 0);

  it("remarks name each outlined function, whatever the number of threads", async () => {
    const text = await remarks();
    const made = new Set(readFileSync(output, "utf8").match(/^outlined\.\w+(?=:)/gm));
    expect(made.size).toBeGreaterThan(0);
    const told = text.match(/^--- !Passed\nPass: +outline\nName: +OutlinedFunction\nFunction: +\S+/gm)!;
    expect(new Set(told.map((record) => record.split(/\s+/).at(-1)))).toEqual(made);
    expect(text).toMatch(/ {2}- Form: {12}(call|thunk|jump)\n/);
    expect(await remarks("-j2", "--parallel-threshold=1")).toBe(text);
  });
  it("--stats tells the sums, and each outlined function has its size in the symbol table", async () => {
    const text = await remarks();
    const { err } = await tscLto(["--only-passes=dce", "--stats", input, "-o", output], { cwd: folder });
    const count = (label: string): number => Number(new RegExp(`(\\d+)  ${label}`).exec(err)![1]);
    expect(count("functions made of repeated machine code")).toBe(text.match(/!Passed/g)!.length);
    expect(count("places that call them or jump to them")).toBe(calls(readFileSync(output, "utf8")));
    expect(count("bytes that saves, with unwind tables")).toBe(sum(text));
    execFileSync("as", [output, "-o", "sized.o"], { cwd: folder });
    const symbols = execFileSync("nm", ["-S", "sized.o"], { cwd: folder, encoding: "utf8" });
    for (const [, name] of text.matchAll(/^Function: +(outlined\.\w+)$/gm)) {
      const size = new RegExp(`^[0-9a-f]+ ([0-9a-f]+) t ${name}$`, "m").exec(symbols);
      expect(Number.parseInt(size![1]!, 16), name).toBeGreaterThan(0);
    }
  });
});

describe("code that runs often", () => {
  const loop = (n: number): string => `
define void @loop${n}(i32 %n) noinline optsize uwtable {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  store volatile i32 11111, ptr @a
  store volatile i32 22222, ptr @b
  store volatile i32 33333, ptr @a
  store volatile i32 44444, ptr @b
  store volatile i32 ${n}, ptr @a
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %again, label %done
done:
  ret void
}`;
  const loops = `@a = global i32 0
@b = global i32 0
${[1, 2, 3, 4].map(loop).join("")}
define i32 @main(i32 %n) optsize uwtable {
  ${[1, 2, 3, 4].map((n) => `call void @loop${n}(i32 %n)`).join("\n  ")}
  ret i32 0
}`;
  it("is shared at -Os where it is cold, or only leads to calls that never return", async () => {
    const end = (n: number): string => `define void @end${n}(i32 %n) optsize uwtable noinline {
  %c = icmp eq i32 %n, ${n}
  br i1 %c, label %fail, label %go
fail:
  store volatile i32 1111, ptr @a
  store volatile i32 2222, ptr @b
  store volatile i32 3333, ptr @a
  call void @abort() noreturn
  unreachable
go:
  store volatile i32 ${n}, ptr @a
  ret void
}
`;
    const cold = (n: number): string => `define void @cold${n}() optsize uwtable noinline cold {
  store volatile i32 ${n}, ptr @a
  store volatile i32 4444, ptr @a
  store volatile i32 5555, ptr @b
  store volatile i32 6666, ptr @a
  store volatile i32 ${n}, ptr @b
  ret void
}
`;
    const text = (one: (n: number) => string): string =>
      `target triple = "x86_64-unknown-linux-gnu"\n@a = global i32 0\n@b = global i32 0\ndeclare void @abort()\n${[1, 2, 3, 4].map(one).join("")}`;
    expect(calls(await assembly(text(end), "-r"))).toBe(4);
    expect(calls(await assembly(text(cold), "-r"))).toBe(4);
    expect(
      calls(
        await assembly(
          text((n) => cold(n).replace(" cold {", " {")),
          "-r",
        ),
      ),
    ).toBe(0);
  });
  it("is left alone at -Os, not at -Oz", async () => {
    const text = `target triple = "x86_64-unknown-linux-gnu"\n${loops}`;
    expect(calls(await assembly(text))).toBe(0);
    expect(calls(await assembly(text, "-Oz"))).toBe(4);
  });
});

describe("jump tables", () => {
  let unique = 100_000;
  /** So many stores that nothing else has, of which some take a byte more than the others. */
  const pad = (count: number, longer: number): string =>
    Array.from(
      { length: count },
      (_, i) => `  store volatile i${i < longer ? 64 : 32} ${unique++}, ptr @own\n`,
    ).join("");
  /** What all cases have in common, which becomes a call. */
  const common = [1111, 2222, 3333].map((n) => `  store volatile i32 ${n}, ptr @a\n`).join("");
  const cases = [0, 1, 2, 3, 4, 5];
  const dispatch = (n: number, first: string): string => `
define i32 @dispatch${n}(i32 %x) noinline minsize optsize {
  switch i32 %x, label %other [ ${cases.map((i) => `i32 ${i}, label %l${i}`).join(" ")} ]
${cases
  .map(
    (i) => `l${i}:
${i === 0 ? first : ""}${common}  store volatile i32 ${1000 * n + i}, ptr @own
  br label %end`,
  )
  .join("\n")}
other:
  ret i32 -1
end:
  %value = load volatile i32, ptr @own
  ret i32 %value
}`;
  const whole = (firsts: readonly string[]): string => `target triple = "x86_64-unknown-linux-gnu"
@own = global i32 0
@a = global i32 0
@format = private constant [4 x i8] c"%d\\0A\\00"
declare i32 @printf(ptr, ...)
${firsts.map((first, n) => dispatch(n, first)).join("\n")}
define i32 @main() minsize optsize {
${firsts
  .flatMap((_, n) =>
    [...cases, 6].map(
      (i) => `  %v${n}.${i} = call i32 @dispatch${n}(i32 ${i})
  call i32 (ptr, ...) @printf(ptr @format, i32 %v${n}.${i})`,
    ),
  )
  .join("\n")}
  ret i32 0
}`;
  /** The farthest entry of each table of a width, as assembled. */
  const farthest = (text: string, width: "byte" | "short"): number[] => {
    const bytes = width === "byte" ? 1 : 2;
    execFileSync("as", [output, "-o", "tables.o"], { cwd: folder });
    execFileSync("objcopy", ["-O", "binary", "--only-section=.rodata", "tables.o", "tables.bin"], {
      cwd: folder,
    });
    const data = readFileSync(join(folder, "tables.bin"));
    const symbols = execFileSync("as", ["--keep-locals", output, "-o", "kept.o"], { cwd: folder });
    expect(symbols).toHaveLength(0);
    const table = execFileSync("nm", ["kept.o"], { cwd: folder, encoding: "utf8" });
    return [...text.matchAll(new RegExp(`^(\\.LJTI\\w+):\\n\\t\\.${width}\\t`, "gm"))].map(([, name]) => {
      const start = Number.parseInt(
        new RegExp(`^([0-9a-f]+) r ${name!.replaceAll(".", "\\.")}$`, "m").exec(table)![1]!,
        16,
      );
      return Math.max(...cases.map((i) => data.readUIntLE(start + i * bytes, bytes)));
    });
  };
  const check = async (firsts: readonly string[], ...options: string[]): Promise<string> => {
    const text = await assembly(whole(firsts), "--check-ipra", ...options);
    expect(calls(text)).toBeGreaterThan(0);
    const expected = firsts.flatMap((_, n) => [...cases.map((i) => 1000 * n + i), -1]);
    expect(run().trim().split("\n").map(Number)).toEqual(expected);
    return text;
  };

  it("of one byte hold distances to the last that they can, over outlined code", async () => {
    // Code before the last case is shorter where it loads addresses another way.
    for (const [least, ...options] of [[13], [20, "--relocation-model=pie"]] as const) {
      const text = await check(
        [0, 1, 2, 3].map((more) => pad(28, least + more)),
        // Which moves a block to the end of its function.
        "--no-function-layout",
        ...options,
      );
      expect(farthest(text, "byte").sort()).toEqual([254, 255]);
      expect(farthest(text, "short").sort()).toEqual([256, 257]);
    }
  });
});
