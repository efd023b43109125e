/**
 * Programs of a checkout of the LLVM test suite (github.com/llvm/llvm-test-suite), by the suite's own lists: sources,
 * options, what they are run with.
 */
import { existsSync, readdirSync } from "node:fs";
import { basename, extname, isAbsolute, join, resolve } from "node:path";
import type { Unit } from "../toolchain.js";
import { evaluate, type Variables } from "./cmake.js";

/** A program of the suite. */
export interface SuiteProgram {
  /** The target's name in the suite. */
  readonly name: string;
  /** The folder of its sources below the suite. */
  readonly folder: string;
  readonly units: readonly Unit[];
  readonly libs: readonly string[];
  /** What the shell is given behind the program's name. */
  readonly runOptions: string;
  /** Files and folders that it reads, by their name in the folder in which it runs. */
  readonly data: ReadonlyMap<string, string>;
}

interface Target {
  readonly name: string;
  readonly folder: string;
  readonly sources: readonly string[];
  readonly variables: Variables;
  readonly moreFlags: string[];
  readonly moreLibs: string[];
  readonly data: Map<string, string>;
}

const isSource = (name: string): boolean => /\.(c|cc|cpp|C|cxx)$/.test(name);

/** Parts of the suite with programs that compute, and their lists. */
const parts = ["MultiSource/Benchmarks", "MultiSource/Applications", "SingleSource/Benchmarks"];

/** All programs, in the order of the suite's lists. Sizes of problems are the small ones, where there is a choice. */
export function suitePrograms(suite: string): SuiteProgram[] {
  const targets = new Map<string, Target>();
  const add = (name: string, folder: string, sources: readonly string[], variables: Variables) => {
    const copy = new Map(variables);
    targets.set(name, {
      name,
      folder,
      sources,
      variables: copy,
      moreFlags: [],
      moreLibs: [],
      data: new Map(),
    });
  };
  const onCommand = (name: string, words: readonly string[], variables: Variables, folder: string): void => {
    const [first = "", ...rest] = words;
    const target = targets.get(first);
    if (name === "llvm_multisource") {
      const named = rest.length > 0 ? rest : (variables.get("Source") ?? []);
      add(first, folder, named.length > 0 ? named : readdirSync(folder).filter(isSource).sort(), variables);
    } else if (name === "llvm_singlesource") {
      const prefix = first === "PREFIX" ? (rest[0] ?? "") : "";
      for (const source of variables.get("Source") ?? readdirSync(folder).filter(isSource).sort())
        add(prefix + basename(source, extname(source)), folder, [source], variables);
    } else if (name === "include_directories" || name === "add_definitions") {
      const flags = name === "add_definitions" ? words : words.map((w) => `-I${resolve(folder, w)}`);
      variables.set("CPPFLAGS", [...(variables.get("CPPFLAGS") ?? []), ...flags]);
    } else if (target === undefined) return;
    else if (name === "llvm_test_data") {
      const from = rest[0] === "SOURCE_DIR" ? resolve(folder, rest[1]!) : folder;
      for (const file of rest[0] === "SOURCE_DIR" ? rest.slice(2) : rest)
        target.data.set(file, isAbsolute(file) ? file : join(from, file));
    } else if (name === "target_include_directories")
      target.moreFlags.push(...rest.slice(1).map((w) => `-I${resolve(folder, w)}`));
    else if (name === "target_compile_options" || name === "target_compile_definitions")
      target.moreFlags.push(...rest.slice(1).map((w) => (w.startsWith("-") ? w : `-D${w}`)));
    else if (name === "target_link_libraries") target.moreLibs.push(...rest.filter((w) => w.startsWith("-")));
  };
  for (const part of parts) {
    const folder = join(suite, part);
    // Scopes hand down what the suite's own build sets: the machine, and the small problems.
    const variables: Variables = new Map([
      ["SMALL_PROBLEM_SIZE", ["ON"]],
      ["ARCH", ["x86"]],
      ["TARGET_OS", ["Linux"]],
      ["ENDIAN", ["little"]],
      ["CMAKE_SOURCE_DIR", [suite]],
      ["CMAKE_CURRENT_SOURCE_DIR", [folder]],
    ]);
    evaluate(folder, variables, onCommand);
  }
  return [...targets.values()]
    .filter((t) => t.sources.every((s) => existsSync(resolve(t.folder, s))))
    .map((t) => programOf(t, suite));
}

function programOf(t: Target, suite: string): SuiteProgram {
  const value = (name: string): readonly string[] => t.variables.get(name) ?? [];
  const standard = (of: string, prefix: string): string[] =>
    value(of).length > 0 ? [`-std=${prefix}${value(of)[0]}`] : [];
  const units = t.sources.map((file): Unit => {
    const source = resolve(t.folder, file);
    const cxx = extname(file) !== ".c";
    const flags = [
      ...(cxx ? standard("CMAKE_CXX_STANDARD", "gnu++") : standard("CMAKE_C_STANDARD", "gnu")),
      "-w",
      ...value("CPPFLAGS"),
      ...value(cxx ? "CXXFLAGS" : "CFLAGS"),
      ...t.moreFlags,
    ];
    return { source, cwd: t.folder, flags };
  });
  const libs = [
    ...(units.some((u) => extname(u.source) !== ".c") ? ["-lstdc++"] : []),
    ...value("LDFLAGS").filter((w) => /^-(l|pthread)/.test(w)),
    ...t.moreLibs,
    "-lm",
  ];
  return {
    name: t.name,
    folder: t.folder.slice(suite.length + 1),
    units,
    libs,
    runOptions: value("RUN_OPTIONS").join(" "),
    data: t.data,
  };
}
