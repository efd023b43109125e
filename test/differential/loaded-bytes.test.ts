/**
 * What is loaded is the same with and without debug information, byte for byte: no step may decide anything by it.
 * `npm run debug-info` asks the same of real programs.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { anyClangOption } from "../support/clang.js";
import { inThisProcess, temporaryFolder } from "../support/command.js";
import { mustRun } from "../tools/process.js";
import { projectRoot } from "../tools/root.js";

const clang = [anyClangOption];
const scratch = temporaryFolder();
const sources = [
  "c/control-flow.c",
  "c/computed-goto.c",
  "c/calls-recursion-registers.c",
  "c/element-addresses.c",
  "c/float-math.c",
  "debug/steps.c",
];

it.each(sources.flatMap((source) => ["-O2", "-Oz", "-O3"].map((level) => [source, level] as const)))(
  "%s %s",
  async (source, level) => {
    const dir = join(scratch, `${source.replaceAll(/[/.]/g, "-")}${level}`);
    mkdirSync(dir);
    const execute = inThisProcess(dir);
    const succeed = async (...command: string[]): Promise<void> => {
      const { status, stderr } = await execute(command);
      expect(stderr).toBe("");
      expect(status).toBe(0);
    };
    const at = (name: string): string => join(dir, name);
    const c = join(projectRoot(), "fixtures", source);
    await succeed("tsc-cc", ...clang, "-w", level, "-g", "-c", c, "-o", at("program.o"));
    const loaded = async (name: string, ...more: string[]): Promise<Buffer> => {
      await succeed("tsc-lto", at("program.o"), level, ...more, "-o", at(`${name}.s`));
      await mustRun(["cc", "-c", at(`${name}.s`), "-o", at(`${name}.o`)]);
      const { stdout } = await mustRun(["readelf", "-SW", at(`${name}.o`)]);
      // The test would say nothing of objects that have no debug information.
      expect(stdout.includes(".debug_info")).toBe(more.length === 0);
      await mustRun(["strip", "-g", at(`${name}.o`)]);
      return readFileSync(at(`${name}.o`));
    };
    expect((await loaded("full")).equals(await loaded("bare", "--strip-debug"))).toBe(true);
  },
);
