/** Maps of linkers: which object a byte is from. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../bin/lto/main.js";
import { formatTable } from "../../bin/size/table.js";
import { Image } from "../../formats/program/image.js";
import { MapFile } from "../../formats/size-report/map-file.js";
import { capture, temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();
const lld = ["ld.lld", "ld.lld-22", "ld.lld-19"].find((name) => spawnSync(name, ["--version"]).status === 0);

describe("maps", () => {
  it.each([["GNU ld", "cc", "-Wl,-Map=gnu.map"]])(
    "of %s, with members of archives",
    async (_, driver, option) => {
      writeFileSync(
        join(folder, "a.c"),
        "int member(int);\nint main(int n, char **v) { return member(n); }\n",
      );
      const long = "a_function_whose_section_has_a_name_that_takes_a_line_of_its_own";
      writeFileSync(
        join(folder, "b.c"),
        `int ${long}(int x) { return x * 7; }\nint member(int x) { return ${long}(x + 1); }\n`,
      );
      const run = (...words: string[]): void => void execFileSync(words[0]!, words.slice(1), { cwd: folder });
      run(driver, "-O1", "-ffunction-sections", "-c", "a.c", "b.c");
      run("ar", "rcs", "libb.a", "b.o");
      run(driver, "-o", "program", "a.o", "libb.a", option);
      const map = MapFile.parse(readFileSync(join(folder, "gnu.map"), "latin1"), "gnu.map");
      const image = new Image(readFileSync(join(folder, "program")));
      const at = (name: string): string | null =>
        map.fileAt(image.symbols.find((s) => s.name === name)!.value);
      expect(at("main")).toBe("a.o");
      expect(at("member")).toBe("libb.a(b.o)");
      expect(at(long)).toBe("libb.a(b.o)");
      const words = ["size", "program", "--map=gnu.map", "--by=library,directory", "--csv"];
      const { out } = await capture(main, words, { cwd: folder });
      expect(out).toMatch(/^libb\.a,\d+,/m);
      expect(out).toMatch(/^\[objects\],\d+,/m);
    },
  );

  it.skipIf(lld === undefined)("of lld", () => {
    const run = (...words: string[]): void => void execFileSync(words[0]!, words.slice(1), { cwd: folder });
    writeFileSync(join(folder, "s.c"), "int other(int);\nint _start(int n) { return other(n); }\n");
    writeFileSync(join(folder, "t.c"), "int other(int x) { return x * 7; }\n");
    run("cc", "-O1", "-fno-pie", "-c", "s.c", "t.c");
    run(lld!, "-static", "-o", "lld", "s.o", "t.o", "-Map=lld.map");
    const map = MapFile.parse(readFileSync(join(folder, "lld.map"), "latin1"), "lld.map");
    const image = new Image(readFileSync(join(folder, "lld")));
    const at = (name: string): string | null => map.fileAt(image.symbols.find((s) => s.name === name)!.value);
    expect(at("_start")).toBe("s.o");
    expect(at("other")).toBe("t.o");
  });
});

describe("tables", () => {
  const rows = [
    ["a|b", 5, "x"],
    ['say "hi", you', 1000, ""],
  ] as const;
  it("as text", () =>
    expect(formatTable("text", ["name", "bytes", ""], rows)).toBe(
      'name           bytes\na|b                5  x\nsay "hi", you   1000\n',
    ));
  it("as CSV", () =>
    expect(formatTable("csv", ["name", "bytes", ""], rows)).toBe(
      'name,bytes,\na|b,5,x\n"say ""hi"", you",1000,\n',
    ));
  it("as Markdown", () =>
    expect(formatTable("markdown", ["name", "bytes"], [["operator<*>", 5]])).toBe(
      "| name | bytes |\n| --- | --: |\n| operator\\<\\*\\> | 5 |\n",
    ));
});
