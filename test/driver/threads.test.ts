/**
 * Code generation in several threads: the output, what is reported on the way, and errors are those of one thread.
 * `--parallel-threshold=0` makes a small program go to the workers.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";

const command = builtCommands();
const folder = mkdtempSync(join(tmpdir(), "threads-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Functions enough for several threads, with calls between all of their shares. */
const count = 100;

/** Calls down the numbers, two recursive components, calls through a table, a jump table, pool constants, assembly. */
function program(more: (i: number) => string = () => ""): string {
  const functions = Array.from({ length: count }, (_, i) => {
    const callees = [i - 1, i - 17].filter((c) => c >= 0);
    if (i % 40 === 20) callees.push(i + 3);
    const calls = callees.map(
      (c, k) => `  %c${k} = call i64 @f${c}(i64 %v${k}, double %d)
  %v${k + 1} = add i64 %c${k}, ${i + k}`,
    );
    const last = `%v${callees.length}`;
    return `${i % 7 === 0 ? "define" : "define internal"} i64 @f${i}(i64 %x, double %d0) noinline {
  %d = fadd double %d0, ${i % 5}.5
  %v0 = mul i64 %x, ${i + 3}
  call void asm sideeffect "nop # ${i}", "~{rbx}"()
${calls.join("\n")}
${more(i)}
  switch i64 ${last}, label %out [ i64 0, label %a  i64 1, label %b  i64 2, label %c  i64 3, label %e  i64 4, label %a ]
a:
  %p = getelementptr ptr, ptr @table, i64 %x
  %t = load ptr, ptr %p
  %ra = call i64 %t(i64 ${last}, double %d)
  %rx = add i64 %ra, %x
  ret i64 %rx
b:
  ret i64 ${i}
c:
  store volatile double %d, ptr @sink
  ret i64 %x
e:
  ret i64 ${last}
out:
  ret i64 77
}`;
  });
  return `@sink = global double 0.0
@table = internal constant [2 x ptr] [ptr @f3, ptr @f11]
${functions.join("\n")}
define i64 @main(i64 %n) {
  %r = call i64 @f${count - 1}(i64 %n, double 1.0)
  ret i64 %r
}
`;
}

interface Outcome {
  readonly status: number | null;
  readonly stderr: string;
  readonly output: string;
}

function link(text: string, jobs: number, ...options: string[]): Outcome {
  const [source, output] = [join(folder, "in.ll"), join(folder, "out.s")];
  writeFileSync(source, text);
  const args = [
    command("tsc-lto"),
    source,
    "-r",
    "-o",
    output,
    "--parallel-threshold=0",
    `-j${jobs}`,
    ...options,
  ];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stderr, output: status === 0 ? readFileSync(output, "utf8") : "" };
}

describe("any number of threads gives the same", () => {
  it.each([
    [
      "assembly, statistics, checkers, and machine IR after selection",
      ["--check-ipra", "--check-regalloc", "--print-regusage", "--stats", "--print-machine=select"],
    ],
    [
      "assembly without interprocedural allocation, and machine IR after it",
      ["--no-ipra", "-Oz", "--print-machine=allocate", "--check-packing"],
    ],
    [
      "IR after passes, runs of passes, and what passes count",
      [
        "--print-machine=select",
        "--print-changed=quiet",
        "--opt-bisect-limit=150",
        "--verify-each",
        "--stats",
      ],
    ],
    [
      "machine IR as output, and of one finished function",
      ["--emit=machine", "--print-machine=finish", "--filter-function=f42"],
    ],
    [
      "assembly after the first rules on machine code in each function, and what they did",
      ["-Oz", "--rule-bisect-limit=7", "--skip-rule=drop-dead", "--stats", "--print-machine=select"],
    ],
  ] as const)("%s", (_, options) => {
    const text = program();
    const one = link(text, 1, ...options);
    expect(one.status, one.stderr).toBe(0);
    expect(one.output.length).toBeGreaterThan(10_000);
    expect(one.stderr).toContain("machine function f42 ");
    expect(link(text, 3, ...options)).toEqual(one);
  });

  it("error, the first in the order of compilation, and what was reported before it", () => {
    // Of an earlier share than the second: functions are compiled callees first.
    const text = program((i) =>
      i === 55 || i === 90 ? `  %bad${i} = call x86_regcallcc i64 @f${i - 1}(i64 %x, double %d)` : "",
    );
    const one = link(text, 1, "--print-machine=select");
    expect(one.status).toBe(1);
    expect(one.stderr).toMatch(
      /tsc-lto: error: \S+\.ll: unsupported: calling convention 92, x86_regcallcc \(in .*f55.*\)\n$/,
    );
    expect(one.stderr).toContain("machine function f54 ");
    expect(one.stderr).not.toContain("machine function f90 ");
    expect(link(text, 3, "--print-machine=select")).toEqual(one);
  });
});
