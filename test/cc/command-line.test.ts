/** The driver's reading of its command line. */
import { describe, expect, it } from "vitest";
import { ltoOptions } from "../../bin/cc/link.js";
import {
  type CommandLine,
  defaultOutput,
  parseCommandLine,
  replaceExtension,
} from "../../frontend/clang/command-line.js";
import { withoutCompilerHeaders } from "../../frontend/clang/dependencies.js";
import { resourceDirectory } from "../../frontend/clang/embedded.js";
import { expandResponseFiles, splitWords } from "../../frontend/clang/response-file.js";
import { InputError } from "../../lto/ir/errors.js";

const parse = (line: string): CommandLine => parseCommandLine(line.split(" ").filter((w) => w !== ""));
const paths = (c: CommandLine): string[] => c.inputs.map((i) => i.path);
const linkWords = (c: CommandLine): string[] =>
  c.link.flatMap((item) => ("words" in item ? item.words : [`<${item.input.path}>`]));

describe("how far to go", () => {
  const table: [string, CommandLine["mode"]][] = [
    ["-c a.c", "compile"],
    ["a.c", "link"],
    ["a.o b.o -o prog", "link"],
    ["-E a.c", "clang"],
    ["-E -c a.c", "clang"],
    ["-c -S a.c", "clang"],
    ["-M a.c", "clang"],
    ["-MM -MF x a.c", "clang"],
    ["-MD -c a.c", "compile"],
    ["-fsyntax-only a.c", "clang"],
    ["--version", "clang"],
    ["-dumpmachine", "clang"],
    ["-print-search-dirs", "clang"],
    ["--print-prog-name=ld", "clang"],
    ["-###  -c a.c", "clang"],
    ["-c -emit-llvm a.c", "clang"],
    ["-v", "clang"],
    ["", "clang"],
    ["-c", "clang"],
    ["a.h", "clang"],
    ["-x c-header a.c", "clang"],
    ["-x c - -c", "compile"],
    // A native object, or program, that clang makes.
    ["-fno-lto -c a.c", "clang"],
    ["-fno-lto a.c -o prog", "clang"],
    ["-fno-lto -flto -c a.c", "compile"],
    ["-fno-lto a.o -o prog", "link"],
  ];
  for (const [line, mode] of table)
    it(`tsc-cc ${line} → ${mode}`, () => {
      expect(parse(line).mode).toBe(mode);
    });
});

describe("inputs and values", () => {
  it("takes the value of an option for a value, not for an input", () => {
    const separate = [
      "-o", "-D", "-U", "-I", "-L", "-l", "-x", "-isystem", "-include", "-imacros", "-iquote", "-idirafter",
      "-MF", "-MT", "-MQ", "-Xclang", "-Xlinker", "-mllvm", "-target", "-u", "-e", "-z", "-T", "--param",
      "--sysroot", "-isysroot", "-Xpreprocessor", "-Xassembler", "-B", "-working-directory", "-Xarch_host",
    ]; // biome-ignore format: a table
    for (const option of separate) {
      const command = parseCommandLine(["-c", option, "c", "real.c"]);
      expect(paths(command), option).toEqual(["real.c"]);
      expect(() => parseCommandLine(["real.c", option]), option).toThrow(InputError);
    }
  });

  it("leaves joined values joined", () => {
    const c = parse("-c -DA=1 -Iinc -isystem inc2 -std=c11 -O2 -fPIC -mavx2 -Wall -g a.c");
    expect(c.compile).toEqual("-DA=1 -Iinc -isystem inc2 -std=c11 -O2 -fPIC -mavx2 -Wall -g".split(" "));
    expect(paths(c)).toEqual(["a.c"]);
  });

  it("knows whether debug information is wanted at the link", () => {
    for (const line of ["a.o -g0", "-g -ggdb0 -gz -gno-column-info a.o"])
      expect(parse(line).dropsDebug, line).toBe(true);
    for (const line of ["a.o", "-g a.o", "-g0 -g a.o", "-g0 -gdwarf-4 a.o", "-g0 -gline-tables-only a.o"])
      expect(parse(line).dropsDebug, line).toBe(false);
    expect(parse("-g -gz=zlib a.o").link).toEqual([
      { words: ["-gz=zlib"] },
      { input: { path: "a.o", kind: "object", language: undefined } },
    ]);
  });

  it("reads the output in all its forms", () => {
    for (const line of ["-o x.o", "-ox.o", "--output x.o", "--output=x.o"]) {
      const c = parse(`-c a.c ${line}`);
      expect(c.output).toBe("x.o");
      expect(c.compile).toEqual([]);
    }
  });

  it("keeps the language that is in force at each input", () => {
    const c = parse("-c -x c a.txt -x none b.s c.c -xassembler d");
    expect(c.inputs.map((i) => [i.path, i.kind, i.language])).toEqual([
      ["a.txt", "source", "c"],
      ["b.s", "assembly", undefined],
      ["c.c", "source", undefined],
      ["d", "assembly", "assembler"],
    ]);
  });

  it("knows inputs by their extension", () => {
    const kinds = parse("a.c b.i c.ll d.bc e.cpp f.S g.o h.a i.so j.h k -").inputs.map((i) => i.kind);
    expect(kinds.join(" ")).toBe(
      "source source source source source assembly object object object header object source",
    );
  });

  it("takes everything after -- for an input", () => {
    expect(paths(parse("-c -- -j.c -o"))).toEqual(["-j.c", "-o"]);
  });

  it("reads the dependency options", () => {
    expect(parse("-c a.c").dependencies).toBeUndefined();
    expect(parse("-c a.c -MMD").dependencies).toEqual({ file: undefined, hasTarget: false });
    expect(parse("-c a.c -MD -MFx.d -MT y").dependencies).toEqual({ file: "x.d", hasTarget: true });
    expect(parse("-c a.c -MD -MF x.d -MP").compile).toEqual(["-MD", "-MP"]);
  });

  it("drops what would put off code generation or put it elsewhere", () => {
    const c = parse("-c -flto -flto=thin -fwhole-program-vtables -fno-integrated-as -pipe -O2 a.c");
    expect(c.compile).toEqual(["-O2"]);
  });
});

describe("what only clang's code generator does", () => {
  it.each([
    "-save-temps=elsewhere",
    "-fembed-bitcode",
    "-fstack-size-section",
    "-femulated-tls",
    "-fbasic-block-sections=all",
    "-ftrap-function=abort",
    "-fno-lto b.o",
  ])("%s is refused by name", (option) => {
    const [word] = option.split(" ");
    expect(() => parse(`${option} a.c`)).toThrow(word);
  });
});

describe("options of its own", () => {
  it("reads -j and --clang=, and hides them from clang", () => {
    const c = parse("-c -j 3 --clang=/opt/clang a.c");
    expect([c.jobs, c.clang, c.all]).toEqual([3, "/opt/clang", ["-c", "a.c"]]);
    expect(parse("-j8 -c a.c").jobs).toBe(8);
    expect(parse("--help").help).toBe("short");
    expect(parse("--help-all").help).toBe("all");
  });
  it("refuses bad values", () => {
    for (const line of ["-c -j a.c", "-j 0", "-j0", "--clang= a.c", "-c a.c -j"])
      expect(() => parse(line), line).toThrow(InputError);
  });
});

describe("link step", () => {
  it("keeps order, and words of the linker from the compiler", () => {
    const c = parse("a.c -L lib -lfoo b.o -Wl,-z,now -O2 -lm -Xlinker -E -pthread -static");
    expect(linkWords(c)).toEqual(
      "<a.c> -L lib -lfoo <b.o> -Wl,-z,now -lm -Xlinker -E -pthread -static".split(" "),
    );
    expect(c.compile).toEqual(["-O2", "-pthread", "-static"]);
  });

  it("tells tsc-lto what the linker's words mean for it", () => {
    const options = (line: string) => ltoOptions(parse(line).link).join(" ");
    expect(options("a.o")).toBe("");
    expect(options("-shared a.o")).toBe("--shared");
    expect(options("-no-pie a.o -rdynamic")).toBe("--relocation-model static --export-dynamic");
    expect(options("a.o -u sym -Wl,--wrap=malloc,-u,other")).toBe(
      "--undefined sym --wrap malloc --undefined other",
    );
    expect(options("a.o -Wl,--wrap -Wl,free -Xlinker --undefined=z")).toBe("--wrap free --undefined z");
    expect(options("a.o -Wl,--defsym=a=b -Wl,-E -Wl,-z,now")).toBe("--defsym=a=b --export-dynamic");
    expect(options("a.o -Wl,--defsym=a=b+c*4")).toBe("--defsym=a=b+c*4");
    expect(options("a.o -T a.ld -Tb.ld -Wl,-T,c.ld -Ttext=0x1000")).toBe(
      "--script a.ld --script b.ld --script c.ld",
    );
    expect(options("-shared a.o -Wl,--version-script=v.map -Wl,-dynamic-list,d.txt")).toBe(
      "--shared --version-script v.map --dynamic-list d.txt",
    );
    expect(options("a.o -ffunction-sections -O2 -fdata-sections")).toBe(
      "--function-sections --data-sections",
    );
    for (const word of ["-nodefaultlibs", "-nolibc"])
      expect(options(`a.o ${word}`)).toBe("--no-default-libs");
    expect(options("a.o -nostdlib")).toBe("--undefined _start --no-default-libs");
    // These go where they stand among the inputs.
    expect(options("-Wl,--whole-archive a.a -Wl,--no-whole-archive")).toBe("");
  });
});

describe("names", () => {
  it("derives outputs as clang does", () => {
    expect(defaultOutput("../src/a.b.c", "o")).toBe("a.b.o");
    expect(defaultOutput("noext", "o")).toBe("noext.o");
    expect(replaceExtension("out/a.o", "d")).toBe("out/a.d");
    expect(replaceExtension("out.dir/a", "d")).toBe("out.dir/a.d");
    expect(replaceExtension("dir/.hidden", "d")).toBe("dir/.hidden.d");
  });
});

describe("response files", () => {
  it("splits words by the GNU rules", () => {
    expect(splitWords(`-DA="x y" 'b c'\n\td\\ e "" f"g"h "\\"q\\""`)).toEqual([
      "-DA=x y",
      "b c",
      "d e",
      "",
      "fgh",
      '"q"',
    ]);
    expect(splitWords(" \n ")).toEqual([]);
  });

  it("expands files within files, and keeps names that are no files", () => {
    const files: Record<string, string> = { one: "-c @two", two: "a.c @three" };
    expect(expandResponseFiles(["@one", "@", "x"], (p) => files[p])).toEqual([
      "-c",
      "a.c",
      "@three",
      "@",
      "x",
    ]);
  });

  it("stops at files that include themselves", () => {
    expect(() => expandResponseFiles(["@a"], () => "@a")).toThrow(InputError);
  });
});

describe("dependency rules", () => {
  it("lose the headers that are not on the disk, and nothing else", () => {
    const h = (name: string) => `${resourceDirectory}/include/${name}`;
    const rules = `a.o: a.c ${h("x.h")} \\\n  ${h("y.h")} /usr/b.h \\\n  ${h("z.h")} \\\n  c\\ d.h\n\n${h("x.h")}:\n\n/usr/b.h:\n`;
    expect(withoutCompilerHeaders(rules)).toBe("a.o: a.c /usr/b.h \\\n  c\\ d.h\n\n/usr/b.h:\n");
    expect(withoutCompilerHeaders("a.o: a.c\n")).toBe("a.o: a.c\n");
  });
});
