/** Which machine a module is compiled for. */
import { expect, it } from "vitest";
import { targetOf } from "../../lto/targets.js";
import { isTarget } from "../../lto/targets-by-triple.js";
import { x64Target } from "../../lto/x64/target.js";

it("a module's triple decides, and one without is for x86-64", () => {
  for (const triple of ["", "x86_64-unknown-linux-gnu", "amd64-linux", "x86_64"])
    expect(targetOf({ triple, file: "m.o" })).toBe(x64Target);
});

it("what is known by name is what there is code for", () => {
  for (const triple of [
    "",
    "x86_64-linux-gnu",
    "amd64",
    "x86_64h-linux",
    "i686-linux",
    "riscv64-linux",
    "aarch64",
  ]) {
    const attempt = () => targetOf({ triple, file: "m.o" });
    if (isTarget({ triple })) attempt();
    else expect(attempt, triple).toThrow("code for target");
  }
});

it("refuses machines there is no code for, naming file and triple", () => {
  expect(() => targetOf({ triple: "riscv64-unknown-linux-gnu", file: "m.o" })).toThrow(
    expect.objectContaining({
      file: "m.o",
      message: "unsupported: code for target 'riscv64-unknown-linux-gnu'",
    }),
  );
});
