/** `--size-time`: what is called, and what stays where it is, in loops of code for size. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { main } from "../../bin/lto/main.js";
import { parseModule } from "../../formats/text/index.js";
import { callFrequencies } from "../../lto/analysis/call-frequency.js";
import { buildCallGraph } from "../../lto/analysis/call-graph.js";
import { callWorks } from "../../lto/analysis/call-work.js";
import { functionTimes } from "../../lto/analysis/function-times.js";
import { functionHeat, timeBytes } from "../../lto/analysis/heat.js";
import { loopNest } from "../../lto/analysis/loop-nest.js";
import { loopShares } from "../../lto/analysis/loop-shares.js";
import { summarizeModule } from "../../lto/analysis/summary.js";
import type { Func } from "../../lto/ir/module.js";
import { capture, temporaryFolder } from "../support/command.js";

const cwd = temporaryFolder();
const path = (name: string): string => join(cwd, name);

async function assembly(ir: string, ...options: string[]): Promise<string> {
  writeFileSync(path("a.ll"), ir);
  const { code, err } = await capture(main, [path("a.ll"), "-o", path("a.s"), "-Oz", "-r", ...options], {
    cwd,
    workers: true,
  });
  expect(err).toBe("");
  expect(code).toBe(0);
  return readFileSync(path("a.s"), "utf8");
}

/** Too large to be copied for size, and called twice. */
const accessor = `define internal i32 @get(ptr %p, i32 %i) minsize optsize {
  %in = icmp ult i32 %i, 64
  br i1 %in, label %then, label %else
then:
  %low = load i32, ptr %p
  %next = getelementptr i8, ptr %p, i64 4
  %high = load i32, ptr %next
  %first = icmp ult i32 %i, 32
  %word = select i1 %first, i32 %low, i32 %high
  %of = and i32 %i, 31
  %bit = shl i32 1, %of
  %r = and i32 %word, %bit
  ret i32 %r
else:
  ret i32 -1
}
`;
/** Two loops, one in the other, around some instructions that use %i and %j and define %t. */
const nested = (
  name: string,
  inside: string,
): string => `define i32 @${name}(ptr %p, i32 %n) minsize optsize {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i1, %after ]
  %s = phi i32 [ 0, %entry ], [ %s1, %after ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
  %u = phi i32 [ %s, %outer ], [ %s1, %inner ]
${inside}
  %s1 = add i32 %u, %t
  %j1 = add i32 %j, 1
  %more = icmp ult i32 %j1, %n
  br i1 %more, label %inner, label %after
after:
  %i1 = add i32 %i, 1
  %again = icmp ult i32 %i1, 50
  br i1 %again, label %outer, label %end
end:
  ret i32 %s1
}
`;

/** Another call of the accessor. */
const once =
  "define i32 @once(ptr %p) minsize optsize {\n  %r = call i32 @get(ptr %p, i32 7)\n  ret i32 %r\n}\n";
const mainOf = (text: string): string => text.slice(text.indexOf("main:"), text.indexOf(".size\tmain"));

describe("in loops", () => {
  it("a small function is inlined where it is called", async () => {
    const called = nested("main", "  %t = call i32 @get(ptr %p, i32 %j)");
    const ir = accessor + called + once;
    expect(await assembly(ir, "--size-time=0")).toContain("get");
    const inlined = await assembly(ir, "--size-time=64");
    expect(mainOf(inlined)).not.toContain("call");
  });

  it("a call is less of the time of a loop that calls what takes long", async () => {
    const long = nested("long", "  %t = mul i32 %u, %j").replace("define i32", "define internal i32");
    const quick =
      "define internal i32 @long(ptr %p, i32 %n) noinline minsize optsize {\n  store volatile i32 %n, ptr %p\n  ret i32 %n\n}\n";
    const called = nested(
      "main",
      "  %k = call i32 @long(ptr %p, i32 %u)\n  %t = call i32 @get(ptr %p, i32 %k)",
    ).replace("%i1, 50", "%i1, %n");
    const inlined = async (callee: string): Promise<boolean> =>
      !mainOf(await assembly(accessor + called + once + callee, "--size-time=2")).includes("get");
    expect(await inlined(quick)).toBe(true);
    expect(await inlined(long.replace("minsize", "noinline minsize"))).toBe(false);
  });

  it("repeated code stays where a call would be much of the loop, without being asked for", async () => {
    const code = "  %b = xor i32 %j, 123456\n  %t = mul i32 %b, %u";
    const more = "  store volatile i32 %t, ptr %p\n".repeat(40);
    const of = (rest: string): string =>
      ["main", "f", "g"]
        .map((name, i) => nested(name, `${code}\n${rest.replace("%p", i > 0 ? "%p" : "null")}`))
        .join("");
    const outlinedIn = async (ir: string): Promise<boolean> =>
      (await assembly(ir, "--skip-pass=icf,merge-similar-functions,ir-outline")).includes("outlined.");
    expect(await outlinedIn(of("  store volatile i32 %t, ptr %p"))).toBe(false);
    expect(await outlinedIn(of(more))).toBe(true);
  });

  it("what constants say of rounds counts, where they are more than estimated", async () => {
    // Much else, of whose time a call is little.
    const more = "\n  store volatile i32 %j, ptr %p".repeat(100);
    const called = nested("main", `  %t = call i32 @get(ptr %p, i32 %j)${more}`).replace(
      "%i1, 50",
      "%i1, %n",
    );
    const bounded = (rounds: number): string =>
      `${accessor}${called.replace("ult i32 %j1, %n", `ult i32 %j1, ${rounds}`)}${once}`;
    const callsOf = async (ir: string): Promise<number> =>
      mainOf(await assembly(ir, "--skip-pass=loop-unroll")).match(/\bcall\s+get\b/g)?.length ?? 0;
    expect(await callsOf(accessor + called + once)).toBe(1);
    expect(await callsOf(bounded(3))).toBe(1);
    expect(await callsOf(bounded(61))).toBe(0);
    // A counter that passes by its limit.
    expect(await callsOf(bounded(61).replace("ult i32 %j1, 61", "ne i32 %j1, 0"))).toBe(0);
  });

  it("repeated code with many inputs stays where what it saves, when they are passed, is less than the time of that", async () => {
    const numbers = Array.from({ length: 6 }, (_, i) => i);
    const steps = (place: number): string =>
      numbers
        .map(
          (i) => `  %a${i} = xor i32 %v${i}, ${100_000 + 7919 * (6 * place + i + 1) * (i + 3)}
  %v${i + 1} = mul i32 %a${i}, ${i % 2 === 0 ? 77_777 : 3}`,
        )
        .join("\n");
    const ir = (stores: number): string =>
      ["main", "f", "g"]
        .map((name, place) => {
          const rest = `  store volatile i32 %t, ptr ${place > 0 ? "%p" : "null"}\n`.repeat(stores);
          return nested(
            name,
            `  %v0 = xor i32 %j, 1234567\n${steps(place)}\n  %t = sub i32 %v6, 99999\n${rest}`,
          );
        })
        .join("");
    const records = async (stores: number, ...options: string[]): Promise<string> => {
      const more = ["--skip-pass=icf,merge-similar-functions", "--opt-remarks-passes=^ir-outline$"];
      await assembly(ir(stores), ...more, `--opt-remarks-filename=${path("records.yaml")}`, ...options);
      return readFileSync(path("records.yaml"), "utf8");
    };
    const made = /Name: +OutlinedFunction/;
    expect(await records(10, "--size-time=0")).toMatch(made);
    const hot = await records(10);
    expect(hot).not.toMatch(made);
    expect(hot).toMatch(/Name: +NotOutliningHot\n[\s\S]*- TimeBytes: +'?[1-9]/);
    expect(await records(80)).toMatch(made);
  });

  it("forms that are shorter and slower are not taken", async () => {
    const ir = nested("main", '  call void asm sideeffect "nop", "{ecx}"(i32 5)\n  %t = xor i32 %j, 3');
    expect(mainOf(await assembly(ir, "--size-time=0"))).toMatch(/pushq\t\$5\n\tpopq\t%rcx/);
    expect(mainOf(await assembly(ir))).toMatch(/movl\t\$5, %ecx/);
  });

  it("a call through a pointer that places would share counts for more than the jump to it", async () => {
    const rest = (of: number): string =>
      Array.from({ length: 20 }, (_, k) => `  store volatile i32 ${100 * of + k + 1000}, ptr %p\n`).join("");
    const of = (callee: string): string =>
      ["main", "f", "g"]
        .map((name, i) =>
          nested(
            name,
            `  %q = getelementptr i32, ptr %p, i32 %j
  %v${i} = load ptr, ptr %q
  call void ${callee.replace("%v", `%v${i}`)}(ptr %q, i32 77, i32 99)
  %t = xor i32 %j, ${i}
${rest(i)}`,
          ),
        )
        .join("");
    const isShared = async (callee: string, ...options: string[]): Promise<boolean> =>
      /\n\tjmp\t(?:ext|\*)/.test(
        await assembly(
          `declare void @ext(ptr, i32, i32)\n${of(callee)}`,
          "--skip-pass=icf,merge-similar-functions,ir-outline",
          ...options,
        ),
      );
    expect(await isShared("@ext")).toBe(true);
    expect(await isShared("%v", "--size-time=0")).toBe(true);
    expect(await isShared("%v")).toBe(false);
  });

  it("repeated code stays where it is", async () => {
    const code = `  %a = mul i32 %j, %u
  %b = xor i32 %a, 12345
  %c = lshr i32 %b, 7
  %d = mul i32 %c, 77777
  %e = xor i32 %d, %j
  %t = sub i32 %e, 99999`;
    const ir =
      nested("main", code) +
      nested("f", code) +
      nested(
        "g",
        `${code}
  store volatile i32 %t, ptr %p`,
      );
    expect(await assembly(ir, "--size-time=0", "--skip-pass=icf,merge-similar-functions")).toContain(
      "outlined.",
    );
    expect(await assembly(ir, "--size-time=64", "--skip-pass=icf,merge-similar-functions")).not.toContain(
      "outlined.",
    );
  });
});

test("a call executes what its callees do, as often as they are called; recursion ends", () => {
  const callee = (n: number, frequency: number) => ({ callee: n, frequency });
  const works = callWorks([
    { ownWork: 5, calls: [callee(1, 8), callee(2, 1 / 2)] },
    { ownWork: 4, calls: [callee(2, 2)] },
    { ownWork: 10, calls: [] },
    { ownWork: 1, calls: [callee(3, 64)] },
  ]);
  expect([...works.subarray(0, 3)]).toEqual([5 + 8 * 24 + 5, 24, 10]);
  expect(works[3]).toBe(2 ** 20);
});

test("what is rare costs nothing, and what is hot no more than in loops nested three times", () => {
  const [main, twice, often] = callFrequencies([
    {
      entries: 1,
      calls: [
        { callee: 1, frequency: 2 },
        { callee: 2, frequency: 1000 },
      ],
    },
    { entries: 0, calls: [] },
    { entries: 0, calls: [] },
  ]);
  expect([main, twice, often].map((x) => functionHeat(x!))).toEqual([1, 2, 8]);
  const hot = { heat: 512, times: 1, share: 1 / 20 };
  expect(timeBytes(1, hot, 2)).toBe(40);
  expect(timeBytes(1, { ...hot, heat: 2 ** 20 }, 2)).toBe(40);
  expect(timeBytes(1, { ...hot, heat: 128 }, 2)).toBe(20);
  expect(timeBytes(1, { ...hot, share: 0 }, 2)).toBe(0);
  expect(timeBytes(1, { ...hot, heat: 1 }, 2)).toBe(0);
  expect(timeBytes(1, { ...hot, heat: 128, times: 100, share: 1 / 1000 }, 2)).toBe(200);
  expect(timeBytes(0, hot, 2)).toBe(0);
});

test("an instruction is more of the time of a small loop, and outside of loops of that of the body", () => {
  // A block before two loops, of 5 and of 25 instructions a round, the latter with a loop of two in it.
  const successors = [[1], [1, 2], [3], [3, 4], [2, 5], []];
  const frequencies = Float64Array.of(1, 8, 8, 64, 8, 1);
  const shares = loopShares(loopNest(successors, [0]), frequencies, Float64Array.of(9, 5, 4, 2, 5, 7));
  // Outside of loops: three of what it is of the body.
  expect([...shares]).toEqual([3 / 256, 1 / 5, 1 / 25, 1 / 2, 1 / 25, 3 / 256]);
});

test("what is called through pointers is as hot as the calls of its signature", () => {
  const module = parseModule(
    `@table = internal constant [2 x ptr] [ptr @add, ptr @sub]
define internal i32 @add(i32 %x) {
  %r = add i32 %x, 1
  ret i32 %r
}
define internal i32 @sub(i32 %x) {
  %r = sub i32 %x, 1
  ret i32 %r
}
define internal void @other(ptr %p) {
  ret void
}
define i32 @main(i32 %n) {
entry:
  store ptr @other, ptr @place
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]
  %at = getelementptr [2 x ptr], ptr @table, i32 0, i32 %i
  %f = load ptr, ptr %at
  %i1 = call i32 %f(i32 %i)
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 %i1
}
@place = global ptr null
`,
    "a.ll",
  );
  const { heats, pointerEntries } = functionTimes(module, buildCallGraph(summarizeModule(module)));
  const of = (facts: ReadonlyMap<Func, number>) =>
    Object.fromEntries([...facts].map(([fn, x]) => [fn.name, Number(x.toFixed(2))]));
  // One of two, for the eight rounds that loops count for.
  const each = Number((8 / Math.sqrt(2)).toFixed(2));
  expect(of(pointerEntries)).toEqual({ add: each, sub: each, other: 0, main: 0 });
  expect(of(heats).main).toBe(1);
  expect(of(heats).add).toBeGreaterThan(5);
});
