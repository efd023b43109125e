/** Blocks whose addresses are taken, but which control cannot reach: their code may be without any sense. */
import { describe, expect, it } from "vitest";
import { compile, link } from "../ipra/compile.js";

const allocators = ["ssa", "greedy", "linear", "graph"] as const;
const levels = ["O0", "O2", "Oz"] as const;

const programs: Record<string, string> = {
  "an address that is computed from itself": `
@where = global ptr blockaddress(@main, %never)
define i64 @main(i64 %n) {
  %q = load volatile ptr, ptr @where
  ret i64 %n
never:
  %p = getelementptr i8, ptr %p, i64 8
  %x = load i64, ptr %p
  %y = add i64 %x, %z
  %z = mul i64 %y, %y
  ret i64 %z
}`,
  "the same where addresses of null count": `
@where = global ptr blockaddress(@main, %never)
define i64 @main(i64 %n) null_pointer_is_valid {
  %q = load volatile ptr, ptr @where
  ret i64 %n
never:
  %p = getelementptr i8, ptr %p, i64 8
  store ptr @main, ptr %p
  ret i64 0
}`,
  "an indirect branch that nothing reaches": `
@where = internal constant [2 x ptr] [ptr blockaddress(@main, %a), ptr blockaddress(@main, %b)]
define i64 @main(i64 %n) {
  %x = mul i64 %n, 3
  br label %end
jump:
  %p = load ptr, ptr @where
  %k = add i64 %x, 4
  indirectbr ptr %p, [label %a, label %b]
a:
  %s = add i64 %x, %k
  br label %end
b:
  br label %end
end:
  %r = phi i64 [ %x, %0 ], [ %s, %a ], [ %k, %b ]
  %q = load ptr, ptr @where
  %i = ptrtoint ptr %q to i64
  %t = add i64 %r, %i
  ret i64 %t
}`,
  "an indirect branch after a condition that is false": `
@where = internal constant [2 x ptr] [ptr blockaddress(@main, %a), ptr blockaddress(@main, %b)]
define i64 @main(i64 %n) {
  %x = mul i64 %n, 3
  br i1 false, label %jump, label %end
jump:
  %f = getelementptr [2 x ptr], ptr @where, i64 0, i64 %n
  %p = load ptr, ptr %f
  %k = add i64 %x, 4
  indirectbr ptr %p, [label %a, label %b]
a:
  %l = phi i64 [ %k, %jump ], [ %m, %b ]
  %s = add i64 %x, %l
  br label %end
b:
  %o = phi i64 [ %k, %jump ]
  %m = mul i64 %k, %o
  br label %a
end:
  %r = phi i64 [ %x, %0 ], [ %s, %a ]
  %q = load ptr, ptr @where
  %i = ptrtoint ptr %q to i64
  %t = add i64 %r, %i
  ret i64 %t
}`,
};

describe.each(Object.entries(programs))("%s", (_, text) => {
  it.each(allocators.flatMap((allocator) => levels.map((level) => [allocator, level] as const)))(
    "%s, %s",
    (allocator, level) => {
      const { assembly } = compile(link(text), { allocator, level });
      const labels = [...assembly.matchAll(/(?<=\.quad\t)"?\.Lba\.[^\s"]+/g)];
      expect(labels.length).toBeGreaterThan(0);
      for (const [label] of labels) expect(assembly).toMatch(new RegExp(`^${label}"?:\n\tud2`, "m"));
    },
  );
});
