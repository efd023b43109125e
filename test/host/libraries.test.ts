/** Linker scripts that stand for libraries: the files they name, as linkers find them. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { realFiles } from "../../bin/host/libraries.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);

function library(name: string, source: string): void {
  writeFileSync(path("source.c"), source);
  execFileSync("cc", ["-shared", "-fPIC", "-nostdlib", path("source.c"), "-o", path(name)]);
}

it("scripts name libraries by path, beside them, and by -l", async () => {
  mkdirSync(path("folder.so"));
  library("one.so.1", "void of_one(void) {}");
  library("libtwo.so", "void wanted(void); void of_two(void) { wanted(); }");
  library("three.so", "void of_three(void) {}");
  writeFileSync(path("libthree.so"), 'INPUT("three.so", libscript.so)');
  writeFileSync(
    path("libscript.so"),
    `/* INPUT(libtwo.so) */ OUTPUT_FORMAT(elf64-x86-64)
GROUP ( ${path("one.so.1")} AS_NEEDED ( -ltwo libmissing.so folder.so -lmissing ) ) INPUT(-lthree)\n`,
  );
  const names = ["one.so.1", "libtwo.so", "three.so"];
  expect(realFiles(path("libscript.so"))).toEqual(names.map(path));
  expect(realFiles(path("one.so.1"))).toEqual([path("one.so.1")]);

  const defined = ["of_one", "wanted", "of_three", "mine"];
  const text = defined.map((name) => `define void @${name}() {\n  ret void\n}\n`).join("");
  writeFileSync(path("a.ll"), `${text}define i32 @main() {\n  ret i32 0\n}\n`);
  const words = [path("a.ll"), "-L", folder, "-lscript", "-o", "-"];
  const { out, err } = await tscLto(words, { cwd: folder, env: {} });
  expect(err).toBe("");
  const open = [...out.matchAll(/\.globl\s+(\S+)/g)].map(([, name]) => name!);
  expect(open.sort()).toEqual(["main", "of_one", "of_three", "wanted"]);
});
