import { readFileSync } from "node:fs";

/**
 * A program with work for several units: leaves, callers, a recursive component, calls through a table.
 * @param count of callers, at least 6; there are twice as many leaves
 */
export function unitProgram(change = "", count = 200): string {
  const body = (i: number, callee: string): string => {
    const steps = Array.from(
      { length: 10 },
      (_, k) => `  %v${k + 1} = ${k % 2 === 0 ? "mul" : "xor"} i64 %v${k}, ${i * 7 + k + 3}`,
    );
    return `  %v0 = add i64 %x, ${i}\n${steps.join("\n")}\n${callee}`;
  };
  const leaves = Array.from(
    { length: 2 * count },
    (_, i) => `define i64 @leaf${i}(i64 %x) noinline optsize {
${body(i, i === 7 ? change : "")}
  store volatile i64 %v10, ptr @sink
  ret i64 %v10
}`,
  );
  const callers = Array.from(
    { length: count },
    (_, i) => `define i64 @caller${i}(i64 %x) noinline optsize {
${body(i, `  %c = call i64 @leaf${i}(i64 %v10)\n  %d = call i64 @leaf${i + count}(i64 %c)`)}
  %p = getelementptr ptr, ptr @table, i64 %x
  %f = load ptr, ptr %p
  %e = call i64 %f(i64 %d)
  %r = add i64 %e, %v3
  ret i64 %r
}`,
  );
  const ring = [0, 1, 2].map(
    (i) => `define i64 @ring${i}(i64 %x) noinline optsize {
  %w = lshr i64 %x, 1
  %end = icmp eq i64 %w, 0
  br i1 %end, label %out, label %on
on:
  %y = call i64 @ring${(i + 1) % 3}(i64 %w)
  %z = call i64 @caller${i}(i64 %y)
  ret i64 %z
out:
  ret i64 %x
}`,
  );
  const calls = Array.from({ length: count }, (_, i) => `  %r${i + 1} = call i64 @caller${i}(i64 %r${i})`);
  return `target triple = "x86_64-unknown-linux-gnu"
@sink = global i64 0
@table = internal constant [2 x ptr] [ptr @leaf3, ptr @leaf11]
${[...leaves, ...callers, ...ring].join("\n")}
define i64 @main(i64 %n) optsize {
  %r0 = call i64 @ring0(i64 %n)
${calls.join("\n")}
  ret i64 %r${count}
}
`;
}

/** The leaf needs registers of its own: what its callers may rely on changes. */
export const edit = `  call void asm sideeffect "nop", "~{ecx},~{edx},~{r8}"()`;

/** What became of a link. */
export interface Outcome {
  readonly status: number | null;
  readonly said: string;
  readonly text: string;
  /** Functions that came back, by phase. */
  readonly came: readonly number[];
}

/** Words of `tsc-lto` for a link that is to be told of with `-v`, whatever its size. */
export const linkWords = (input: string, output: string): string[] => [
  input,
  "-o",
  output,
  "-v",
  "--parallel-threshold=0",
  "-r",
];

export function outcomeOf(status: number | null, said: string, output: string): Outcome {
  const came = [...said.matchAll(/: (\d+) came back/g)].map(([, count]) => Number(count));
  return { status, said, text: status === 0 ? readFileSync(output, "utf8") : "", came };
}
