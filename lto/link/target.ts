/** Whether modules were compiled for the same target. */
import type { Module } from "../ir/module.js";
import type { Diagnostics } from "./diagnostics.js";

interface Triple {
  readonly architecture: string;
  readonly system: string;
  readonly environment: string;
}

const systems = /^(linux|freebsd|netbsd|openbsd|darwin|macosx|windows|none|elf|fuchsia|solaris|uefi)/;

/**
 * Parts of a target triple that matter for linking. The vendor does not, nor does a version after the
 * system's name. `x86_64-linux-gnu` has no vendor; `amd64` is another name of x86_64.
 */
function parseTriple(text: string): Triple {
  const [architecture = "", ...rest] = text.split("-");
  if (rest.length > 0 && !systems.test(rest[0]!)) rest.shift();
  const [system = "", environment = ""] = rest;
  return {
    architecture: architecture === "amd64" ? "x86_64" : architecture,
    system: system.replace(/[\d.]+$/, ""),
    environment: environment.replace(/[\d.]+$/, ""),
  };
}

/** Whether code for one triple may be linked with code for the other. */
export function compatibleTriples(a: string, b: string): boolean {
  if (a === b) return true;
  const left = parseTriple(a);
  const right = parseTriple(b);
  return (
    left.architecture === right.architecture &&
    left.system === right.system &&
    left.environment === right.environment
  );
}

/**
 * Compares all modules with the first that names a target. An empty triple or layout fits any.
 * @returns the modules whose triple and whose layout the linked module takes
 */
export function checkTargets(
  modules: readonly Module[],
  diagnostics: Diagnostics,
): { triple: Module | null; layout: Module | null } {
  const triple = modules.find((m) => m.triple !== "") ?? null;
  const layout = modules.find((m) => m.dataLayout.text !== "") ?? null;
  for (const module of modules) {
    if (triple !== null && module.triple !== "" && !compatibleTriples(triple.triple, module.triple)) {
      diagnostics.error(
        `${module.file}: target '${module.triple}' is incompatible with '${triple.triple}'`,
        `defined in ${triple.file}`,
      );
      continue;
    }
    const text = module.dataLayout.text;
    if (layout !== null && text !== "" && text !== layout.dataLayout.text)
      diagnostics.error(
        `${module.file}: data layout differs from that of ${layout.file}`,
        `${module.file}: '${text}'`,
        `${layout.file}: '${layout.dataLayout.text}'`,
      );
  }
  return { triple, layout };
}
