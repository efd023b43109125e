import { expect, test } from "vitest";
import { linkerOptions } from "../../bin/host/linker-options.js";
import { parseLinkerArguments } from "../../bin/ld/arguments.js";
import { InputError } from "../../lto/ir/errors.js";

const read = (line: string): string[] =>
  parseLinkerArguments(line.split(" ")).map(({ kind, name, value }) => `${kind[0]}:${name}:${value}`);

test("a driver's command line", () => {
  expect(read("-m elf_x86_64 -pie -dynamic-linker /lib/ld.so -o a.out crt1.o -L/x -L y")).toEqual([
    ...[
      "o:m:elf_x86_64",
      "o:pie:",
      "o:dynamic-linker:/lib/ld.so",
      "o:o:a.out",
      "i::crt1.o",
      "o:L:/x",
      "o:L:y",
    ],
  ]);
  expect(
    read("-lc -l m --library=z -plugin-opt=O2 -plugin /p.so -mllvm -enable-ipra -plugin-opt -x"),
  ).toEqual([
    ...["l:l:c", "l:l:m", "l:library:z", "o:plugin-opt:O2", "o:plugin:/p.so", "o:mllvm:-enable-ipra"],
    "o:plugin-opt:-x",
  ]);
  expect(
    read("--hash-style=gnu --build-id --eh-frame-hdr -export-dynamic -znow -uf -e f -O1 - --wrap g"),
  ).toEqual([
    ...[
      "o:hash-style:gnu",
      "o:build-id:",
      "o:eh-frame-hdr:",
      "o:export-dynamic:",
      "o:z:now",
      "o:u:f",
      "o:e:f",
    ],
    ...["o:O:1", "i::-", "o:wrap:g"],
  ]);
  expect(read("--start-group a.a --end-group -( b.a -) -static -shared -soname lib.so -T s.ld")).toEqual([
    ...["o:start-group:", "i::a.a", "o:end-group:", "o:(:", "i::b.a", "o:):", "o:static:", "o:shared:"],
    ...["o:soname:lib.so", "o:T:s.ld"],
  ]);
  expect(() => read("a.o -o")).toThrow(InputError);
});

test("what it means to tsc-lto", () => {
  const options = (line: string): string => linkerOptions(line.split(" ")).join(" ");
  expect(options("-shared --version-script=v.map -E")).toBe(
    "--shared --version-script v.map --export-dynamic",
  );
  expect(options("-pie -e start --wrap f")).toBe("--relocation-model pie --entry start --wrap f");
  expect(options("--opt-remarks-filename r.yaml")).toBe("--opt-remarks-filename=r.yaml");
  expect(options("--build-id --gc-sections -z now")).toBe("");
});

test("options that only tsc-lto has", () => {
  const options = (line: string): string => linkerOptions(line.split(" ")).join(" ");
  expect(options("--tsc-lto=--no-ipra -E --tsc-lto=--skip-pass=gvn --tsc-lto=-O2")).toBe(
    "--no-ipra --export-dynamic --skip-pass=gvn -O2",
  );
  expect(options("--tsc-lto --no-outline")).toBe("--no-outline");
  expect(read("--tsc-lto=--no-ipra --tsc-lto -O2 a.o")).toEqual([
    ...["o:tsc-lto:--no-ipra", "o:tsc-lto:-O2", "i::a.o"],
  ]);
  for (const word of ["", "a.o", "-o", "-oa.s", "-", "--"])
    expect(() => options(`--tsc-lto=${word}`), word).toThrow(InputError);
});
