/** The machines there is code for, by target triple. */
import type { Target } from "./codegen/target.js";
import { UnsupportedError } from "./ir/errors.js";
import type { Module } from "./ir/module.js";
import { x64Target } from "./x64/target.js";

const architectures: ReadonlyMap<string, Target> = new Map([
  ["x86_64", x64Target],
  ["amd64", x64Target],
]);

/** The machine that a module is for; one that names none is for x86-64. @throws UnsupportedError */
export function targetOf({ triple, file }: Pick<Module, "triple" | "file">): Target {
  if (triple === "") return x64Target;
  const target = architectures.get(triple.split("-", 1)[0]!);
  if (target === undefined) throw new UnsupportedError(`target '${triple}'`, undefined, file);
  return target;
}
