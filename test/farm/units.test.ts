/** Functions compiled elsewhere: the output is that of one thread, whatever becomes of the work. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeMasks, encodeMasks } from "../../formats/unit/masks.js";
import { noRegisters, setOfWords } from "../../lto/codegen/register-set.js";
import { builtCommands } from "../support/built.js";
import { edit, linkWords, type Outcome, outcomeOf, unitProgram } from "./program.js";

const command = builtCommands();
const folder = mkdtempSync(join(tmpdir(), "units-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface UnitsOutcome extends Outcome {
  readonly refused: number;
}

function link(source: string, ...options: string[]): UnitsOutcome {
  const [input, output] = [join(folder, "in.ll"), join(folder, "out.s")];
  writeFileSync(input, source);
  rmSync(output, { force: true });
  const args = [command("tsc-lto"), ...linkWords(input, output), ...options];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", cwd: folder });
  const refused = Number(/(\d+) answers refused/.exec(stderr)?.[1] ?? 0);
  return { ...outcomeOf(status, stderr, output), refused };
}
const script = join(import.meta.dirname, "distributor.mjs");
const distributed = (source: string, how: string, ...options: string[]): UnitsOutcome =>
  link(
    source,
    `--thinlto-distributor=${process.execPath}`,
    `--thinlto-distributor-arg=${script}`,
    `--thinlto-distributor-arg=${how}`,
    ...options,
  );
const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
/** No larger than one phase of units needs. */
const smaller = unitProgram("", 90);

let first: UnitsOutcome | null = null;
/** What a link with a cache gives that knows nothing. @param name of a fresh copy of the cache that it leaves */
function coldLink(name: string): UnitsOutcome {
  first ??= link(unitProgram(), "--cache-dir=first", "-j2");
  cpSync(join(folder, "first"), join(folder, name), { recursive: true });
  return first;
}

describe("units of work", () => {
  const plain = { text: "", edited: "" };
  beforeAll(() => {
    plain.text = link(unitProgram(), "-j1").text;
    plain.edited = link(unitProgram(edit), "-j1").text;
    expect(plain.text).not.toBe("");
    expect(plain.edited).not.toBe(plain.text);
  }, 120_000);

  it("are done by threads where there is a cache, and only for what has changed", () => {
    const cache = ["--cache-dir=cache", "-j2"];
    const cold = coldLink("cache");
    expect(cold.text).toBe(plain.text);
    // Leaves and callers, and then all: 604 functions.
    expect(cold.came).toEqual([400, 200, 604]);
    for (const name of readdirSync(join(folder, "cache")))
      if (name.endsWith(".link")) rmSync(join(folder, "cache", name));
    const warm = link(unitProgram(), ...cache);
    expect(warm).toMatchObject({ text: plain.text, came: [] });
    const edited = link(unitProgram(edit), ...cache);
    expect(edited.text).toBe(plain.edited);
    expect(sum(edited.came)).toBeLessThan(30);
  }, 120_000);

  it("do not wait for each other where the last link tells what calls change, true or not", () => {
    const cache = ["--cache-dir=guesses", "-j2"];
    const directory = join(folder, "guesses");
    const masks = (): string =>
      join(directory, readdirSync(directory).find((name) => name.endsWith(".masks"))!);
    /** Without code of earlier links. */
    const again = (source: string): Outcome => {
      for (const name of readdirSync(directory)) if (!name.endsWith(".masks")) rmSync(join(directory, name));
      return link(source, ...cache);
    };
    expect(coldLink("guesses").text).toBe(plain.text);
    const right = readFileSync(masks());
    expect(again(unitProgram())).toMatchObject({ text: plain.text, came: [604, 604], refused: 0 });
    expect(readFileSync(masks()).equals(right)).toBe(true);
    // A leaf changes more than it did: its callers, theirs and what calls through the table are compiled again.
    const edited = again(unitProgram(edit));
    expect(edited).toMatchObject({ text: plain.edited, refused: 0 });
    expect(edited.came[0]).toBe(604);
    expect(readFileSync(masks()).equals(right)).toBe(false);
    // Guesses that are wrong, for some of the functions only, and of no use.
    const names = [...decodeMasks(right).keys()];
    const wrong = names.flatMap((name, i) =>
      i % 5 === 4 ? [] : [[name, i % 3 === 0 ? noRegisters : setOfWords(i % 3 === 1 ? -1 : i)] as const],
    );
    writeFileSync(masks(), encodeMasks(new Map(wrong)));
    expect(again(unitProgram())).toMatchObject({ text: plain.text, refused: 0 });
    expect(readFileSync(masks()).equals(right)).toBe(true);
    writeFileSync(masks(), right.subarray(0, -1));
    expect(again(unitProgram())).toMatchObject({ text: plain.text, came: [400, 200, 604] });
  }, 240_000);

  it("are done by a distributor, in whatever order", () => {
    for (const how of ["plain", "reversed"]) {
      const outcome = distributed(unitProgram(), how);
      expect(outcome).toMatchObject({ text: plain.text, came: [400, 200, 604], refused: 0 });
    }
    expect(readdirSync(folder).filter((name) => name.includes("tsc-lto-units"))).toEqual([]);
  }, 240_000);

  it.each(["damaged", "cut", "lost", "mixed"])(
    "that are %s are done here",
    (how) => {
      const outcome = distributed(unitProgram(), how);
      expect(outcome.text).toBe(plain.text);
      // Of the callers there is one unit, whose neighbour it is itself.
      expect(sum(outcome.came)).toBe(how === "mixed" ? 200 : 0);
      expect(outcome.refused > 0).toBe(how !== "lost");
    },
    240_000,
  );

  const canIsolate = spawnSync("unshare", ["-rmn", "sh", "-c", "mount -t tmpfs none /mnt"]).status === 0;
  it.skipIf(!canIsolate)(
    "need nothing but what they declare (needs unshare)",
    () => {
      const outcome = distributed(unitProgram(), "isolated");
      expect(outcome).toMatchObject({ text: plain.text, came: [400, 200, 604], refused: 0 });
    },
    240_000,
  );

  it("are run by the distributor that comes with the package", () => {
    const outcome = link(
      unitProgram(),
      `--thinlto-distributor=${command("tsc-lto")}`,
      "--thinlto-distributor-arg=distribute",
      "--thinlto-distributor-arg=-j2",
    );
    expect(outcome).toMatchObject({ text: plain.text, came: [400, 200, 604] });
  }, 240_000);

  it("end in an error where there is no distributor, or it fails", () => {
    const missing = link(smaller, "--thinlto-distributor=/nowhere/farm");
    expect(missing.status).toBe(1);
    expect(missing.said).toMatch(/error: cannot run the distributor \/nowhere\/farm: /);
    const failing = link(smaller, "--thinlto-distributor=/bin/false");
    expect(failing.said).toContain("error: the distributor /bin/false ended with code 1");
    const talkative = distributed(smaller, "talkative");
    expect(talkative.said).toMatch(
      /error: the distributor \S+ ended with code 3: [\s\S]{1000,2000}its last words\n$/,
    );
    const compiler = distributed(smaller, "plain", "--thinlto-remote-compiler=/bin/false");
    expect(compiler.status).toBe(1);
  });

  it("are left alone where somebody wants to see functions compiled", () => {
    const outcome = distributed(unitProgram(), "plain", "--check-regalloc");
    expect(outcome.text).toBe(plain.text);
    expect(outcome.said).toContain(
      "warning: --thinlto-distributor: other options ask to see functions compiled",
    );
  }, 120_000);

  it("that are no units are refused", () => {
    const file = join(folder, "garbage");
    writeFileSync(file, "tscltoU2 this is not what it says that it is, whatever follows here");
    const args = [command("tsc-lto"), "compile-unit", file, "-o", join(folder, "answer")];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toBe("tsc-lto: error: a unit of work is damaged\n");
  });
});
