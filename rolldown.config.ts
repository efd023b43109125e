/**
 * Bundles of the commands, for bin/start.cts: of each one file with all that an ordinary run needs, and beside it
 * files for what few runs load. Every bundle has its own copy of what it shares with another, since calls from
 * file to file are slower than within one.
 */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { defineConfig, type Plugin } from "rolldown";
import { loopsByIndex } from "./rolldown.loops.js";

const out = "dist/bundle";

/** Packages that read files of their own, or start threads from them. */
const packages = ["iced-x86", "piscina", "@yowasp/clang", "bullmq", "ioredis"];
const isExternal = (id: string): boolean =>
  id.startsWith("node:") || builtinModules.includes(id) || packages.includes(id);

const onDemand = "\0on-demand:";
const inCommander = "\0commander:";

/**
 * Loads what stays outside of the bundle when the module that imports it is, not when the bundle is; some of
 * Node's own modules take as long as the rest of a small link.
 */
const loadOnDemand: Plugin = {
  name: "load-on-demand",
  resolveId(id, importer = "") {
    if (importer.startsWith(onDemand) || importer.startsWith(inCommander)) return { id, external: true };
    if (!isExternal(id)) return null;
    // The option parser can run programs as its subcommands, which none here has.
    const unused = id === "node:child_process" && importer.includes("/commander/");
    return { id: (unused ? inCommander : onDemand) + id, moduleSideEffects: false };
  },
  load(id) {
    if (id.startsWith(inCommander))
      return `exports.spawn = (...args) => require(${JSON.stringify(id.slice(inCommander.length))}).spawn(...args);`;
    return id.startsWith(onDemand)
      ? `module.exports = require(${JSON.stringify(id.slice(onDemand.length))});`
      : null;
  },
};

/** Gathers the modules that a command always loads: what its entry imports, what that imports, and so on. */
const gather = (modules: Set<string>): Plugin => ({
  name: "gather",
  buildEnd() {
    const entry = [...this.getModuleIds()].filter((id) => this.getModuleInfo(id)?.isEntry);
    for (const id of entry) modules.add(id);
    // A set goes on with what is added to it meanwhile.
    for (const id of modules)
      for (const imported of this.getModuleInfo(id)?.importedIds ?? []) modules.add(imported);
  },
});

/** A line for each function and class, so that stack traces and what Node prints of an error name a place. */
function lineByStatement(code: string, starts: readonly number[]): string {
  return starts.map((start, i) => code.slice(start, starts[i + 1])).join("\n");
}

/** The form bin/start.cts expects: ASCII, the contents' hash in front, then a function like Node's of a module. */
const wrap: Plugin = {
  name: "wrap",
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue;
      const starts = this.parse(file.code).body.map(({ start }) => start);
      const ascii = lineByStatement(file.code, [0, ...starts.slice(1)]).replace(
        /[^\0-\x7f]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
      const hash = createHash("sha256").update(ascii).digest("hex").slice(0, 32);
      file.code = `/*${hash}*/(function (exports, require, module, __filename, __dirname) {${ascii}\n})`;
    }
  },
};

/** Worker threads load this file; it leads to the bundle that the main thread runs. See bin/lto/thread.cts. */
const workerOf = (command: string): Plugin => ({
  name: "worker",
  generateBundle() {
    this.emitFile({
      type: "asset",
      fileName: "thread.cjs",
      source: `exports.__esModule = true;\nexports.default = require("../../bin/start.cjs").worker("${command}");\n`,
    });
  },
});

rmSync(out, { recursive: true, force: true });

const bundle = (command: string, ...plugins: Plugin[]) => {
  const always = new Set<string>();
  return defineConfig({
    input: { bundle: `dist/bin/${command}/entry.js` },
    platform: "node",
    plugins: [...plugins, loadOnDemand, gather(always), loopsByIndex, wrap],
    output: {
      dir: `${out}/${command}`,
      format: "cjs",
      exports: "named",
      // Scripts that are evaluated cannot import, and what is on disk beside them is a bundle too.
      dynamicImportInCjs: false,
      comments: false,
      // Source stays in memory as long as the program runs. Names of functions and classes are for stack traces.
      minify: { compress: false, mangle: { toplevel: false }, codegen: { removeWhitespace: true } },
      entryFileNames: "[name].cjs",
      chunkFileNames: "[name]-[hash].cjs",
      // By itself rolldown puts what a module for few runs shares with the others in a file of its own.
      codeSplitting: { groups: [{ name: "core", test: (id) => always.has(id) }] },
    },
  });
};

/** `ld.tsc-lto` runs tsc-lto in its process, from its bundle. */
const linkerInItsBundle: Plugin = {
  name: "linker-in-its-bundle",
  resolveId(id, importer) {
    return id === "../lto/main.js" && importer?.endsWith("/bin/ld/main.js") === true
      ? { id: "../lto/bundle.cjs", external: true }
      : null;
  },
};

/** What a page of `--html` runs, whole in one file (bin/size/page.ts puts it into each). */
const page = defineConfig({
  // Of the source, wherever the bundles are made; the others are made of what was compiled there.
  input: { page: join(import.meta.dirname, "bin/page/main.ts") },
  platform: "browser",
  output: { dir: "dist/page", format: "iife", minify: true, comments: false, entryFileNames: "[name].js" },
});

export default [
  bundle("lto", workerOf("lto")),
  bundle("cc", workerOf("cc")),
  bundle("ld", linkerInItsBundle),
  // What asks a service; the service and its processes are in the bundle of tsc-lto.
  bundle("serve"),
  page,
];
