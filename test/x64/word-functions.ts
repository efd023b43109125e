/** Functions of two words, called with all pairs of some values: what they print at each level, and their code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { compile, link } from "../ipra/compile.js";
import { run } from "../tools/process.js";

/** A body of LLVM's text, of a function of the words %a and %b. */
export interface WordFunction {
  readonly body: string;
}

export class WordProgram {
  private readonly text: string;
  /** Lines that it prints. */
  readonly lines: number;

  /** @param declarations what the functions need, and a format `@format` of theirs is not among it */
  constructor(
    private readonly folder: string,
    functions: Readonly<Record<string, WordFunction>>,
    values: readonly string[],
    declarations = "",
  ) {
    const calls = Object.keys(functions).flatMap((name) =>
      values.flatMap((a) => values.map((b) => `call i64 @${name}(i64 ${a}, i64 ${b})`)),
    );
    this.lines = calls.length;
    this.text = `target triple = "x86_64-unknown-linux-gnu"
@format = private constant [6 x i8] c"%llx\\0A\\00"
declare i32 @printf(ptr, ...)
${declarations}
${Object.entries(functions)
  .map(([name, { body }]) => `define i64 @${name}(i64 %a, i64 %b) noinline {\n ${body}\n}`)
  .join("\n")}
define i32 @main() {
${calls
  .map((call, k) => `  %r${k} = ${call}\n  %p${k} = call i32 (ptr, ...) @printf(ptr @format, i64 %r${k})`)
  .join("\n")}
  ret i32 0
}`;
  }

  assembly(level: "O0" | "O2" | "Oz"): string {
    return compile(link(this.text), { level }).assembly;
  }

  async output(level: "O0" | "O2" | "Oz"): Promise<string> {
    const path = join(this.folder, level);
    writeFileSync(`${path}.s`, this.assembly(level));
    const built = await run(["cc", "-no-pie", `${path}.s`, "-o", path]);
    expect(built.stderr).toBe("");
    return (await run([path])).stdout.toString();
  }
}

/** The code of a function. */
export const bodyOf = (assembly: string, name: string): string =>
  assembly.slice(assembly.indexOf(`\n${name}:`), assembly.indexOf(`.size\t${name}`));
