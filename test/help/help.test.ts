/** Manual pages and completions, which are made from the tables of options. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ccOptions } from "../../bin/cc/option-table.js";
import { allCommands } from "../../bin/help/commands.js";
import { allPages, sharedFiles } from "../../bin/help/files.js";
import { linkerTable } from "../../bin/host/linker-table.js";
import { environment } from "../../bin/lto/environment.js";
import { describeOptions } from "../../bin/lto/help.js";
import { main } from "../../bin/lto/main.js";
import { makeCommand } from "../../bin/lto/options.js";
import { markName } from "../../bin/serve/jobs.js";
import { makeSubcommands } from "../../bin/size/main.js";
import { parseCommandLine } from "../../frontend/clang/command-line.js";
import { capture, temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";

const root = join(import.meta.dirname, "../..");
const folder = temporaryFolder();
const host = {
  cwd: folder,
  env: {},
  colour: false,
  workers: false,
  stdin: () => new Uint8Array(),
  stdout: () => {},
  stderr: () => {},
};
const parsers = makeSubcommands({ host, print: () => {}, complain: () => {} }, () => {}).commands;
const files = sharedFiles(parsers);
const bash = join(folder, "bash-completion/completions/tsc-lto");

beforeAll(() => {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
});

const sourcesIn = (where: string): string[] =>
  readdirSync(join(root, where), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|cts|sh)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));

/** Every spelling of tsc-lto's options. */
const spellings = describeOptions(makeCommand(""))
  .flatMap(({ rows }) => rows.flatMap(({ flags }) => flags.split(", ")))
  .map((flags) => /^[^ <[=]*/.exec(flags)![0])
  .filter((name) => name.startsWith("-"));

describe("manual pages", () => {
  const pages = allPages(parsers);
  const textOf = (name: string): string => pages.get(name)!.replaceAll("\\-", "-");

  it("are those that the package has", () => {
    const { man } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { man: string[] };
    expect([...man].sort()).toEqual([...pages.keys()].map((name) => `dist/share/man/man1/${name}`).sort());
  });

  it("tell every option and every variable of the environment", () => {
    for (const name of spellings) expect(textOf("tsc-lto.1")).toContain(name);
    for (const { names } of linkerTable)
      for (const name of names) expect(textOf("ld.tsc-lto.1")).toContain(`-${name}`);
    for (const [name] of environment) expect(textOf("tsc-lto-size.1")).toContain(name);
  });

  it.skipIf(findProgram("groff") === undefined)("have nothing that groff warns of (needs groff)", () => {
    for (const name of pages.keys()) {
      const { stderr } = spawnSync("groff", ["-man", "-ww", "-Tascii", join(folder, "man/man1", name)], {
        encoding: "utf8",
      });
      expect(stderr.replaceAll(/^.*(?:can't break|cannot (?:break|adjust)).*\n/gm, ""), name).toBe("");
    }
  });

  it("are shown by the command", async () => {
    const { code, out } = await capture(main, ["man", "tsc-cc"], { cwd: folder });
    expect([code, out]).toEqual([0, pages.get("tsc-cc.1")]);
    const wrong = await capture(main, ["man", "nosuch"], { cwd: folder });
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain("there is no manual page 'nosuch'");
  });
});

describe("the environment's table", () => {
  it("has every variable of ours that the code asks for", () => {
    const own = new Set(
      ["bin", "frontend", "formats", "lto"]
        .flatMap((where) => sourcesIn(where))
        .flatMap((path) => readFileSync(path, "utf8").match(/\bTSC_LTO_[A-Z_]+/g) ?? []),
    );
    // Of the service's own processes, and nobody else's.
    own.delete(markName);
    const told = environment.map(([name]) => name).filter((name) => name.startsWith("TSC_LTO_"));
    expect([...told].sort()).toEqual([...own].sort());
  });
});

describe("tsc-cc's own options", () => {
  it("are taken by the driver itself", () => {
    const own = ccOptions
      .filter(({ heading }) => heading === "Compilers" || heading === "Objects")
      .flatMap(({ rows }) =>
        rows.flatMap(({ flags, choices }) => flags.split(", ").map((each) => [each, choices] as const)),
      );
    for (const [flags, choices] of own) {
      const words = flags.replace(/<.*>/, choices?.[0] ?? "2").split(" ");
      const { all, inputs } = parseCommandLine([...words, "-c", "a.c"]);
      expect({ flags, all, inputs: inputs.length }).toEqual({
        flags,
        all: all.filter(
          (word) => !words.includes(word) || word.startsWith("-ffat") || word.startsWith("-fno-fat"),
        ),
        inputs: 1,
      });
    }
  });
});

describe("completions", () => {
  /** What bash offers for the last word. */
  function offered(...words: string[]): string[] {
    const name = `_${words[0]!.replaceAll("-", "_").replace("++", "xx")}`;
    const script = `. '${bash}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ${name} 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = spawnSync("bash", ["-c", script, "bash", ...words], { cwd: root, encoding: "utf8" });
    return stdout.split("\n").filter((line) => line !== "");
  }

  it("of bash offer every option", () => {
    expect(offered("tsc-lto", "-")).toEqual(
      expect.arrayContaining(spellings.filter((name) => name !== "--color-diagnostics")),
    );
    expect(offered("tsc-lto", "size", "--bu")).toEqual(["--budget"]);
    expect(offered("tsc-cc", "-fno-elf")).toContain("-fno-elf-objects");
  });

  it("of bash offer words, files and subcommands where they belong", () => {
    expect(offered("tsc-lto", "--emit", "=", "e")).toEqual(["elf"]);
    expect(offered("tsc-lto", "--emit", "e")).toEqual(["elf"]);
    expect(offered("tsc-cc", "--codegen", "=").sort()).toEqual(["llvm", "own"]);
    expect(offered("tsc-lto", "--size-report", "=", "READ")).toEqual(["README.md"]);
    expect(offered("tsc-lto", "meas")).toEqual(["measure"]);
    expect(offered("tsc-lto", "completion", "f")).toEqual(["fish"]);
    // What may stand without a value has it in the same word only.
    expect(offered("tsc-lto", "--color-diagnostics", "=", "a").sort()).toEqual(["always", "auto"]);
    expect(offered("tsc-lto", "--color-diagnostics", "al")).toEqual([]);
  });

  it.skipIf(findProgram("zsh") === undefined)("of zsh can be read (needs zsh)", () => {
    expect(
      spawnSync("zsh", ["-n", join(folder, "zsh/site-functions/_tsc-lto")], { encoding: "utf8" }),
    ).toMatchObject({ status: 0, stderr: "" });
  });

  it.skipIf(findProgram("fish") === undefined)("of fish offer words and subcommands (needs fish)", () => {
    const file = join(folder, "fish/vendor_completions.d/tsc-lto.fish");
    const fish = (line: string): string[] =>
      spawnSync("fish", ["--no-config", "-c", `source ${file}; complete -C"${line}"`], {
        encoding: "utf8",
        env: { ...process.env, HOME: folder },
      })
        .stdout.split("\n")
        .map((each) => each.split("\t", 1)[0]!);
    expect(fish("tsc-lto --emi")).toContain("--emit");
    expect(fish("tsc-lto --emit e")).toContain("elf");
    expect(fish("tsc-lto meas")).toContain("measure");
    expect(fish("tsc-lto size --bud")).toContain("--budget");
  });

  it("have every option in each shell's own words", () => {
    const zsh = files.get("zsh/site-functions/_tsc-lto")!;
    const fish = files.get("fish/vendor_completions.d/tsc-lto.fish")!;
    for (const name of spellings.filter((each) => each.startsWith("--"))) {
      expect(zsh).toMatch(new RegExp(`'\\*${name}[=[]`));
      expect(fish).toMatch(new RegExp(` -l ${name.slice(2)} `));
    }
    expect(allCommands(parsers).map(({ name }) => name)).toEqual([
      "tsc-lto",
      "tsc-cc",
      "tsc-c++",
      "ld.tsc-lto",
    ]);
  });
});
