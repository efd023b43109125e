/** Real programs through the compiler that the package depends on. */
import { commands } from "@yowasp/clang";
import { describe, expect, test } from "vitest";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { Op } from "../../lto/ir/instructions.js";
import type { Module } from "../../lto/ir/module.js";
import { func, insts, instsOf } from "./fixture.js";

async function compile(source: string, name: string, ...options: string[]): Promise<Module> {
  const args = ["-target", "x86_64-linux-gnu", ...options, "-emit-llvm", "-c", name, "-o", "out.bc"];
  const silent = { stderr: () => {}, fetchProgress: () => {} };
  const output = await commands["clang"]!(args, { [name]: source }, silent);
  return readBitcode(output!["out.bc"] as Uint8Array, name)[0]!;
}

const program = `
  struct list { struct list *next; long value; };
  extern void visit(long);
  static int depth(const struct list *l) { return l ? 1 + depth(l->next) : 0; }
  int walk(struct list *l, int mode) {
    switch (mode) {
      case 0: for (; l; l = l->next) visit(l->value); return 0;
      case 1: return depth(l);
      case 2: { static void *to[] = { &&a, &&b }; goto *to[l != 0]; a: return 5; b: return 6; }
      default: return __builtin_expect(l->value > 3.5, 1);
    }
  }
  _Thread_local int per_thread = 3;
  long double extended(long double x) { return x * 2; }
  int atomics(int *p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }
  typedef float v4 __attribute__((vector_size(16)));
  v4 lanes(v4 a, v4 b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5) + a; }
`;

describe.each([[["-O0"]], [["-O0", "-g"]], [["-O2"]], [["-O2", "-g"]], [["-Oz"]]])("clang %s", (options) => {
  test("a program is read completely", { timeout: 120_000 }, async () => {
    const module = await compile(program, "p.c", ...options);
    const defined = module.functions.filter((f) => !f.isDeclaration).map((f) => f.name);
    expect(defined).toEqual(expect.arrayContaining(["walk", "extended", "atomics", "lanes"]));
    for (const name of defined) expect(insts(module, name).length).toBeGreaterThan(0);
    expect(instsOf(module, "walk", Op.Switch)).toHaveLength(1);
    expect(instsOf(module, "atomics", Op.AtomicRMW)[0]!.data.ordering).toBe("seq_cst");
    expect(instsOf(module, "lanes", Op.ShuffleVector)[0]!.data).toEqual([0, 4, 1, 5]);
    expect(func(module, "extended").valueType.result.kind).toBe("x86_fp80");
    expect(module.flag("wchar_size")).toBe(4);
    expect(module.triple).toContain("x86_64");
    if (options.includes("-O0"))
      expect(
        func(module, "walk")
          .view()
          .blocks.filter((b) => b.addressTaken),
      ).toHaveLength(2);
  });
});

test("variables say how far away they are", { timeout: 120_000 }, async () => {
  const source = `
    char far[10] __attribute__((model("large")));
    char near[10] __attribute__((model("small")));
    char other[10];`;
  const module = await compile(source, "m.c", "-O1");
  const models = module.variables.map(({ name, codeModel }) => [name, codeModel]);
  expect(models).toEqual([
    ["far", "large"],
    ["near", "small"],
    ["other", null],
  ]);
});
