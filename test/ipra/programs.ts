/** Programs of text IR in one folder: compiled with every check there is, assembled, run. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { tscLto } from "../support/command.js";

export interface Programs {
  /** The assembly of a program, checked in every way there is. */
  compile(text: string, ...options: string[]): Promise<string>;
  /** What the program prints. */
  run(assembly: string): string;
}

/** @param skipped passes that would leave nothing to be seen */
export function programs(name: string, skipped: string): Programs {
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  afterAll(() => rmSync(dir, { recursive: true }));
  const [source, assembled, program] = ["a.ll", "a.s", "a"].map((file) => join(dir, file));
  const checks = ["--check-ipra", "--check-regalloc", "--verify"];
  return {
    async compile(text, ...options) {
      writeFileSync(source!, text);
      const { code: status, err: said } = await tscLto(
        [
          source!,
          "-o",
          assembled!,
          "--relocation-model",
          "pie",
          ...checks,
          `--skip-pass=${skipped}`,
          ...options,
        ],
        { cwd: dir },
      );
      expect({ status, said }).toEqual({ status: 0, said: "" });
      return readFileSync(assembled!, "utf8");
    },
    run(assembly) {
      writeFileSync(assembled!, assembly);
      execFileSync("cc", [assembled!, "-o", program!]);
      return execFileSync(program!, { encoding: "utf8" });
    },
  };
}
