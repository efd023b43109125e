/** `tsc-lto measure`, on programs small enough to be linked many times. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findProgram } from "../../bin/host/programs.js";
import { main as runLd } from "../../bin/ld/main.js";
import { main } from "../../bin/lto/main.js";
import { writeObject } from "../../formats/object/index.js";
import type { PageData } from "../../formats/size-report/page-data.js";
import { parseModule } from "../../formats/text/index.js";
import { capture, temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();
const path = (name: string): string => join(folder, name);
const run = (...args: string[]) => capture(main, args, { cwd: folder });

interface Findings {
  readonly settings: {
    name: string;
    measured: { bytes: { code: number; unwind?: number }; loaded: number; file: number; run: number | null };
  }[];
  readonly effects: { name: string; saves: number; alone: number | null; shapley: number | null }[];
  readonly pairs: { names: string }[];
  readonly links: number;
}

const lld = findProgram((process.env["PATH"] ?? "").split(":"), [
  "ld.lld",
  "ld.lld-22",
  "ld.lld-21",
  "ld.lld-19",
]);

const body = (n: number): string => `define void @g${n}(i32 %x) minsize optsize noinline nounwind uwtable {
  call void @e(i32 11, i32 %x, i32 77)
  call void @e(i32 %x, i32 1234567, i32 5)
  call void @e(i32 %x, i32 7654321, i32 %x)
  call void @e(i32 ${n}, i32 ${n}, i32 0)
  ret void
}\n`;
const numbers = [1, 2, 3, 4];
const program = `target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
declare void @e(i32, i32, i32)
${numbers.map(body).join("")}
define i32 @main(i32 %n) minsize optsize nounwind uwtable {
${numbers.map((n) => `  call void @g${n}(i32 %n)\n`).join("")}  ret i32 0
}\n`;

beforeAll(() => {
  writeFileSync(path("p.ll"), program);
  writeFileSync(path("p.o"), writeObject(parseModule(program, "p.c")));
  writeFileSync(path("e.c"), "void e(int a, int b, int c) {}\n");
  execFileSync("cc", ["-O1", "-c", "e.c"], { cwd: folder });
});

async function measured(...words: string[]): Promise<Findings> {
  const { code, out, err } = await run("measure", "--json", ...words);
  expect(err).toBe("");
  expect(code).toBe(0);
  return JSON.parse(out) as Findings;
}

describe("measure", () => {
  it("compares times and sizes with the last setting", async () => {
    const { code, out } = await run(
      "measure",
      "--compare",
      "--csv",
      "--links=2",
      "--run=true",
      "--runs=3",
      "--without=outline",
      "--without=ipra,outline",
      "--",
      path("p.ll"),
    );
    expect(code).toBe(0);
    const [head, ...rows] = out
      .trim()
      .split("\n")
      .map((line) => line.split(","));
    expect(head).toEqual([
      "setting",
      "link ms",
      "",
      "change",
      "run ms",
      "",
      "change",
      "size",
      "change",
      "file",
    ]);
    // The name of the last one has a comma.
    expect(rows.map((row) => row[0])).toEqual(["all", "without outline", '"without ipra']);
    expect(rows.at(-1)!.at(-2)).toBe("0.0%");
    expect(rows[0]!.at(-2)).toMatch(/^-\d/);
    expect(rows[0]![2]).toMatch(/^±\d/);
  });

  it("writes a page with what it measured", async () => {
    const words = ["--decisions=outline,ipra", "--shapley=1", `--html=${path("m.html")}`];
    const { code, err } = await run("measure", ...words, "--", path("p.ll"));
    expect([code, err]).toEqual([0, ""]);
    const json = /type="application\/json">(.*?)<\/script>/s.exec(readFileSync(path("m.html"), "utf8"))![1]!;
    const { measured: found, leaves, symbols } = JSON.parse(json) as PageData;
    const { all, none, steps } = found!;
    expect(steps.map(({ name }) => name).sort()).toEqual(["ipra", "outline"]);
    expect(steps.reduce((sum, { shapley }) => sum + shapley!, 0)).toBeCloseTo(none - all);
    expect(leaves.names).toContain("g1");
    expect(symbols.stack.some((bytes) => bytes > 0)).toBe(true);
  });

  it("links inputs with everything, without each decision, with each alone, with none", async () => {
    const list = "shared-unwind,outline,ir-outline,merge-similar-functions";
    const { settings, effects, links } = await measured(`--decisions=${list}`, "--", path("p.ll"));
    expect(settings.map(({ name }) => name)).toEqual([
      "all",
      "none",
      ...list.split(",").flatMap((name) => [`without ${name}`, `only ${name}`]),
    ]);
    expect(links).toBe(10);
    const loaded = (name: string): number => settings.find((one) => one.name === name)!.measured.loaded;
    for (const { name, saves, alone } of effects) {
      expect(saves).toBe(loaded(`without ${name}`) - loaded("all"));
      expect(alone).toBe(loaded("none") - loaded(`only ${name}`));
    }
    const unwind = effects.find(({ name }) => name === "shared-unwind")!;
    // Of five functions at least four descriptions of 20 bytes, each with an entry of 8 in the header.
    expect(unwind.alone).toBeGreaterThanOrEqual(4 * 28);
    // What either of three does alone, the others do where it is left out.
    expect(effects.filter(({ name }) => name !== "shared-unwind").map(({ alone }) => alone! > 0)).toContain(
      true,
    );
    expect(loaded("none")).toBeGreaterThan(loaded("all"));
  });

  it("measures what is asked for, and nothing twice", async () => {
    const words = ["--without=ipra", "--without=gvn,ipra", "--only=outline", "--", path("p.ll")];
    const { settings, effects } = await measured(...words);
    expect(settings.map(({ name }) => name)).toEqual([
      "all",
      "without ipra",
      "without gvn,ipra",
      "only outline",
    ]);
    expect(effects).toEqual([]);
  });

  it("Shapley values add up to what all save", async () => {
    const words = ["--decisions=outline,ir-outline", "--shapley=2", "--no-alone", "--", path("p.ll")];
    const { settings, effects, links } = await measured(...words);
    const [all, none] = settings;
    const sum = effects.reduce((total, { shapley }) => total + shapley!, 0);
    expect(sum).toBe(none!.measured.loaded - all!.measured.loaded);
    expect(links).toBe(4);
  });

  it("does a recorded link step again, and runs its programs", async () => {
    const args = ["-o", "linked", "-e", "main", "--noinhibit-exec", "p.o", "e.o"];
    const env = { ...process.env, TSC_LTO_RECORD: path("records") };
    const linked = await capture(
      runLd,
      args.map((word) => (/\.o$/.test(word) ? path(word) : word)),
      { cwd: folder, env },
    );
    expect(linked.err).toBe("");
    expect(linked.code).toBe(0);
    const record = path("records/linked");
    expect(JSON.parse(readFileSync(join(record, "record.json"), "utf8"))).toMatchObject({
      version: 1,
      output: "linked",
    });
    const words = ["--decisions=outline", "--no-alone", "--run=test -f $PROGRAM", "--runs=3", "--", record];
    const { settings } = await measured(...words);
    const { bytes, run: time } = settings[0]!.measured;
    // The same bytes as in the program that the build made.
    const { out } = await run("size", "linked", "--by=use", "--csv", "--top=0");
    expect(out).toContain(`\ncode,${bytes.code},`);
    expect(time).toBeGreaterThan(0);
    expect(existsSync(path("linked"))).toBe(true);
  });

  it("keeps files that do not outlive the link, and leaves no record where none is wanted", async () => {
    const passing = path("cc1a2b3c.o");
    writeFileSync(passing, readFileSync(path("e.o")));
    const env = { ...process.env, TSC_LTO_RECORD: path("more") };
    await capture(runLd, ["-o", "x", "-e", "main", path("p.o"), passing], { cwd: folder, env });
    const { link } = JSON.parse(readFileSync(path("more/x/record.json"), "utf8")) as { link: string[] };
    expect(link.some((word) => word.startsWith(path("more/x/")) && existsSync(word))).toBe(true);
    await capture(runLd, ["-o", "y", "-e", "main", path("p.o"), path("e.o")], { cwd: folder });
    expect(existsSync(path("more/y"))).toBe(false);
  });

  it("shows programs of others beside", async () => {
    const against = `--against=plain=cc -shared -nostdlib -o $PROGRAM ${path("e.o")}`;
    const { settings } = await measured("--without=ipra", against, "--", path("p.ll"));
    expect(settings.at(-1)!.name).toBe("plain");
    expect(settings.at(-1)!.measured.bytes.code).toBeGreaterThan(0);
  });

  it.skipIf(lld === undefined)("lets LLVM optimise the same module (needs lld)", async () => {
    const peers = ["--against=lld", "--against=lld-outliner"];
    const { settings } = await measured("--without=ipra", ...peers, "--", path("p.ll"));
    const [all, , plain, outlined] = settings.map(({ measured: { bytes } }) => bytes);
    expect(settings.map(({ name }) => name).slice(2)).toEqual(["lld", "lld-outliner"]);
    // It has unwind descriptions for each function, and at these sizes nothing of its own to share.
    expect(plain!.code).toBeGreaterThan(all!.code);
    expect(plain!.unwind).toBeGreaterThan(all!.unwind!);
    expect(outlined!.code).not.toBe(plain!.code);
  });

  it("says that there is no lld", async () => {
    const env = { ...process.env, PATH: folder };
    const { code, err } = await capture(
      main,
      ["measure", "--without=ipra", "--against=lld", "--", path("p.ll")],
      {
        cwd: folder,
        env,
      },
    );
    expect(code).toBe(1);
    expect(err).toMatch(/no ld\.lld on PATH|cannot run 'as'/);
  });

  it("looks at pairs of those that save most", async () => {
    const list = "shared-unwind,outline,ir-outline,merge-similar-functions";
    const { effects, pairs } = await measured(
      `--decisions=${list}`,
      "--no-alone",
      "--pairs=2",
      "--",
      path("p.ll"),
    );
    expect(pairs.map(({ names }) => names.split(", ").sort())).toEqual([
      effects
        .slice(0, 2)
        .map(({ name }) => name)
        .sort(),
    ]);
  });

  it("prints tables", async () => {
    const words = ["--decisions=outline,ir-outline", "--pairs", "--no-alone", "--", path("p.ll")];
    const { out } = await run("measure", "--markdown", ...words);
    expect(out).toMatch(/^\| all \| \d+ \|/m);
    expect(out).toMatch(/^\| decision \| saves \| what it is \|$/m);
    expect(out).toMatch(/^\| outline, ir-outline \| -?\d+ \| [+-]?\d+ \|$/m);
  });

  it.each([
    [["--without=legalize", "--", "p.ll"], 1, "nothing to leave out is called legalize"],
    [["--", "missing.ll"], 1, "cannot open missing.ll"],
    [["--against=x", "--", "p.ll"], 2, "expected NAME=COMMAND or one of lld, lld-ipra"],
    [["--pairs=x", "--", "p.ll"], 2, "expected a number"],
    [["--run=false", "--without=ipra", "--", path("p.ll")], 1, "false: exit code 1"],
    [[], 2, "missing required argument"],
  ])("%j is refused", async (words, exitCode, message) => {
    const { code, err } = await run("measure", ...words);
    expect(err).toContain(message);
    expect(code).toBe(exitCode);
  });
});
