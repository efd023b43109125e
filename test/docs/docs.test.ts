/** What is generated in the documentation is up to date; `npm run docs` writes it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { processHost } from "../../bin/host/host.js";
import { linkerTable, spellingsOf } from "../../bin/host/linker-table.js";
import { environment } from "../../bin/lto/environment.js";
import { describeOptions } from "../../bin/lto/help.js";
import { main } from "../../bin/lto/main.js";
import { makeCommand } from "../../bin/lto/options.js";
import { subcommands } from "../../bin/lto/subcommands.js";
import { makeSubcommands } from "../../bin/size/main.js";
import { passes, productPasses } from "../../lto/pipeline/registry.js";
import { capture } from "../support/command.js";
import { expectFile } from "../support/expected.js";
import { passManual, table } from "./manual.js";

const root = join(import.meta.dirname, "../..");
const begin = "<!-- options: written by npm run docs -->\n";
const end = "<!-- end of options -->\n";

function optionTable(): string {
  const groups = describeOptions(makeCommand("")).map(({ heading, rows }) => {
    const cells = rows.map(({ flags, text }) => [`\`${flags}\``, text]);
    return `\n### ${heading}\n\n${table(["option", "what it does"], cells)}`;
  });
  return `${groups.join("")}\n`;
}

const beginMore = "<!-- subcommands: written by npm run docs -->\n";
const endMore = "<!-- end of subcommands -->\n";

function subcommandTables(): string {
  const services = { host: processHost(), print: () => {}, complain: () => {} };
  const sections = makeSubcommands(services, () => {}).commands.map((command) => {
    const rows = [...command.registeredArguments.map((one) => [`\`${one.name()}\``, one.description])];
    for (const { flags, description, defaultValue, argChoices } of command.options) {
      const isShown = typeof defaultValue === "number" && defaultValue > 0;
      const notes = [...(argChoices ?? []), ...(isShown ? [`default: ${defaultValue}`] : [])];
      rows.push([`\`${flags}\``, notes.length === 0 ? description : `${description} (${notes.join(", ")})`]);
    }
    return `\n### tsc-lto ${command.name()}\n\n${command.description()}\n\n${table(["word", "what it is"], rows)}`;
  });
  return `${sections.join("")}\n`;
}

const beginEnvironment = "<!-- environment: written by npm run docs -->\n";
const endEnvironment = "<!-- end of environment -->\n";

const environmentTable = (): string =>
  `\n${table(
    ["variable", "what it is for"],
    environment.map(([name, meaning]) => [`\`${name}\``, meaning]),
  )}\n`;

const beginLinker = "<!-- linker options: written by npm run docs -->\n";
const endLinker = "<!-- end of linker options -->\n";

function linkerOptionTable(): string {
  const rows = linkerTable.map((row) => [
    spellingsOf(row)
      .map((flags) => `\`${flags}\``)
      .join(", "),
    row.way,
    row.text,
  ]);
  return `\n${table(["option", "what becomes of it", "how"], rows)}\n`;
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

  it("the subcommands in MANUAL.md, each with its --help", async () => {
    const path = join(root, "MANUAL.md");
    const text = readFileSync(path, "utf8");
    const [from, to] = [text.indexOf(beginMore) + beginMore.length, text.indexOf(endMore)];
    expect(from, "the marker of the tables").toBeGreaterThanOrEqual(beginMore.length);
    expectFile(text.slice(0, from) + subcommandTables() + text.slice(to), path);
    const help = await capture(main, ["--help"], { cwd: root });
    for (const name of subcommands.keys()) {
      expect(help.out).toContain(`tsc-lto ${name}`);
      const { code, out } = await capture(main, [name, "--help"], { cwd: root });
      expect(code).toBe(0);
      expect(out).toContain(`Usage: tsc-lto ${name}`);
    }
  });

  it("the environment in MANUAL.md", () => {
    const path = join(root, "MANUAL.md");
    const text = readFileSync(path, "utf8");
    const [from, to] = [
      text.indexOf(beginEnvironment) + beginEnvironment.length,
      text.indexOf(endEnvironment),
    ];
    expect(from, "the marker of the table").toBeGreaterThanOrEqual(beginEnvironment.length);
    expect(to).toBeGreaterThanOrEqual(from);
    expectFile(text.slice(0, from) + environmentTable() + text.slice(to), path);
  });

  it("the options of linkers in MANUAL.md", () => {
    const path = join(root, "MANUAL.md");
    const text = readFileSync(path, "utf8");
    const [from, to] = [text.indexOf(beginLinker) + beginLinker.length, text.indexOf(endLinker)];
    expect(from, "the marker of the table").toBeGreaterThanOrEqual(beginLinker.length);
    expect(to).toBeGreaterThanOrEqual(from);
    expectFile(text.slice(0, from) + linkerOptionTable() + text.slice(to), path);
  });

  it("names of passes are words with dashes, each once", () => {
    const names = passes.map((pass) => pass.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
    expect(names).not.toContain("all");
  });
});
