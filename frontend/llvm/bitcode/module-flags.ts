/** Module flags and dependent libraries, from named metadata. */

import { InputError } from "../../../lto/ir/errors.js";
import type { MetadataEntry } from "../../../lto/ir/hints/from-metadata.js";
import type { ModuleFlag } from "../../../lto/ir/module.js";
import type { MetadataReader } from "./metadata.js";

/** Flags are nodes [behaviour, key, value]; only integer and string values are kept. @throws InputError for a behaviour that is none */
export function readModuleFlags(metadata: MetadataReader): ModuleFlag[] {
  const flags: ModuleFlag[] = [];
  for (const operands of nodes(metadata, "llvm.module.flags")) {
    const written = operands[0] === undefined ? undefined : integerOf(operands[0]);
    const key = operands[1];
    const value = operands[2];
    if (written === undefined || key?.kind !== "string" || value === undefined) continue;
    if (!(written >= 0 && written <= 255))
      throw new InputError(`module flag '${key.text}' has the invalid behavior ${written}`);
    const behavior = currentBehavior(key.text, written);
    if (value.kind === "string") flags.push({ behavior, key: key.text, value: value.text });
    else {
      const number = integerOf(value);
      if (number !== undefined) flags.push({ behavior, key: key.text, value: number });
    }
  }
  return flags;
}

/** Two flags were given other merge rules by LLVM 16 and 7; old modules must agree with new ones. */
function currentBehavior(key: string, behavior: number): number {
  const error = 1;
  const max = 7;
  const min = 8;
  if (key === "PIC Level" && (behavior === error || behavior === max)) return min;
  if (key === "PIE Level" && behavior === error) return max;
  return behavior;
}

export function readDependentLibraries(metadata: MetadataReader): string[] {
  const libraries: string[] = [];
  for (const [library] of nodes(metadata, "llvm.dependent-libraries"))
    if (library?.kind === "string") libraries.push(library.text);
  return libraries;
}

function integerOf(entry: MetadataEntry): number | undefined {
  if (entry.kind !== "value" || entry.value?.valueKind !== "int") return undefined;
  const { num } = entry.value;
  return Number.isNaN(num) ? undefined : num;
}

/** The first three operands of each node of a named node. */
function nodes(metadata: MetadataReader, name: string): MetadataEntry[][] {
  return (metadata.named.get(name) ?? []).map((id) => {
    const node = metadata.entry(id);
    if (node.kind !== "node") return [];
    return node.operands
      .slice(0, 3)
      .map((operand): MetadataEntry => (operand === null ? { kind: "other" } : metadata.entry(operand)));
  });
}
