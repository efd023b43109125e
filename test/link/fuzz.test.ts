import { expect, it } from "vitest";
import { readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule } from "../../formats/text/index.js";
import { buildCallGraph } from "../../lto/analysis/call-graph.js";
import { InputError } from "../../lto/ir/errors.js";
import { finish } from "../../lto/ir/steps.js";
import { type LinkOptions, linkModules, type ModuleInput } from "../../lto/link/index.js";
import { Generator } from "../object/random-module.js";
import { Random } from "../support/random.js";

/** Modules rich in what linking works on. */
const sources = [
  `$g = comdat any
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr @v }]
@llvm.used = appending global [1 x ptr] [ptr @f]
@v = linkonce_odr global i32 0, comdat($g)
@c = common global [4 x i32] zeroinitializer, align 8
@t = thread_local global i32 0
@a = weak alias void (), ptr @f
@b = alias void (), ptr @a
@i = ifunc void (), ptr @resolver
module asm ".globl asm_symbol"
module asm "asm_symbol: call f"
define internal ptr @resolver() {
  ret ptr @f
}
define internal void @init() {
  ret void
}
define weak void @f() {
  call void @g()
  call void @a()
  ret void
}
define linkonce_odr void @g() comdat {
  call void @outside()
  ret void
}
declare void @outside()
define i32 @main() {
  call void @i()
  ret i32 0
}`,
  `$g = comdat any
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr @v }]
@v = linkonce_odr global i32 0, comdat($g)
@c = common global i64 0
@t = external thread_local global i32
@a = external global i32
define internal void @init() {
  call void @f()
  ret void
}
define void @f() {
  store i32 1, ptr @a
  ret void
}
define linkonce_odr void @g() comdat {
  ret void
}
define available_externally void @outside() {
  ret void
}`,
];

it("links damaged objects, or refuses them, but never breaks", () => {
  const random = new Random(2024);
  const objects = sources.map((source, i) => writeObject(parseModule(source, `${i}.o`)));
  for (let seed = 1; seed <= 4; seed++) objects.push(writeObject(new Generator(seed).run()));
  const outcomes = { linked: 0, diagnosed: 0, refused: 0 };
  for (let round = 0; round < 3000; round++) {
    const inputs: ModuleInput[] = [];
    try {
      for (let i = 1 + random.below(3); i > 0; i--) {
        const bytes = random.pick(objects).slice();
        // Damage few bytes, and often none, so that most objects can be read.
        for (let n = random.below(3); n > 0; n--) {
          const at = 24 + random.below(bytes.length - 24);
          bytes[at] = random.oneIn(2) ? bytes[at]! ^ (1 << random.below(8)) : random.below(8);
        }
        const { module, summary } = readObjectContents(bytes, `${i}.o`);
        inputs.push({ kind: "module", module, ...(random.oneIn(3) ? {} : { summary }) });
      }
      const options: Partial<LinkOptions> = {
        output: random.pick(["executable", "shared", "relocatable"]),
        noUndefined: random.oneIn(2),
      };
      const { module, summary } = finish(linkModules(inputs, options));
      if (module === null) {
        outcomes.diagnosed++;
        continue;
      }
      buildCallGraph(summary);
      expect(summary.symbols.map((s) => s.name)).toEqual(module.globals.map((g) => g.name));
      expect(new Set(module.globals.map((g) => g.name)).size).toBe(module.globals.length);
      // Everything that is mentioned must be there, or writing fails.
      readObjectContents(writeObject(module, summary), "again.o");
      for (const fn of module.functions) if (!fn.isDeclaration) fn.view();
      readObjectContents(writeObject(module), "again.o");
      outcomes.linked++;
    } catch (error) {
      if (!(error instanceof InputError)) throw new Error(`round ${round}: ${(error as Error).stack}`);
      outcomes.refused++;
    }
  }
  expect(outcomes.linked).toBeGreaterThan(300);
  expect(outcomes.diagnosed).toBeGreaterThan(100);
  expect(outcomes.refused).toBeGreaterThan(300);
});
