/** What becomes of linker options in real links: of each whether tsc-lto, the linker, both or none gets it, and which are errors. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { builtDriver } from "../shell/built-driver.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();
const driver = builtDriver();

const w = new Workspace({
  "a.c": `int other(int); int state = 1; int __wrap_hidden(int x) { return x; } int unneeded(void) { return state; }
    int main(int c, char **v) { return other(c) + state; }`,
  "b.c": "int hidden(int); int other(int x) { return hidden(x) + 40; }",
  "list.txt": "{ state; };\n",
  "version.txt": "V { global: *; };\n",
});
// What the linker is called with goes to a file; the linker is GNU's.
writeFileSync(
  w.path("ld.recorder"),
  `#!/bin/sh\nprintf '%s\\n' "$@" >> ${w.path("called")}\nexec ld.bfd "$@"\n`,
);
chmodSync(w.path("ld.recorder"), 0o755);
const words = (line: string): string[] => line.split(" ").flatMap((word) => ["-Xlinker", word]);

/** A link with linker options: what it says, words of tsc-lto and of the linker. */
function link(line: string, output: string) {
  rmSync(w.path("called"), { force: true });
  const sources = [w.path("a.c"), w.path("b.c")];
  const result = driver(w, [
    "-O1",
    "-v",
    `-B${w.directory}`,
    "-fuse-ld=recorder",
    ...sources,
    ...words(line),
    "-o",
    output,
  ]);
  const own = /^ ".*tsc-lto" .*$/m.exec(result.stderr)?.[0] ?? "";
  const linker = existsSync(w.path("called")) ? w.text("called").split("\n") : [];
  return { code: result.code, stderr: result.stderr, own, linker };
}

/** Options that the linker alone gets, as they are. */
const passedOn = [
  "-O1",
  "--as-needed",
  "--no-as-needed",
  "--hash-style=gnu",
  "--build-id=sha1",
  "--gc-sections",
  "--eh-frame-hdr",
  "-z now",
  "-z relro",
  "-z noexecstack",
  "-z separate-code",
  "-z max-page-size=4096",
  "--no-allow-shlib-undefined",
  "--warn-common",
  "--sort-common",
  "--sort-section=alignment",
  "-rpath=/nowhere",
  "-rpath-link=/nowhere",
  "--enable-new-dtags",
  "--disable-new-dtags",
  "--trace-symbol=nothing",
  "--demangle",
  "--no-demangle",
  "--no-fatal-warnings",
  "--no-keep-memory",
  "--reduce-memory-overheads",
  "--unresolved-symbols=report-all",
  "--orphan-handling=place",
  "--compress-debug-sections=none",
  "--no-copy-dt-needed-entries",
  "--no-omagic",
  "--relax",
  "--no-warn-mismatch",
  "--warn-once",
  "--no-undefined-version",
  "--dependency-file=p.d",
];

/** Options that tsc-lto gets, by what it is told; no linker does. */
const done: readonly (readonly [line: string, own: string])[] = [
  ["--no-ipra", '"--no-ipra"'],
  ["--outline-rounds=1", '"--outline-rounds=1"'],
  ["--skip-pass gvn", '"--skip-pass=gvn"'],
  ["--tsc-lto=--stats", '"--stats"'],
  ["--lto-O0", '"-O" "0"'],
  ["--thinlto-jobs=2", '"-j" "2"'],
  ["--thinlto-cache-dir=cache", '"--cache-dir" "cache"'],
  ["--thinlto-cache-policy=cache_size_bytes=1m", '"--cache-size" "1m"'],
  ["-mllvm -enable-ipra=false", '"--mllvm=-enable-ipra=false"'],
  ["-plugin-opt=jobs=1", '"-j" "1"'],
  ["--opt-remarks-filename=r.yaml", '"--opt-remarks-filename=r.yaml"'],
  ["--size-report=s.json", '"--size-report=s.json"'],
  ["--no-fat-lto-objects", '"--no-fat-lto-objects"'],
  ["--no-embedded-bitcode", '"--no-embedded-bitcode"'],
  ["--lto-whole-program-visibility", '"--lto-whole-program-visibility"'],
];

/** Both get them: the linker as they are, tsc-lto by what it is told. */
const both: readonly (readonly [line: string, own: string])[] = [
  ["--export-dynamic", '"--export-dynamic"'],
  ["--export-dynamic-symbol=state", '"--export-dynamic-symbol" "state"'],
  ["--dynamic-list=list.txt", '"--dynamic-list" "list.txt"'],
  ["--dynamic-list-data", '"--export-dynamic"'],
  ["--dynamic-list-cpp-typeinfo", '"_ZTI*"'],
  ["--version-script=version.txt", '"--version-script" "version.txt"'],
  ["-Bsymbolic-functions", '"--symbolic-functions"'],
  ["--exclude-libs=ALL", '"--exclude-libs" "ALL"'],
  ["-u unneeded", '"--undefined" "unneeded"'],
  ["--require-defined=unneeded", '"--undefined" "unneeded"'],
  ["--defsym=alias=state", '"--defsym=alias=state"'],
  ["-z muldefs", '"--allow-multiple-definition"'],
  ["-s", '"--strip-debug"'],
];

/** Nobody gets them: there is nothing to be done, or GNU ld does without. */
const accepted = [
  "--lto=full",
  "--lto-partitions=4",
  "--lto-CGO2",
  "--lto-O3",
  "--no-lto-pgo-warn-mismatch",
  "-plugin-opt=mcpu=x86-64",
  "--icf=all",
  "--print-icf-sections",
  "--threads=4",
  "--gdb-index",
  "--call-graph-profile-sort=none",
  "--no-warn-symbol-ordering",
  "--keep-unique=state",
];

/** GNU ld gets others. */
const translated: readonly (readonly [line: string, words: string])[] = [
  ["--pack-dyn-relocs=relr", "-z pack-relative-relocs"],
  ["--rosegment", "-z separate-code"],
  ["--no-rosegment", "-z noseparate-code"],
];

/** Errors that name them; with GNU ld alone those of the second group. */
const refused = [
  "--thinlto-index-only",
  "--lto-sample-profile=p",
  "--lto-basic-block-sections=all",
  "--load-pass-plugin=p.so",
  "--opt-remarks-with-hotness",
  "--thinlto-emit-imports-files",
  "--lto-cs-profile-generate",
];
const withoutGnu = [
  "--why-extract=w",
  "--reproduce=r.tar",
  "--symbol-ordering-file=o",
  "--shuffle-sections=x=1",
  "--compress-sections=x=zlib",
  "--pack-dyn-relocs=android",
];

const inOrder = (line: string, all: readonly string[]): boolean => {
  const wanted = line.split(" ");
  return all.some((_, i) => wanted.every((word, k) => all[i + k] === word));
};

describe("in links with GNU ld", () => {
  const wrap = "--wrap=hidden";
  it("there are options of all ways", () => {
    const all = [passedOn, done, both, accepted, translated, refused, withoutGnu].map((list) => list.length);
    expect(all.reduce((sum, n) => sum + n)).toBeGreaterThan(60);
  });

  it("what the linker alone has to know reaches it, and nothing else does", () => {
    const { code, stderr, own, linker } = link([wrap, ...passedOn].join(" "), "passed");
    expect(code, stderr).toBe(0);
    for (const line of passedOn) {
      expect(inOrder(line, linker), line).toBe(true);
      expect(own, line).not.toContain(`"${line.split(" ")[0]}`);
    }
    expect(spawnSync(w.path("passed")).status).toBe(42);
  }, 60_000);

  it("what tsc-lto has to know reaches it alone, and what means nothing nobody", () => {
    const { code, stderr, own, linker } = link(
      [wrap, ...done.map(([line]) => line), ...accepted].join(" "),
      "done",
    );
    expect(code, stderr).toBe(0);
    for (const [line, told] of done) {
      expect(own, line).toContain(told);
      expect(inOrder(line, linker), line).toBe(false);
    }
    for (const line of accepted) {
      expect(own, line).not.toContain(`"${line}"`);
      expect(inOrder(line, linker), line).toBe(false);
    }
    expect(spawnSync(w.path("done")).status).toBe(42);
    for (const file of ["r.yaml", "s.json"]) expect(existsSync(w.path(file)), file).toBe(true);
  }, 60_000);

  it("what both have to know reaches both", () => {
    const lines = [[wrap, '"--wrap" "hidden"'] as const, ...both];
    const { code, stderr, own, linker } = link(lines.map(([line]) => line).join(" "), "both");
    expect(code, stderr).toBe(0);
    for (const [line, told] of lines) {
      expect(own, line).toContain(told);
      expect(inOrder(line, linker), line).toBe(true);
    }
    expect(spawnSync(w.path("both")).status).toBe(42);
  }, 60_000);

  it("GNU ld gets its own words for others'", () => {
    const { code, stderr, linker } = link(
      [wrap, ...translated.map(([line]) => line)].join(" "),
      "translated",
    );
    expect(code, stderr).toBe(0);
    for (const [line, instead] of translated) {
      expect(inOrder(instead, linker), line).toBe(true);
      expect(inOrder(line, linker), line).toBe(false);
    }
  }, 60_000);

  it.each([...refused, ...withoutGnu])(
    "%s is an error that names it",
    (line) => {
      const { code, stderr } = link(`${wrap} ${line}`, "none");
      expect(code).toBe(1);
      expect(stderr).toMatch(/^tsc-cc: error: .*$/m);
      expect(stderr).toContain(line);
      expect(existsSync(w.path("none"))).toBe(false);
    },
    60_000,
  );
});

it.each([
  ["--dynamic-list-data", "state"],
  ["--export-dynamic", "unneeded"],
])(
  "%s: what it exports is there, as without link-time optimisation",
  (option, symbol) => {
    expect(driver(w, ["-O1", "a.c", "b.c", `-Wl,${option},--wrap=hidden`, "-o", "ours"])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const cc = spawnSync("cc", ["-O1", "a.c", "b.c", `-Wl,${option},--wrap=hidden`, "-o", "native"], {
      cwd: w.directory,
    });
    expect(cc.status).toBe(0);
    const exported = (program: string) =>
      spawnSync("nm", ["-D", "--defined-only", program], { cwd: w.directory, encoding: "utf8" }).stdout;
    for (const program of ["native", "ours"])
      expect(exported(program), program).toMatch(new RegExp(` [BDT] ${symbol}$`, "m"));
  },
  60_000,
);
