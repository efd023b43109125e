/**
 * The imports between the project's own files, read from their text.
 *
 * An import is one of types if it is `import type`, `export type`, or names nothing but inline types: the compiler
 * drops those. `import("…")` in an expression is deferred. Statements are recognised as the formatter leaves them,
 * from the start of a line.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

export interface Import {
  /** As written; of the project's own files, their path from the root. */
  readonly target: string;
  /** What is named of it; null: all of it, or nobody knows what. */
  readonly names: readonly string[] | null;
  readonly isOwn: boolean;
  /** `run`: the file is there before the importing one runs. */
  readonly kind: "run" | "type" | "deferred";
}

/** Source files of a folder, by path from the root. */
export function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile() && e.name.endsWith(".ts"))
    .map((e) => relative(root, join(e.parentPath, e.name)))
    .sort();
}

const statement =
  /^(?:import|export)\s+(?:(type)\s+)?(?:([\w$]+)\s*,?\s*)?(?:\*(?:\s+as\s+\w+)?|\{([^}]*)\})?\s*(?:from\s*)?"([^"\n]+)"/gm;

const expression = /\bimport\(\s*"([^"\n]+)"\s*\)/g;

/** What a file imports, re-exports included. */
export function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const found: Import[] = [];
  const add = (specifier: string, kind: Import["kind"], names: Import["names"]): void => {
    const isOwn = specifier.startsWith(".");
    const target = isOwn
      ? relative(root, resolve(root, dirname(file), specifier)).replace(/\.js$/, ".ts")
      : specifier;
    found.push({ target, names, isOwn, kind });
  };
  for (const [, type, whole, names, specifier] of text.matchAll(statement)) {
    const onlyTypes =
      whole === undefined &&
      names !== undefined &&
      names.split(",").every((name) => name.trim() === "" || name.trim().startsWith("type "));
    add(
      specifier!,
      type !== undefined || onlyTypes ? "type" : "run",
      names === undefined ? null : wordsOf(names),
    );
  }
  for (const [, specifier] of text.matchAll(expression)) add(specifier!, "deferred", null);
  return found;
}

/** The names before `as` in the braces of an import. */
const wordsOf = (names: string): string[] =>
  names
    .split(",")
    .map((name) => name.trim().replace(/^type\s+/, ""))
    .filter((name) => name !== "")
    .map((name) => name.split(/\s+as\s+/)[0]!);

const declaration =
  /^export\s+(?:async\s+)?(?:abstract\s+)?(?:function\*?|const enum|const|let|class|enum)\s+([\w$]+)/gm;
const renaming = /^export\s+\{([^}]*)\}/gm;

/** The values that a file exports, re-exports included; not types, which say what those values are made of. */
export function exportsOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const declared = [...text.matchAll(declaration)].map(([, name]) => name!);
  const named = [...text.matchAll(renaming)].flatMap(([, names]) =>
    names!
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && !name.startsWith("type "))
      .map((name) => name.split(/\s+as\s+/).at(-1)!),
  );
  return [...declared, ...named];
}

/**
 * Circles of a graph: its strongly connected components of more than one node, each sorted
 * (Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1972).
 */
export function circles(graph: ReadonlyMap<string, Iterable<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    onStack.add(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) {
        visit(next);
        low.set(node, Math.min(low.get(node)!, low.get(next)!));
      } else if (onStack.has(next)) low.set(node, Math.min(low.get(node)!, index.get(next)!));
    }
    if (low.get(node) !== index.get(node)) return;
    const component: string[] = [];
    for (let member = ""; member !== node; ) {
      member = stack.pop()!;
      onStack.delete(member);
      component.push(member);
    }
    if (component.length > 1) found.push(component.sort());
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
}
