/** Small variables by way of a base register: which ones, where, with which register, and that programs stay the same. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { chooseCluster, mayCluster } from "../../lto/codegen/late/global-cluster.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import type { GlobalVariable } from "../../lto/ir/module.js";
import { x64Costs } from "../../lto/x64/costs.js";
import { tscLto } from "../support/command.js";

const dir = mkdtempSync(join(tmpdir(), "base-register-"));
afterAll(() => rmSync(dir, { recursive: true }));

const anchor = ".Lglobals.base";

async function compile(text: string, ...options: string[]): Promise<string> {
  const source = join(dir, "m.ll");
  const out = join(dir, "m.s");
  writeFileSync(source, `target triple = "x86_64-unknown-linux-gnu"\n${text}`);
  const args = [source, "-o", out, "--check-ipra", "--check-regalloc", "--no-outline", ...options];
  const { code, err } = await tscLto(args, { cwd: dir });
  expect(code, err).toBe(0);
  return readFileSync(out, "utf8");
}

/** What the program prints. */
function run(text: string, ...flags: string[]): string {
  writeFileSync(join(dir, "p.s"), text);
  execFileSync("cc", [...flags, "-o", join(dir, "p"), join(dir, "p.s")]);
  return execFileSync(join(dir, "p"), { encoding: "utf8" });
}

/** Counters that calls, a loop and both ways of a branch mention. */
const counters = `
@a = internal global i32 0
@b = internal global i32 5
@c = internal global [4 x i32] zeroinitializer
@d = internal global i64 0
@format = private constant [17 x i8] c"%d %d %d %d %ld\\0A\\00"
declare i32 @printf(ptr, ...)
define void @count(i32 %n) minsize optsize noinline {
  %a0 = load volatile i32, ptr @a
  %a1 = add i32 %a0, %n
  store volatile i32 %a1, ptr @a
  %odd = and i32 %n, 1
  %is = icmp ne i32 %odd, 0
  br i1 %is, label %yes, label %no
yes:
  %b0 = load volatile i32, ptr @b
  %b1 = mul i32 %b0, %n
  store volatile i32 %b1, ptr @b
  br label %end
no:
  %i = zext i32 %n to i64
  %j = and i64 %i, 3
  %p = getelementptr [4 x i32], ptr @c, i64 0, i64 %j
  %c0 = load volatile i32, ptr %p
  %c1 = add i32 %c0, 7
  store volatile i32 %c1, ptr %p
  br label %end
end:
  %d0 = load volatile i64, ptr @d
  %d1 = add i64 %d0, 3
  store volatile i64 %d1, ptr @d
  store volatile i32 1, ptr getelementptr ([4 x i32], ptr @c, i64 0, i64 3)
  ret void
}
define i32 @main() minsize optsize {
  br label %loop
loop:
  %n = phi i32 [ 0, %0 ], [ %m, %loop ]
  call void @count(i32 %n)
  %m = add i32 %n, 1
  %more = icmp slt i32 %m, 9
  br i1 %more, label %loop, label %done
done:
  %a = load volatile i32, ptr @a
  %b = load volatile i32, ptr @b
  %c = load volatile i32, ptr @c
  %e = load volatile i32, ptr getelementptr ([4 x i32], ptr @c, i64 0, i64 2)
  %d = load volatile i64, ptr @d
  %r = call i32 (ptr, ...) @printf(ptr @format, i32 %a, i32 %b, i32 %c, i32 %e, i64 %d)
  ret i32 0
}
`;
const body = (text: string, name: string): string => {
  const start = text.indexOf(`\n${name}:\n`);
  return text.slice(start, text.indexOf("\t.size", start));
};

describe("a base register", () => {
  for (const model of ["static", "pie"]) {
    const pie = model === "pie" ? "-pie" : "-no-pie";
    test(`serves a function's mentions, in ${model} code`, async () => {
      const [with_, without] = [
        await compile(counters, `--relocation-model=${model}`),
        await compile(counters, `--relocation-model=${model}`, "--no-base-register"),
      ];
      expect(body(with_, "count")).toContain(anchor);
      const named = (text: string): number => body(text, "count").match(/\b[abcd][+(]/g)?.length ?? 0;
      expect(named(with_)).toBeLessThan(named(without));
      expect(without).not.toContain(anchor);
      expect(run(with_, pie)).toBe(run(without, pie));
    });
  }
  test("is not for speed, nor where each variable has a section of its own", async () => {
    expect(await compile(counters, "-O2")).not.toContain(anchor);
    expect(await compile(counters, "--data-sections")).not.toContain(anchor);
  });
  test("is set again after a call that changes it, and kept after one that does not", async () => {
    const around = (callee: string): string => `
@a = internal global i32 0
@b = internal global i32 0
declare void @unknown()
define internal void @quiet() noinline minsize optsize {
  store volatile i8 0, ptr inttoptr (i64 4096 to ptr)
  ret void
}
define void @f() minsize optsize {
  call void @unknown()
  store volatile i32 1, ptr @a
  store volatile i32 1, ptr @b
  store volatile i32 2, ptr @a
  call void @${callee}()
  store volatile i32 3, ptr @a
  store volatile i32 3, ptr @b
  store volatile i32 4, ptr @a
  ret void
}
define i32 @main() minsize optsize {
  call void @f()
  call void @quiet()
  ret i32 0
}`;
    const sets = async (callee: string): Promise<number> =>
      body(await compile(around(callee), "-r"), "f").split(anchor).length - 1;
    expect(await sets("unknown")).toBe(2);
    expect(await sets("quiet")).toBe(1);
  });
});

/** Fields in two places of a large structure, around calls and in a loop, and a frame of more than 128 bytes. */
const far = `
@state = internal global [1024 x i64] zeroinitializer
@format = private constant [16 x i8] c"%ld %ld %ld %d\\0A\\00"
@used = internal global i64 0
declare i32 @getpid()
declare i32 @printf(ptr, ...)
define internal void @quiet() noinline minsize optsize {
  %u = load volatile i64, ptr @used
  %v = add i64 %u, 1
  store volatile i64 %v, ptr @used
  ret void
}
define void @fields(ptr %s, i64 %n) minsize optsize noinline {
entry:
  %a = getelementptr i8, ptr %s, i64 40
  %b = getelementptr i8, ptr %s, i64 48
  %c = getelementptr i8, ptr %s, i64 4000
  %d = getelementptr i8, ptr %s, i64 4008
  %e = getelementptr i8, ptr %s, i64 4096
  store volatile i64 %n, ptr %a
  store volatile i64 %n, ptr %b
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %x = load volatile i64, ptr %c
  %y = add i64 %x, %i
  store volatile i64 %y, ptr %c
  store volatile i64 %y, ptr %d
  call void @quiet()
  %z = load volatile i64, ptr %d
  %w = add i64 %z, %n
  store volatile i64 %w, ptr %e
  store volatile i64 %w, ptr %a
  store volatile i64 %i, ptr %b
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  store volatile i64 7, ptr %c
  store volatile i64 8, ptr %d
  %id = call i32 @getpid()
  store volatile i64 9, ptr %c
  ret void
}
define i32 @frame(i32 %n) minsize optsize noinline {
  %m = alloca [40 x i64]
  %a = getelementptr i8, ptr %m, i64 200
  %b = getelementptr i8, ptr %m, i64 208
  %c = getelementptr i8, ptr %m, i64 216
  %d = getelementptr i8, ptr %m, i64 224
  store volatile i32 %n, ptr %m
  store volatile i32 %n, ptr %a
  store volatile i32 1, ptr %b
  store volatile i32 2, ptr %c
  call void @quiet()
  store volatile i32 3, ptr %d
  store volatile i32 4, ptr %b
  %x = load volatile i32, ptr %a
  %y = load volatile i32, ptr %b
  %z = load volatile i32, ptr %c
  %id = call i32 @getpid()
  %s = add i32 %x, %y
  %t = add i32 %s, %z
  ret i32 %t
}
define i32 @main() minsize optsize {
  call void @fields(ptr getelementptr (i8, ptr @state, i64 8), i64 3)
  call void @fields(ptr @state, i64 5)
  %f = call i32 @frame(i32 30)
  %a = load volatile i64, ptr getelementptr (i8, ptr @state, i64 40)
  %c = load volatile i64, ptr getelementptr (i8, ptr @state, i64 4000)
  %e = load volatile i64, ptr getelementptr (i8, ptr @state, i64 4096)
  %r = call i32 (ptr, ...) @printf(ptr @format, i64 %a, i64 %c, i64 %e, i32 %f)
  ret i32 0
}
`;

describe("fields far from a pointer", () => {
  /** Distances from registers beyond a byte. */
  const farPlaces = (text: string): number =>
    [...text.matchAll(/(-?\d+)\(%r/g)].filter(([, n]) => Number(n) < -128 || Number(n) > 127).length;

  for (const options of [[], ["--no-ipra"], ["--regalloc=greedy"]] as string[][])
    test(`are reached from a free register ${options.join(" ")}`, async () => {
      // The pass on the IR takes one middle of two.
      for (const skipped of [[], ["--skip-pass=bias-pointers"]]) {
        const near = await compile(far, ...options, ...skipped);
        const plain = await compile(far, ...options, ...skipped, "--no-base-register");
        // Around calls that change every register none is free for long.
        for (const name of options.includes("--no-ipra") ? ["frame"] : ["fields", "frame"])
          expect(farPlaces(body(near, name)), name).toBeLessThan(farPlaces(body(plain, name)));
        expect(body(near, "frame")).toMatch(/leaq\s+\d+\(%rsp\), %r/);
        expect(run(near, "-no-pie")).toBe("15 9 15 36\n");
        expect(run(plain, "-no-pie")).toBe("15 9 15 36\n");
      }
    });
});

test("a middle that 32 bits do not hold is none", async () => {
  const at = [0x7fffffc0, 0x7fffffc8, 0x7fffffd0, 0x7fffffd8, 0x7fffffe0];
  const text = await compile(
    `declare void @use()
define void @f(ptr %s) minsize optsize {
  call void @use()
${at.map((n, i) => `  %p${i} = getelementptr i8, ptr %s, i64 ${n}\n  store volatile i32 1, ptr %p${i}`).join("\n")}
  ret void
}`,
    "-r",
  );
  for (const n of at) expect(body(text, "f")).toContain(`movl\t$1, ${n}(%r`);
});

describe("fields of one variable", () => {
  const fields = (kind: string): string => `
@state = internal ${kind} [1024 x i32] zeroinitializer
@format = private constant [7 x i8] c"%d %d\\0A\\00"
declare i32 @printf(ptr, ...)
define i32 @sum() minsize optsize noinline {
  %a = load volatile i32, ptr getelementptr (i8, ptr @state, i64 2000)
  %b = load volatile i32, ptr getelementptr (i8, ptr @state, i64 2004)
  %c = load volatile i32, ptr getelementptr (i8, ptr @state, i64 2000)
  %d = load volatile i32, ptr getelementptr (i8, ptr @state, i64 2200)
  %x = add i32 %a, %b
  %y = add i32 %c, %d
  %z = mul i32 %x, %y
  ret i32 %z
}
define i32 @main() minsize optsize {
  ${kind === "global" ? "store volatile i32 3, ptr getelementptr (i8, ptr @state, i64 2000)" : ""}
  %s = call i32 @sum()
  %t = call i32 @sum()
  %r = call i32 (ptr, ...) @printf(ptr @format, i32 %s, i32 %t)
  ret i32 0
}`;
  for (const model of ["static", "pie"])
    test(`are reached from a register, in ${model} code`, async () => {
      const near = await compile(fields("global"), `--relocation-model=${model}`);
      expect(body(near, "sum").match(/\bstate\b/g)).toHaveLength(1);
      expect(run(near, model === "pie" ? "-pie" : "-no-pie")).toBe("9 9\n");
    });
  test("stay where they are if it is a constant: linkers may merge it by what an address points to", async () => {
    const text = await compile(fields("constant"));
    expect(body(text, "sum").match(/\bstate\b/g)).toHaveLength(4);
    expect(run(text, "-no-pie")).toBe("0 0\n");
  });
});

describe("the cluster", () => {
  const variables = (text: string): GlobalVariable[] =>
    parseModule(text, "m.ll").globals.filter((g): g is GlobalVariable => g.kind === "variable");
  const layout = new DataLayout("");

  test("has small variables of the program's own, wherever the linker may put them", () => {
    const all = variables(`
      @yes = internal global i32 0
      @private = private global [16 x i64] zeroinitializer
      @exported = global i32 0
      @constant = internal constant i32 3
      @own = internal thread_local global i32 0
      @section = internal global i32 0, section "mine"
      @large = internal global [129 x i8] zeroinitializer
      @aligned = internal global i32 0, align 32
      @retained = internal global i32 0
      @weak = weak global i32 0
      @elsewhere = external global i32`);
    const retained = new Set(all.filter(({ name }) => name === "retained"));
    expect(all.filter((v) => mayCluster(v, x64Costs.addresses, layout, retained)).map((v) => v.name)).toEqual(
      ["yes", "private"],
    );
  });
  test("takes what is mentioned most for its bytes, in reach of a byte, by alignment", () => {
    const all = variables(`
      @big = internal global [16 x i64] zeroinitializer, align 8
      @byte = internal global i8 0, align 1
      @word = internal global i64 0, align 8
      @more = internal global [16 x i64] zeroinitializer, align 8`);
    const times = new Map(all.map((v, i) => [v, [20, 9, 30, 10][i]!]));
    const cluster = chooseCluster(times, x64Costs.addresses, layout)!;
    expect(cluster.variables.map((v) => v.name)).toEqual(["word", "big", "byte"]);
    expect(cluster.anchor).toBe(128);
    expect([...cluster.offsets].map(([v, at]) => [v.name, at])).toEqual([
      ["word", -128],
      ["big", -120],
      ["byte", 8],
    ]);
  });
  test("mixes variables with initial values and without only where that pays for the room in the file", () => {
    const all = variables(`
      @z1 = internal global i32 0, align 4
      @z2 = internal global [25 x i32] zeroinitializer, align 4
      @v = internal global i32 1, align 4`);
    const names = (...times: number[]): string[] | undefined =>
      chooseCluster(new Map(all.map((g, i) => [g, times[i]!])), x64Costs.addresses, layout)?.variables.map(
        (g) => g.name,
      );
    expect(names(5, 5, 2)).toEqual(["z1", "z2"]);
    expect(names(5, 5, 200)).toEqual(["v", "z1", "z2"]);
  });
});

test("a register that callers do not rely on is free once its value is used, although calls preserve it", async () => {
  const step = (i: number): string => `  call i32 @fflush(ptr null)
  store volatile i32 ${i}, ptr %p
  %f${i} = getelementptr i8, ptr %p, i64 5896
  %v${i} = load volatile i32, ptr %f${i}
  %w${i} = add i32 %v${i}, 1
  store volatile i32 %w${i}, ptr %f${i}
  %n${i} = getelementptr i8, ptr %p, i64 5900
  store volatile i32 ${i}, ptr %n${i}
`;
  const text = `
@room = internal global [6000 x i8] zeroinitializer
@where = internal global ptr @room
@number = internal global i32 40
@seen = internal global i32 0
@format = private constant [7 x i8] c"%d %d\\0A\\00"
declare i32 @printf(ptr, ...)
define internal void @use(ptr %p, i32 %n) minsize optsize noinline {
  call i32 @fflush(ptr null)
  store volatile i32 %n, ptr @seen
${[1, 2, 3, 4].map(step).join("")}  ret void
}
declare i32 @fflush(ptr)
define i32 @main() minsize optsize {
  %p = load volatile ptr, ptr @where
  %n = load volatile i32, ptr @number
  call void @use(ptr %p, i32 %n)
  %far = load volatile i32, ptr getelementptr (i8, ptr @room, i64 5896)
  %s = load volatile i32, ptr @seen
  %r = call i32 (ptr, ...) @printf(ptr @format, i32 %far, i32 %s)
  ret i32 0
}
`;
  const assembly = await compile(text);
  expect(body(assembly, "use")).toMatch(
    /movl\t%ebp, seen[\s\S]*leaq\t-5896\(%rbx\), %rbp\n[\s\S]*call[\s\S]*\(%rbp\)/,
  );
  expect(run(assembly, "-no-pie")).toBe("4 40\n");
  // Who saves the register restores it, and has it for itself no sooner.
  expect(run(await compile(text, "--no-ipra"), "-no-pie")).toBe("4 40\n");
});
