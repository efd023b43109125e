/** Programs of the LLVM test suite, read from lists written like the suite's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ownInstructions, selectPrograms } from "../tools/bench/suite.js";

const suite = mkdtempSync(join(tmpdir(), "suite-"));
afterAll(() => rmSync(suite, { recursive: true, force: true }));

function write(name: string, text: string): void {
  mkdirSync(dirname(join(suite, name)), { recursive: true });
  writeFileSync(join(suite, name), text);
}

write(
  "MultiSource/Benchmarks/CMakeLists.txt",
  "list(APPEND CFLAGS -DALL) # for all\nadd_subdirectory(one)\n",
);
write(
  "MultiSource/Benchmarks/one/CMakeLists.txt",
  `if(NOT "\${ARCH}" STREQUAL "x86")
  list(APPEND CFLAGS -DOTHER)
elseif(LARGE_PROBLEM_SIZE)
  set(RUN_OPTIONS 1000)
else()
  if(SMALL_PROBLEM_SIZE AND (NOT ENDIAN STREQUAL "big"))
    set(RUN_OPTIONS "-n 3" < input)
  endif()
endif()
list(APPEND CPPFLAGS -DNAME="a b" -I\${CMAKE_CURRENT_SOURCE_DIR}/inc)
llvm_multisource(one)
set_property(TARGET one PROPERTY C_STANDARD 17)
llvm_test_data(one SOURCE_DIR \${CMAKE_CURRENT_SOURCE_DIR}/../data input)
`,
);
write("MultiSource/Benchmarks/one/b.cpp", "");
write("MultiSource/Benchmarks/one/a.c", "");
write(
  "SingleSource/Benchmarks/CMakeLists.txt",
  "set(Source two.c missing.c)\nllvm_singlesource(PREFIX x-)\n",
);
write("SingleSource/Benchmarks/two.c", "");

describe("lists of the suite", () => {
  test("options, sources, inputs of the small problem", () => {
    const [one] = selectPrograms(suite, ["one"]);
    const folder = join(suite, "MultiSource/Benchmarks/one");
    expect(one!.units.map((u) => u.source)).toEqual([join(folder, "a.c"), join(folder, "b.cpp")]);
    expect(one!.units[0]!.flags).toEqual(["-w", '-DNAME="a b"', `-I${folder}/inc`, "-DALL"]);
    expect(one!.units[1]!.flags).not.toContain("-DALL");
    expect(one!.runOptions).toBe("-n 3 < input");
    expect(one!.libs).toContain("-lstdc++");
    expect([...one!.data.values()]).toEqual([join(suite, "MultiSource/Benchmarks/data/input")]);
  });

  test("what is there of a list of single files", () => {
    expect(selectPrograms(suite, ["all"]).map((p) => p.name)).toEqual(["one", "x-two"]);
  });

  test("names that there are none of, and folders without programs", () => {
    expect(() => selectPrograms(suite, ["three"])).toThrow("no program 'three'");
    expect(() => selectPrograms(join(suite, "SingleSource"), [])).toThrow("no programs");
  });
});

test("instructions of a program's own functions", () => {
  const profile = "events: Ir\nfl=???\nfn=main\n0 10\n0 5\nfn=memcpy\n3 100\nfn=f\n0 7\nsummary: 122\n";
  expect(ownInstructions(profile, new Map([["main", 1], ["f", 1]]))).toBe(22); // biome-ignore format: short
});
