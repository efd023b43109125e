/** LLVM's linker and ours with the same distributor: what one describes the other describes in the same form, and both get their program. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { unitProgram } from "./program.js";

const command = builtCommands();
const folder = mkdtempSync(join(tmpdir(), "dtlto-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The oldest that has the protocol for ELF; with what it wants to be distributed by, of the same version. */
const version = ["22", "23", "21"].find((n) =>
  [`ld.lld-${n}`, `clang-${n}`].every((program) => spawnSync(program, ["--version"]).status === 0),
);
const description = join(folder, "description.json");
/** Keeps the description, then runs the jobs by the package's own distributor. */
const script = join(folder, "distributor.mjs");

function run(program: string, ...args: string[]) {
  return spawnSync(program, args, { cwd: folder, encoding: "utf8" });
}
const distributed = (...more: string[]): string[] => [
  `--thinlto-distributor=${process.execPath}`,
  ...[script, ...more].map((word) => `--thinlto-distributor-arg=${word}`),
];

interface Description {
  readonly common: { readonly linker_output: string; readonly args: string[]; readonly inputs: string[] };
  readonly jobs: { readonly args: string[]; readonly inputs: string[]; readonly outputs: string[] }[];
}
const words = expect.arrayContaining([expect.any(String)]);

/** What the protocol says of a description, whoever wrote it. */
function expectForm(output: string): Description {
  const told = JSON.parse(readFileSync(description, "utf8")) as Description;
  expect(Object.keys(told).sort()).toEqual(["common", "jobs"]);
  expect(Object.keys(told.common).sort()).toEqual(["args", "inputs", "linker_output"]);
  expect(told.common).toEqual({ linker_output: output, args: words, inputs: [] });
  expect(told.jobs.length).toBeGreaterThan(1);
  for (const job of told.jobs) {
    expect(Object.keys(job).sort()).toEqual(["args", "inputs", "outputs"]);
    expect(job).toEqual({ args: words, inputs: words, outputs: words });
    // The last words say where the result goes.
    expect(job.args.slice(-2)).toEqual(["-o", job.outputs[0]]);
  }
  expect(new Set(told.jobs.map(({ outputs }) => outputs[0])).size).toBe(told.jobs.length);
  return told;
}

describe.skipIf(version === undefined)("a distributor of LLVM's (needs clang and lld 21 or newer)", () => {
  it("serves lld and tsc-lto alike", () => {
    writeFileSync(
      script,
      `import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
const file = process.argv.at(-1);
if (process.argv.length > 3) process.exit(9);
copyFileSync(file, ${JSON.stringify(description)});
execFileSync(${JSON.stringify(process.execPath)}, [${JSON.stringify(command("tsc-lto"))}, "distribute", file]);
`,
    );
    writeFileSync(join(folder, "a.c"), "int twice(int); int main(void) { return twice(21); }\n");
    writeFileSync(join(folder, "b.c"), "int twice(int x) { return 2 * x; }\n");
    const clang = `clang-${version}`;
    expect(run(clang, "-O2", "-flto=thin", "-c", "a.c", "b.c").stderr).toBe("");
    const remote = spawnSync("sh", ["-c", `command -v ${clang}`], { encoding: "utf8" }).stdout.trim();
    const before = readdirSync(folder);
    const lld = (...more: string[]) =>
      run(
        `ld.lld-${version}`,
        "-e",
        "main",
        "a.o",
        "b.o",
        "-o",
        "prog",
        `--thinlto-remote-compiler=${remote}`,
        ...more,
      );
    expect(lld(...distributed()).stderr).toBe("");
    const theirs = expectForm("prog");
    expect(theirs.common.args[0]).toBe(remote);

    writeFileSync(join(folder, "in.ll"), unitProgram());
    const ours = (...more: string[]) =>
      run(
        process.execPath,
        command("tsc-lto"),
        "in.ll",
        "-r",
        "-o",
        "out.s",
        "--parallel-threshold=0",
        ...more,
      );
    expect(ours(...distributed()).stderr).toBe("");
    expectForm("out.s");
    const text = readFileSync(join(folder, "out.s"), "utf8");
    expect(ours("-j1").status).toBe(0);
    expect(readFileSync(join(folder, "out.s"), "utf8")).toBe(text);

    // Nothing is left behind, and a distributor that fails is an error to both.
    const after = readdirSync(folder).filter((name) => !before.includes(name));
    expect(after.sort()).toEqual(["description.json", "in.ll", "out.s", "prog"]);
    for (const failing of [lld(...distributed("fail")), ours(...distributed("fail"))]) {
      expect(failing.status).toBe(1);
      expect(failing.stderr).toContain("error: ");
    }
  }, 240_000);
});
