/** `--exclude-libs`: what archives define is hidden; symbols that assembly makes numbers, from code that moves. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { linkerOptions } from "../../bin/host/linker-options.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const run = (...args: string[]) => tscLto(args, { cwd: folder, env: {} });

async function archive(name: string, text: string): Promise<void> {
  writeFileSync(path(`${name}.ll`), text);
  expect((await run(path(`${name}.ll`), "-r", "--emit=object", "-o", path(`${name}.o`))).err).toBe("");
  execFileSync("ar", ["rcS", path(`lib${name}.a`), path(`${name}.o`)]);
}

it("symbols of the archives named are not exported", async () => {
  await archive("one", "define i32 @one() noinline { ret i32 1 }\n@data = global i32 3\n");
  await archive("two", "define i32 @two() noinline { ret i32 2 }\n");
  writeFileSync(
    path("main.ll"),
    `define i32 @api() {
  %a = call i32 @one()
  %b = call i32 @two()
  %c = load i32, ptr @data
  %d = add i32 %a, %b
  %e = add i32 %d, %c
  ret i32 %e
}
declare i32 @one()
declare i32 @two()
@data = external global i32
`,
  );
  const exported = async (...options: string[]): Promise<string[]> => {
    const inputs = [path("main.ll"), path("libone.a"), path("libtwo.a")];
    const { err } = await run(...options, "--shared", "-O0", ...inputs, "-o", path("l.s"));
    expect(err).toBe("");
    execFileSync("cc", ["-shared", "-nostdlib", path("l.s"), "-o", path("l.so")]);
    const names = execFileSync("nm", ["-D", "--defined-only", "-j", path("l.so")], { encoding: "utf8" });
    return names.trim().split("\n").sort();
  };
  expect(await exported()).toEqual(["api", "data", "one", "two"]);
  expect(await exported("--exclude-libs", "libone.a")).toEqual(["api", "two"]);
  expect(await exported("--exclude-libs=libone,libtwo.a")).toEqual(["api"]);
  expect(await exported("--exclude-libs", "ALL")).toEqual(["api"]);
  expect(await exported("--exclude-libs", "libother.a:main.ll")).toEqual(["api", "data", "one", "two"]);
  expect(linkerOptions(["--exclude-libs", "ALL"])).toEqual(["--exclude-libs", "ALL"]);
});

it.each(["pie", "static", "pic"])("numbers that assembly names: %s", async (model) => {
  writeFileSync(
    path("abs.ll"),
    `module asm ".globl number; number = 0x1234"
module asm ".globl other"
module asm ".set other, number + 4"
@number = external global i8
@other = external global i8
define i32 @main() {
  %a = icmp eq ptr @number, inttoptr (i64 4660 to ptr)
  %b = ptrtoint ptr @other to i64
  %c = icmp eq i64 %b, 4664
  %d = and i1 %a, %c
  %e = select i1 %d, i32 7, i32 1
  ret i32 %e
}
`,
  );
  const { err } = await run(path("abs.ll"), "--relocation-model", model, "-o", path("abs.s"));
  expect(err).toBe("");
  execFileSync("cc", [model === "static" ? "-no-pie" : "-pie", path("abs.s"), "-o", path("abs")]);
  expect(spawnSync(path("abs")).status).toBe(7);
});
