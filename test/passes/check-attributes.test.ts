/** --check-attributes: programs that keep their promises run as they do without, others end by a trap. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();

/** A program that passes a pointer, takes an integer, and calls what is not to return, by the number of its arguments. */
const program = `
@word = global i32 41
define noundef range(i32 0, 50) i32 @taken(i32 noundef %n) noinline {
  ret i32 %n
}
define i32 @pointed(ptr noundef nonnull %p) noinline {
  %c = icmp eq ptr %p, @word
  %r = zext i1 %c to i32
  ret i32 %r
}
define void @ends(i32 %n) noinline noreturn {
  call void @exit(i32 %n)
  ret void
}
define internal void @exit(i32 %n) noinline optnone {
  ret void
}
define i32 @main(i32 %n, ptr %arguments) {
  switch i32 %n, label %good [
    i32 2, label %null
    i32 3, label %range
    i32 4, label %back
  ]
good:
  %a = call i32 @pointed(ptr @word)
  %b = call i32 @taken(i32 41)
  %sum = add i32 %a, %b
  ret i32 %sum
null:
  %c = call i32 @pointed(ptr null)
  ret i32 %c
range:
  %d = call i32 @taken(i32 50)
  ret i32 %d
back:
  call void @ends(i32 1)
  ret i32 9
}
`;

describe("--check-attributes", () => {
  const built = async (name: string, ...options: string[]): Promise<string> => {
    writeFileSync(join(folder, "p.ll"), program);
    const assembly = join(folder, `${name}.s`);
    const only = "--only-passes=check-attributes";
    const { code, err } = await tscLto([join(folder, "p.ll"), only, "-o", assembly, "-O2", ...options], {
      cwd: folder,
    });
    expect([code, err]).toEqual([0, ""]);
    const path = join(folder, name);
    execFileSync("cc", ["-no-pie", assembly, "-o", path]);
    return path;
  };

  it.each([[[]], [["-O0"]]])("ends what breaks a promise: %j", async (options: string[]) => {
    const path = await built(`checked${options.join("")}`, "--check-attributes", ...options);
    const run = (...words: string[]) => spawnSync(path, words);
    expect(run()).toMatchObject({ status: 42, signal: null });
    for (const words of [["null"], ["range", "x"], ["back", "x", "x"]])
      expect(run(...words)).toMatchObject({ status: null, signal: "SIGILL" });
  });
  it("is off without the option", async () => {
    const path = await built("plain");
    expect(spawnSync(path, ["null"])).toMatchObject({ status: 0 });
    expect(spawnSync(path, ["range", "x"])).toMatchObject({ status: 50 });
  });
});
