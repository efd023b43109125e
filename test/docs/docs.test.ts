/** What is generated in the documentation is up to date; `npm run docs` writes it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeOptions, makeCommand } from "../../bin/lto/options.js";
import { passes, productPasses } from "../../lto/pipeline/registry.js";
import { expectFile } from "../support/expected.js";
import { passManual, table } from "./manual.js";

const root = join(import.meta.dirname, "../..");
const begin = "<!-- options: written by npm run docs -->\n";
const end = "<!-- end of options -->\n";

function optionTable(): string {
  const groups = describeOptions(makeCommand("")).map(({ heading, rows }) => {
    const cells = rows.map(([flags, text]) => [`\`${flags}\``, text]);
    return `\n### ${heading}\n\n${table(["option", "what it does"], cells)}`;
  });
  return `${groups.join("")}\n`;
}

describe("documentation", () => {
  it("lto/pipeline/PASSES.md", () => {
    expectFile(passManual(productPasses), join(root, "lto/pipeline/PASSES.md"));
  });

  it("the options in MANUAL.md", () => {
    const path = join(root, "MANUAL.md");
    const text = readFileSync(path, "utf8");
    const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
    expect(from, "the marker of the table").toBeGreaterThanOrEqual(begin.length);
    expect(to).toBeGreaterThanOrEqual(from);
    expectFile(text.slice(0, from) + optionTable() + text.slice(to), path);
  });

  it("--help has every option of passes and of their runner", () => {
    const help = makeCommand("").helpInformation();
    for (const word of [
      "--opt-bisect-limit",
      "--verify-each",
      "--print-changed",
      "--time-trace",
      "--guard-callees",
      "--guard-entries",
    ])
      expect(help).toContain(word);
  });

  it("names of passes are words with dashes, each once", () => {
    const names = passes.map((pass) => pass.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
    expect(names).not.toContain("all");
  });
});
