/** What programs say to debuggers that tsc-cc makes of sources with -g. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";

const command = builtCommands();

const folder = temporaryFolder();
function run(file: string, ...more: string[]): string {
  const { status, stdout, stderr } = spawnSync(file, more, { cwd: folder, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

/** The entries of a program of these sources. */
function entries(...sources: string[]): string[] {
  const names = sources.map((_, i) => `${i}.c`);
  for (const [i, source] of sources.entries()) writeFileSync(join(folder, names[i]!), source);
  run(process.execPath, command("tsc-cc"), "-g", "-O2", ...names, "-o", "program");
  return run("readelf", "--debug-dump=info", "program").split(/^ <\d+><[0-9a-f]+>: /m);
}

it("calls of one macro that the link inlines are told apart", () => {
  // In two files, so that no compiler inlines them before.
  const found = entries(
    "extern volatile int sink;\nint callee(int x) { sink = x; int y = x * 3; sink = y; return y + x; }\n",
    `volatile int sink;
int callee(int);
#define BOTH(a, b) (callee(a) + callee(b))
__attribute__((noinline)) int caller(int p, int q) { return BOTH(p, q); }
int main(int argc, char **argv) { return caller(argc, argc + 5); }
`,
  );
  const calls = found.filter((entry) => entry.includes("(DW_TAG_inlined_subroutine)"));
  const inBoth = calls.filter((entry) => /DW_AT_call_line\s*: (\(data1\) )?4\s/.test(entry));
  expect(inBoth.length).toBe(2);
}, 240_000);

it("variables whose addresses are taken are in memory", () => {
  const found = entries(`struct pair { int a, b; };
__attribute__((noinline)) void look(struct pair *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
int main(int argc, char **argv) {
  struct pair kept = { argc, 2 };
  look(&kept);
  kept.a = 7;
  look(&kept);
  return kept.b;
}
`);
  const kept = found.filter(
    (entry) => entry.includes("(DW_TAG_variable)") && /DW_AT_name.*[ )]kept\s/.test(entry),
  );
  expect(kept.length).toBe(1);
  expect(kept[0]).toMatch(/DW_AT_location.*DW_OP_(fbreg|breg)/);
}, 240_000);

it("frames are described for debuggers alone where no code has unwind tables", () => {
  writeFileSync(
    join(folder, "f.c"),
    `__attribute__((noinline)) void look(int *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
int main(int argc, char **argv) { int kept[9] = { argc }; look(kept); look(kept + 1); return kept[2]; }
`,
  );
  writeFileSync(join(folder, "g.c"), "int other(void) { return 1; }\n");
  const none = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
  const build = (name: string, ...words: string[]): void =>
    void run(process.execPath, command("tsc-cc"), "-g", "-O2", ...words, "-o", name);
  run(process.execPath, command("tsc-cc"), "-g", "-O2", "-c", "g.c", "-o", "g.o");
  build("program", ...none, "f.c");
  build("stripped", ...none, "-Wl,--strip-debug", "f.c");
  build("mixed", ...none, "f.c", "g.o", "-Wl,-u,other");
  const sections = (name: string): Map<string, string> =>
    new Map(
      [...run("readelf", "-SW", name).matchAll(/\] (\.\S+) +\S+ +\S+ +\S+ ([0-9a-f]+)/g)].map(
        ([, section, size]) => [section!, size!],
      ),
    );
  const [whole, stripped, mixed] = ["program", "stripped", "mixed"].map(sections);
  for (const section of [".text", ".eh_frame", ".eh_frame_hdr"])
    expect(whole!.get(section), section).toBe(stripped!.get(section));
  expect(stripped!.has(".debug_frame")).toBe(false);
  // In an object there is one kind of them.
  expect(mixed!.has(".debug_frame")).toBe(false);
  const frames = run("readelf", "--debug-dump=frames", "program").split(".debug_frame section:")[1] ?? "";
  expect(frames.match(/ FDE /g)?.length).toBeGreaterThanOrEqual(2);
  expect(frames).toMatch(/DW_CFA_def_cfa_offset: \d\d/);
}, 240_000);

/** Files that entries of a name say they are from, by the table of the unit that they are in: `UNIT NAME FILE`, each once. */
function filesSaid(name: string): string[] {
  const tables = run("readelf", "--debug-dump=rawline", name)
    .split(/^ {2}Offset: /m)
    .slice(1)
    .map((table) => {
      const rows = table.split("The File Name Table")[1]!.split("\n\n")[0]!;
      return new Map(
        [...rows.matchAll(/^ {2}(\d+)\s.*[\s/](\S+)$/gm)].map(([, number, file]) => [number!, file!]),
      );
    });
  // readelf 2.40 complains of lists of places, in clang's programs, too.
  const entries = run("sh", "-c", 'readelf --debug-dump=info "$0" 2>/dev/null', name);
  const units = entries.split("Compilation Unit @").slice(1);
  const said = units.flatMap((unit, u) => {
    const [head, ...inner] = unit.split(/^ <\d+><[0-9a-f]+>: /m).slice(1);
    const nameOf = (entry: string): string => /DW_AT_name\s.*[ )](\S+)\s*$/m.exec(entry)?.[1] ?? "";
    return inner.flatMap((entry) => {
      const number = /DW_AT_decl_file\s*: (?:\(\w+\) )?(\d+)/.exec(entry)?.[1];
      return number === undefined ? [] : [`${nameOf(head!)} ${nameOf(entry)} ${tables[u]!.get(number)}`];
    });
  });
  return [...new Set(said)].sort();
}

it.each(["-gdwarf-4", "-gdwarf-5"])(
  "files are those of the unit's own table (%s)",
  (version) => {
    const declared = "static inline int twice(int x) { int inner = x * 3; return inner ^ x; }\n";
    writeFileSync(join(folder, "twice.h"), declared);
    writeFileSync(
      join(folder, "k1.c"),
      `extern volatile int sink;
#include "twice.h"
__attribute__((noinline)) int first(int x) { sink = twice(x); return x; }
`,
    );
    writeFileSync(
      join(folder, "k2.c"),
      `#include <stddef.h>
#include "twice.h"
volatile int sink;
size_t size;
int first(int);
int main(int argc, char **argv) { return first(argc) + twice(argc + 4); }
`,
    );
    run(process.execPath, command("tsc-cc"), "-g", version, "-O2", "k1.c", "k2.c", "-o", "files");
    const said = filesSaid("files").filter((line) => !line.endsWith(" x twice.h"));
    expect(said.map((line) => line.replace(/\S*(stddef|size_t)\S*\.h$/, "stddef.h"))).toEqual([
      "k1.c first k1.c",
      "k1.c inner twice.h",
      "k1.c twice twice.h",
      "k1.c x k1.c",
      "k2.c argc k2.c",
      "k2.c argv k2.c",
      "k2.c inner twice.h",
      "k2.c main k2.c",
      "k2.c sink k2.c",
      "k2.c size k2.c",
      "k2.c size_t stddef.h",
      "k2.c twice twice.h",
    ]);
  },
  240_000,
);
