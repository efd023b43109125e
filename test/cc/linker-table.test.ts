/** Options of linkers in link steps: what becomes of each, for tsc-lto and for the linker that links its code. */
import { describe, expect, it } from "vitest";
import {
  dependsOnLinker,
  linkerOptions,
  linkOutputs,
  unknownLlvmOptions,
  wordsForLinker,
} from "../../bin/host/linker-options.js";
import { type Flavour, linkerTable, writtenOption } from "../../bin/host/linker-table.js";
import { parseLinkerArguments } from "../../bin/ld/arguments.js";
import { makeCommand } from "../../bin/lto/options.js";
import { optionsOfPasses, ownOptionOf } from "../../bin/lto/own-options.js";
import { InputError } from "../../lto/ir/errors.js";
import { passes } from "../../lto/pipeline/registry.js";

const own = (line: string): string => linkerOptions(line.split(" ")).join(" ");
const forLinker = (line: string, flavour: Flavour = "gnu"): string =>
  wordsForLinker(line.split(" "), flavour).flat().join(" ");

describe("the table", () => {
  it("has each name once, and values that can be written", () => {
    const names = linkerTable.flatMap((option) => option.names);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(100);
    for (const { names: of, joined, value } of linkerTable) {
      expect(of.length, String(of)).toBeGreaterThan(0);
      // What is told apart by the word alone has a value.
      if (joined === true) expect(value, String(of)).toBeDefined();
    }
  });

  it.each(linkerTable.flatMap((option) => option.names.map((name) => [name, option] as const)))(
    "%s: what it says becomes of it",
    (name, option) => {
      const words = option.value === undefined ? [`-${name}`] : [`-${name}=1`];
      const short = name.length === 1 && option.value !== undefined ? [`-${name}`, "1"] : words;
      expect(writtenOption(short[0]!)?.row).toBe(option);
      const attempt = <T>(work: () => T): T | InputError => {
        try {
          return work();
        } catch (e) {
          if (e instanceof InputError) return e;
          throw e;
        }
      };
      const told = attempt(() => linkerOptions(short));
      const passed = (flavour: Flavour) => attempt(() => wordsForLinker(short, flavour).flat());
      switch (option.way) {
        case "refused":
          expect((told as InputError).message).toContain(name);
          break;
        case "both":
          expect(passed("gnu")).toEqual(short);
          break;
        case "translated":
          for (const flavour of option.known!) expect(passed(flavour)).toEqual(short);
          expect(passed("gnu")).not.toEqual(short);
          expect(dependsOnLinker(short)).toBe(true);
          break;
        default:
          expect(passed("gnu")).toEqual([]);
          expect(passed("lld")).toEqual([]);
      }
    },
  );

  it("names no two ways for an option of lld's LTO", () => {
    for (const name of ["lto-O2", "lto-CGO0", "thinlto-jobs=4", "lto-partitions=2", "fat-lto-objects"])
      expect(writtenOption(`--${name}`)?.row.way, name).toMatch(/^(?:done|accepted)$/);
  });
});

describe("options of tsc-lto by their own names", () => {
  it("go to it alone", () => {
    expect(own("--no-ipra --skip-pass=gvn --outline-rounds 3 -no-outline --time-trace=t.json")).toBe(
      "--no-ipra --skip-pass=gvn --outline-rounds=3 --no-outline --time-trace=t.json",
    );
    expect(own("--guard-callees --no-ir-outline --jobs 2")).toBe("--guard-callees --no-ir-outline --jobs=2");
    expect(forLinker("--no-ipra --gc-sections --outline-rounds 3 --build-id")).toBe(
      "--gc-sections --build-id",
    );
    expect(own("--stats --verbose --emit=ir")).toBe("");
    expect(forLinker("--stats --verbose")).toBe("--stats --verbose");
    expect(() => own("--outline-rounds")).toThrow(InputError);
    const kinds = parseLinkerArguments("--outline-rounds 3 -embedded-bitcode a.o -no-ipra".split(" "));
    expect(kinds.map(({ kind, name, value }) => `${kind[0]}:${name}:${value}`)).toEqual([
      "o:outline-rounds:3",
      "o:embedded-bitcode:",
      "i::a.o",
      "o:no-ipra:",
    ]);
  });

  it("are all that the command has, but for where the output goes", () => {
    const words = makeCommand("").options.flatMap(({ long, required, hidden }) =>
      hidden || long === null || long === undefined ? [] : [[long, required] as const],
    );
    const missing = words.filter(([long, required]) => {
      const known = ownOptionOf(required ? `${long}=1` : long);
      return writtenOption(long) === null && known === null;
    });
    expect(missing.map(([long]) => long).sort()).toEqual([
      "--emit",
      "--native-modules",
      "--stats",
      "--verbose",
      "--version",
    ]);
    for (const [long, required] of words)
      if (ownOptionOf(long) !== null) expect(ownOptionOf(long)!.takesValue, long).toBe(required);
  });

  it("have those of passes that the registry has", () => {
    const names = passes.flatMap(({ name, option, offOption }) => [
      ...(option === undefined ? [] : [name]),
      ...(offOption === undefined ? [] : [`no-${name}`]),
    ]);
    expect([...optionsOfPasses].sort()).toEqual(names.sort());
  });
});

describe("options of lld and of LLVM's plug-in", () => {
  it("are options of tsc-lto", () => {
    expect(own("--lto-O0 --thinlto-jobs=4 --opt-remarks-format=yaml --save-temps")).toBe("-O 0 -j 4");
    expect(own("-plugin-opt=O0 -plugin-opt=jobs=2 -plugin-opt=mcpu=x86-64 -plugin-opt=mcpu=haswell")).toBe(
      "-O 0 -j 2",
    );
    expect(own("--lto-O1 -plugin-opt=O2 --lto-O3 -plugin-opt=O1")).toBe(
      "--effort fast --effort full --effort full --effort fast",
    );
    expect(own("-mllvm -enable-ipra=false -plugin-opt=-print-regusage -plugin-opt=-x")).toBe(
      "--mllvm=-enable-ipra=false --mllvm=-print-regusage",
    );
    expect(own("--lto-whole-program-visibility --no-lto-whole-program-visibility")).toBe("");
    expect(own("-Bsymbolic -Bsymbolic-functions")).toBe("--symbolic-functions");
    expect(own("-Bsymbolic -Bsymbolic-functions -Bno-symbolic")).toBe("");
    expect(own("--error-limit=0 --undefined-glob=f*")).toBe("--error-limit 0 --undefined-glob=f*");
    for (const line of [
      "--opt-remarks-format=bitstream",
      "--thinlto-index-only",
      "-plugin-opt=cs-profile-path=p",
    ])
      expect(() => own(line), line).toThrow(InputError);
    expect(unknownLlvmOptions(["-mllvm", "-x", "-mllvm", "-enable-ipra", "-plugin-opt=-y"])).toEqual(["-x"]);
  });

  it("say what is written", () => {
    expect(linkOutputs(["--lto-emit-asm"])).toEqual({ emit: "asm", saveTemps: false, objectPath: null });
    expect(linkOutputs(["-plugin-opt=emit-llvm", "--save-temps", "--lto-obj-path=x.o"])).toEqual({
      emit: "llvm",
      saveTemps: true,
      objectPath: "x.o",
    });
  });

  it("go to the linkers that have them, and are translated for GNU ld", () => {
    const words = "--icf=all --threads=4 --pack-dyn-relocs=relr --gdb-index --color-diagnostics -O1";
    expect(forLinker(words, "lld")).toBe(words);
    expect(forLinker(words)).toBe("-z pack-relative-relocs -O1");
    expect(() => forLinker("--why-extract=x")).toThrow(/--why-extract=x.*GNU ld/);
    expect(() => forLinker("--pack-dyn-relocs=android")).toThrow(InputError);
    expect(forLinker("--why-extract=x", "lld")).toBe("--why-extract=x");
    expect(dependsOnLinker(["--build-id", "--no-ipra"])).toBe(false);
  });
});
