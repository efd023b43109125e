/** MEASUREMENTS.md and its chart are what the figures beside them say. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectFile } from "../support/expected.js";
import { buildFiguresIn, ofTheSmaller } from "../tools/measurements/builds.js";
import { chart } from "../tools/measurements/chart.js";
import { decisionFiguresIn, savedBy } from "../tools/measurements/decisions.js";
import { dispatchFiguresIn } from "../tools/measurements/dispatch.js";
import { type Figures, loaded, ratios } from "../tools/measurements/figures.js";
import { ipraFiguresIn } from "../tools/measurements/ipra.js";
import { measurementsPage } from "../tools/measurements/page.js";

const root = join(import.meta.dirname, "../..");
const figures = JSON.parse(readFileSync(join(root, "fixtures/measurements/sizes.json"), "utf8")) as Figures;

describe("measurements", () => {
  it("the page", () =>
    expectFile(
      measurementsPage(
        figures,
        buildFiguresIn(root),
        decisionFiguresIn(root),
        ipraFiguresIn(root),
        dispatchFiguresIn(root),
      ),
      join(root, "MEASUREMENTS.md"),
    ));
  it("the chart", () => expectFile(chart(figures), join(root, "fixtures/measurements/sizes.svg")));
  it("of builds are of twenty packages or more, none of them larger than others make it", () => {
    const packages = Object.values(buildFiguresIn(root).packages);
    const ratios = packages.flatMap((figure) => ofTheSmaller(figure) ?? []);
    expect(ratios.length).toBeGreaterThanOrEqual(20);
    for (const [i, ratio] of ratios.entries()) expect(ratio, packages[i]!.system).toBeLessThanOrEqual(1);
    const systems = packages.map(({ system }) => system);
    for (const [system, least] of [
      ["libtool", 10],
      ["cmake", 5],
      ["meson", 2],
      ["C++", 3],
      ["cargo", 1],
    ] as const)
      expect(systems.filter((each) => each.includes(system)).length, system).toBeGreaterThanOrEqual(least);
  });
  it("of decisions agree with themselves: pairs with what each saves, and all with LLVM's", () => {
    const programs = Object.entries(decisionFiguresIn(root).programs);
    expect(programs.length).toBeGreaterThanOrEqual(2);
    for (const [name, program] of programs) {
      for (const { decisions, costs, beyond } of program.pairs) {
        const each = decisions.map((decision) => savedBy(program, decision)!);
        expect(costs - each.reduce((sum, bytes) => sum + bytes, 0), `${name} ${decisions}`).toBe(beyond);
      }
      const { text, oneFile, several, padding, sections, differ } = program.origins;
      expect([text - oneFile - several - padding, differ], name).toEqual([0, 0]);
      expect(sections).toBeGreaterThan(10);
      if (program.settings["all"] === undefined) continue;
      for (const peer of ["none", "lld", "lld-ipra", "lld-outliner", "lld-both"])
        expect(program.settings["all"].loaded, `${name} ${peer}`).toBeLessThan(
          program.settings[peer]!.loaded,
        );
    }
  });
  it("of code chosen by the processor are of libraries that pass their tests, each in functions for more than SSE2", () => {
    const libraries = Object.entries(dispatchFiguresIn(root).libraries);
    expect(libraries.length).toBeGreaterThanOrEqual(4);
    for (const [name, { tests, commands }] of libraries) {
      expect([name, tests]).toEqual([name, true]);
      expect(commands.length, name).toBeGreaterThanOrEqual(2);
      expect(
        commands.some(({ widest }) => widest === "ymm" || widest === "zmm"),
        name,
      ).toBe(true);
    }
  });
  it("are of a commit and of several programs, each beside clang", () => {
    expect(figures.commit).toMatch(/^[0-9a-f]{7,}$/);
    expect(ratios(figures, "ours", "clang", loaded).length).toBeGreaterThanOrEqual(4);
  });
});

describe("the README", () => {
  it("fits on few screens", () => {
    expect(readFileSync(join(root, "README.md")).byteLength).toBeLessThanOrEqual(12_000);
  });
  it.each(["README.md", "MANUAL.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "lto/DECISIONS.md"])(
    "%s links to files that are there",
    (page) => {
      const text = readFileSync(join(root, page), "utf8");
      const targets = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target]) => target!);
      const named = [...text.matchAll(/`((?:test|fixtures|lto|bin|formats)\/[\w./-]+)`/g)].map(([, name]) =>
        name!.replace(/\/NAME$/, ""),
      );
      for (const name of named) expect(existsSync(join(root, name)), name).toBe(true);
      for (const target of targets)
        expect(() => readFileSync(join(root, dirname(page), target)), target).not.toThrow();
    },
  );
});
