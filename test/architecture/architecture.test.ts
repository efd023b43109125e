/** Holds ARCHITECTURE.md's rules: which folder may import which, and how long a file may get. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const layers = ["lto", "frontend", "formats", "bin"] as const;
type Layer = (typeof layers)[number];

/** What each layer may import from, besides itself. */
const allowed: Readonly<Record<Layer, readonly Layer[]>> = {
  lto: [],
  frontend: ["lto"],
  formats: ["lto"],
  bin: ["lto", "frontend", "formats"],
};
/** Modules of Node that touch the disk, processes or threads: none of lto's business. */
const impure = /^node:(fs|child_process|worker_threads|process|os|net|http)/;
const maximumLines = 700;

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile() && e.name.endsWith(".ts"))
    .map((e) => join(e.parentPath, e.name))
    .sort();
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/^(?:import\b[^"\n]*|export\b[^"\n]*\bfrom\s*|\} from\s*)"([^"\n]+)"/gm)].map(
    (m) => m[1]!,
  );
}

describe("architecture", () => {
  for (const layer of layers) {
    it(`${layer} imports only what it may`, () => {
      const files = sources(layer);
      expect(files.length).toBeGreaterThan(0);
      const wrong: string[] = [];
      for (const file of files) {
        for (const specifier of importsOf(file)) {
          if (specifier.startsWith(".")) {
            const target = relative(root, resolve(dirname(file), specifier)).split("/")[0] as Layer;
            if (target !== layer && layers.includes(target) && !allowed[layer].includes(target))
              wrong.push(`${relative(root, file)} → ${specifier}`);
          } else if (layer === "lto") wrong.push(`${relative(root, file)} → ${specifier}`);
          else if (layer === "formats" && impure.test(specifier))
            wrong.push(`${relative(root, file)} → ${specifier}`);
        }
      }
      expect(wrong).toEqual([]);
    });
  }

  it("target-neutral code generation does not know x86", () => {
    const wrong = sources("lto/codegen")
      .filter((f) => importsOf(f).some((s) => s.includes("/x64/")))
      .map((f) => relative(root, f));
    expect(wrong).toEqual([]);
  });

  it(`no source file is longer than ${maximumLines} lines`, () => {
    const long = [...layers, "test"]
      .flatMap(sources)
      .map((f) => ({ file: relative(root, f), lines: readFileSync(f, "utf8").split("\n").length }))
      .filter((f) => f.lines > maximumLines);
    expect(long).toEqual([]);
  });
});
