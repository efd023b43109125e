/** Sections of their own, and what `llvm.used` keeps: what a linker that drops unreferenced sections finds. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";
import { run } from "../tools/process.js";

const folder = temporaryFolder();

async function assembly(text: string, ...options: string[]): Promise<string> {
  writeFileSync(join(folder, "a.ll"), text);
  const { code, err, out } = await tscLto([join(folder, "a.ll"), "-E", ...options, "-o", "-"], {
    cwd: folder,
  });
  expect(err).toBe("");
  expect(code).toBe(0);
  return out;
}

const program = `
@kept = internal global i32 3
@constant = internal constant [2 x i32] [i32 1, i32 2]
@placed = internal global i32 4, section "mine"
@other = global i32 5, section "mine"
@dropped = global i32 9
@weakly = internal global i32 6
@llvm.used = appending global [4 x ptr] [ptr @kept, ptr @constant, ptr @placed, ptr @f], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr @weakly], section "llvm.metadata"
define internal void @f() {
  ret void
}
define void @g() {
  ret void
}
define i32 @main() {
  %v = load volatile i32, ptr @other
  ret i32 0
}
`;

describe("sections of their own", () => {
  it("for functions", async () => {
    const text = await assembly(program, "--function-sections");
    expect(text).toContain('.section\t.text.g,"ax",@progbits');
    expect(text).not.toContain(".data.dropped");
    expect(await assembly(program)).not.toContain(".text.g");
  });
  it("for variables", async () => {
    const text = await assembly(program, "--data-sections");
    expect(text).toContain('.section\t.data.dropped,"aw",@progbits');
    expect(text).not.toContain(".text.g");
  });
  it("by the options that compilers pass on", async () => {
    const words = ["-plugin-opt=-function-sections=1", "-plugin-opt=-data-sections=1"];
    expect(await assembly(program, ...words)).toBe(
      await assembly(program, "--function-sections", "--data-sections"),
    );
    const off = ["--function-sections", "-mllvm", "-function-sections=0"];
    expect(await assembly(program, ...off)).toBe(await assembly(program));
  });
});

it("what has to be kept is", async () => {
  const text = await assembly(program, "--function-sections", "--data-sections");
  for (const section of [
    '.text.f,"axR",@progbits',
    '.data.kept,"awR",@progbits',
    '.rodata.constant,"aR",@progbits',
    'mine,"awR",@progbits,unique,3',
    'mine,"aw",@progbits',
    '.data.weakly,"aw",@progbits',
  ])
    expect(text).toContain(`\t.section\t${section}\n`);
  const [source, linked] = [join(folder, "a.s"), join(folder, "a")];
  writeFileSync(source, text);
  expect((await run(["cc", "-no-pie", "-Wl,--gc-sections", source, "-o", linked])).stderr).toBe("");
  const names = new TextDecoder().decode((await run(["nm", linked])).stdout);
  for (const name of ["f", "kept", "constant", "placed", "other"])
    expect(names).toMatch(new RegExp(` ${name}$`, "m"));
  for (const name of ["g", "dropped", "weakly"]) expect(names).not.toMatch(new RegExp(` ${name}$`, "m"));
});
