/** What the command says, and how: help by groups, colours, JSON, progress. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatMessage } from "../../bin/host/messages.js";
import { main } from "../../bin/lto/main.js";
import { optionTable, type Row } from "../../bin/lto/option-table.js";
import { ShownProgress } from "../../bin/lto/progress.js";
import { passOptions } from "../../lto/pass/options.js";
import { capture, type HostOptions, type Outcome, temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();
const source = join(folder, "a.ll");
writeFileSync(
  source,
  `target triple = "x86_64-unknown-linux-gnu"
define i32 @main() { ret i32 0 }
`,
);
const wrong = join(folder, "wrong.ll");
writeFileSync(wrong, "define nonsense\n");

const run = (words: string, options: Partial<HostOptions> = {}): Promise<Outcome> =>
  capture(
    main,
    [
      "-j1",
      ...words
        .split(" ")
        .filter(Boolean)
        .map((word) => word.replace("%", `${folder}/`)),
    ],
    { cwd: folder, ...options },
  );

describe("help", () => {
  it("is short, and --help-all has every option once", async () => {
    const short = await run("--help");
    const all = await run("--help-all");
    expect([short.code, all.code]).toEqual([0, 0]);
    expect(short.out.split("\n").length).toBeLessThan(all.out.split("\n").length / 2);
    expect(short.out).toContain("--help-all");
    const flags = [
      ...optionTable.flatMap(({ rows }) => Object.values<Row<unknown>>(rows).map((row) => row.flags)),
      ...passOptions.map(({ name, value }) => (value === "" ? `--${name}` : `--${name} ${value}`)),
    ];
    for (const each of flags)
      expect(all.out.split(`\n  ${each} `).length + all.out.split(`\n  ${each}\n`).length, each).toBe(3);
    for (const { heading } of optionTable) expect(all.out).toContain(`\n${heading}\n`);
  });

  it("has no defaults as the program has them", async () => {
    const { out } = await run("--help-all");
    expect(out).not.toMatch(/default: ("|\[|true|false|null|\d{5})/);
    expect(out).toMatch(/\(default:\s+1g\)/);
  });
});

describe("messages", () => {
  it("have colours where they are wanted", async () => {
    const coloured = "tsc-lto: \x1b[1;31merror:\x1b[0m ";
    expect((await run("%nosuch.o", { colour: true })).err).toContain(coloured);
    expect((await run("%nosuch.o")).err).toContain("tsc-lto: error: ");
    expect((await run("%nosuch.o --color-diagnostics")).err).toContain(coloured);
    for (const never of ["--color-diagnostics=never", "--no-color-diagnostics"])
      expect((await run(`%nosuch.o ${never}`, { colour: true })).err).toContain("tsc-lto: error: ");
  });

  it("are JSON, an object a line", async () => {
    const lines = async (words: string): Promise<unknown[]> =>
      (await run(`--json ${words}`)).err
        .trimEnd()
        .split("\n")
        .map((line): unknown => JSON.parse(line));
    expect(await lines("%nosuch.o %wrong.ll")).toEqual([
      expect.objectContaining({ program: "tsc-lto", severity: "error", file: join(folder, "nosuch.o") }),
      expect.objectContaining({ program: "tsc-lto", severity: "error", file: wrong }),
    ]);
    expect(await lines("%a.ll --export nosuch -o %a.s")).toEqual([
      { program: "tsc-lto", severity: "warning", message: "--export nosuch: nothing defines it" },
    ]);
    expect(await lines("--nosuch")).toEqual([expect.objectContaining({ severity: "error" })]);
    const refused = {
      severity: "error",
      file: "a.o",
      construct: "callbr",
      message: "unsupported: callbr",
    } as const;
    const style = { colour: true, json: true, quiet: false };
    expect(JSON.parse(formatMessage("tsc-lto", refused, style))).toEqual({ program: "tsc-lto", ...refused });
  });

  it("-q leaves out warnings, but no errors", async () => {
    expect((await run("-q %a.ll --export nosuch -o %a.s")).err).toBe("");
    expect((await run("-q %nosuch.o")).err).toContain("error");
  });

  it("-v tells what is read and written, and the phases", async () => {
    const { err } = await run("-v %a.ll -o %a.s");
    expect(err).toContain(`tsc-lto: reads ${source}: IR\n`);
    expect(err).toMatch(/tsc-lto: passes: \d+\.\d ms\n/);
    expect(err).toContain(`tsc-lto: writes ${folder}/a.s\n`);
  });
});

describe("progress", () => {
  const show = (columns = 80): { progress: ShownProgress; written: string[] } => {
    const written: string[] = [];
    return {
      progress: new ShownProgress((text) => written.push(text), columns, { delay: 0, interval: 0 }),
      written,
    };
  };

  it("goes forward, fits the terminal, and leaves an empty line", () => {
    const { progress, written } = show(40);
    for (const phase of ["read", "link", "passes", "compile", "emit"] as const) {
      for (let done = 0; done <= 3; done++) progress.reached(phase, done, 3);
      progress.finished(phase);
    }
    progress.reached("passes", 0, 3);
    const percent = written.map((text) => Number(/(\d+)%/.exec(text)![1]));
    expect(percent).toEqual([...percent].sort((a, b) => a - b));
    expect(percent.at(-1)).toBeGreaterThan(90);
    for (const text of written) expect(text.replace("\r", "").replace("\x1b[K", "").length).toBeLessThan(40);
    progress.clear();
    expect(written.at(-1)).toBe("\r\x1b[K");
  });

  it("takes the steps of a phase and gives its result", () => {
    const { progress, written } = show();
    function* steps() {
      yield { done: 1, total: 2 };
      yield { done: 2, total: 2 };
      return "result";
    }
    expect(progress.take("compile", steps())).toBe("result");
    expect(written.map((text) => /compile.*2/.exec(text)?.[0])).toEqual([
      "compile 1/2\x1b[K".slice(0, 11),
      "compile 2/2",
    ]);
  });

  it("shows nothing of a link that is over at once, nor where standard error is no terminal", async () => {
    expect((await run("%a.ll -o %a.s", { columns: 80 })).err).toBe("");
    expect((await run("%a.ll -o %a.s --progress=always")).err).toBe("");
    expect((await run("%a.ll -o %a.s --progress=sometimes")).code).toBe(2);
  });
});
