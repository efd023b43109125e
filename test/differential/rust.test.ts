/**
 * The programs of fixtures/rust, as rustc links them for itself: `-C linker-plugin-lto`, with ld.tsc-lto as the linker. Their
 * output has to be what rustc gave without it when the fixture was written. The standard library is machine code.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";

const fixtures = join(import.meta.dirname, "..", "..", "fixtures", "rust");
const programs = readdirSync(fixtures).filter((name) => name.endsWith(".rs"));

/** LLVM writes bitcode that tsc-lto reads from this version of the compiler on. */
const isKnown = (): boolean => {
  const { stdout } = spawnSync("rustc", ["--version", "--verbose"], { encoding: "utf8" });
  const [, major] = /^LLVM version: (\d+)/m.exec(stdout ?? "") ?? [];
  return major !== undefined && Number(major) >= 15 && Number(major) <= 22;
};

describe.skipIf(!isKnown())("Rust programs", () => {
  const command = builtCommands();
  const folder = temporaryFolder();

  it.each(programs.flatMap((program) => ["0", "2", "z"].map((level) => [program, level] as const)))(
    "%s at opt-level %s",
    (program, level) => {
      const tools = join(folder, "tools");
      mkdirSync(tools, { recursive: true });
      if (!readdirSync(tools).includes("ld")) symlinkSync(command("tsc-ld"), join(tools, "ld"));
      const output = join(folder, `${program}.${level}`);
      const words = ["linker-plugin-lto", "linker=gcc", `link-arg=-B${tools}`, `opt-level=${level}`];
      const { status, stderr } = spawnSync(
        "rustc",
        ["--edition=2021", ...words.flatMap((word) => ["-C", word]), join(fixtures, program), "-o", output],
        { encoding: "utf8" },
      );
      expect([status, stderr]).toEqual([0, ""]);
      const run = spawnSync(output, { encoding: "utf8" });
      const expected = readFileSync(join(fixtures, program.replace(/rs$/, "expected")), "utf8");
      expect([run.status, run.stderr, run.stdout]).toEqual([0, "", expected]);
    },
    240_000,
  );
});
