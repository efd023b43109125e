/** Declarations of the C library's functions that return twice say so after linking, whatever front end made them. */
import { describe, expect, it } from "vitest";
import { ir, link } from "./harness.js";

const names = ["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "savectx", "vfork", "getcontext"];
const user = (name: string): string => `
define i32 @main(ptr %p) {
  %r = call i32 @${name}(ptr %p)
  ret i32 %r
}
`;

describe("after linking", () => {
  const saysSo = (text: string, name: string): boolean | undefined => {
    const { module } = link([ir("a.o", text)]);
    return module.functions.find((fn) => fn.name === name)?.attributes.fn.has("returns_twice");
  };
  it.each(names)("a declaration of %s returns twice", (name) => {
    expect(saysSo(`declare i32 @${name}(ptr)\n${user(name)}`, name)).toBe(true);
    expect(saysSo(`declare i32 @${name}(ptr) nounwind returns_twice\n${user(name)}`, name)).toBe(true);
  });
  it.each(["swapcontext", "setcontext", "makecontext", "fork", "longjmp", "mysetjmp"])(
    "one of %s does not",
    (name) => expect(saysSo(`declare i32 @${name}(ptr)\n${user(name)}`, name)).toBe(false),
  );
  it("a definition is what it is", () =>
    expect(
      saysSo(`define i32 @getcontext(ptr %p) {\n  ret i32 1\n}\n${user("getcontext")}`, "getcontext"),
    ).toBe(false));
});
