/** The pipelines of the build, as tools see them: which passes can be left out, and which stand in a free order. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Random } from "./bench/random.js";
import { projectRoot } from "./root.js";

/** The shape of lto/pipeline/pipelines.ts that is read here. */
interface Step {
  readonly pass: { readonly name: string; readonly option?: string };
  readonly isRequired: boolean;
}
interface Pipeline {
  readonly program: readonly { readonly over: string; readonly steps: readonly Step[] }[];
  readonly lowering: readonly Step[];
}
interface Built {
  readonly pipelines: Readonly<Record<string, Pipeline>>;
  arrangedPasses(all: unknown): ReadonlySet<string>;
}
let built: Promise<Built> | null = null;
const loaded = (): Promise<Built> =>
  (built ??= import(pathToFileURL(join(projectRoot(), "dist", "lto", "pipeline", "pipelines.js")).href));

const optional = (steps: readonly Step[]): string[] =>
  steps
    .filter(({ pass, isRequired }) => !isRequired && pass.option === undefined)
    .map(({ pass }) => pass.name);

export interface OptionalPasses {
  /** On the linked program; each once. */
  readonly program: readonly string[];
  /** Right before selection and nowhere else. */
  readonly lowering: readonly string[];
  /** After the inliner, in order, as often as they run there. */
  readonly order: readonly string[];
}

/** What can be left out of a level's pipeline. @throws Error where there is no such level */
export async function optionalPasses(level: string): Promise<OptionalPasses> {
  const { pipelines, arrangedPasses } = await loaded();
  const pipeline = pipelines[level];
  if (pipeline === undefined) throw new Error(`no pipeline ${level}`);
  const free = arrangedPasses(pipelines);
  const program = [...new Set(pipeline.program.flatMap(({ steps }) => optional(steps)))];
  const lowering = [...new Set(optional(pipeline.lowering))].filter((name) => !program.includes(name));
  const walks = pipeline.program.filter(({ over }) => over === "components");
  const order = walks.flatMap(({ steps }) => optional(steps)).filter((name) => free.has(name));
  return { program, lowering, order };
}

/** What options of the differential tools ask for, on top of `ways`. */
export interface PassWays {
  /** Random orders of the passes whose order is free. */
  readonly orders: number;
  readonly seed: number;
  /** Each pass left out in turn. */
  readonly eachOff: boolean;
}

/** Ways of linking in which other passes run than usual, as sets of options. */
export async function passWays(
  ways: readonly (readonly string[])[],
  { orders, seed, eachOff }: PassWays,
): Promise<(readonly string[])[]> {
  const { program, lowering, order } = await optionalPasses("O2");
  const random = new Random(seed);
  const all = [...ways];
  for (let i = 0; i < orders; i++) all.push([`--pass-order=${randomOrder(order, random).join(",")}`]);
  if (eachOff) for (const name of [...program, ...lowering]) all.push([`--skip-pass=${name}`]);
  return all;
}

/** Some of the passes, some of them several times. */
function randomOrder(passes: readonly string[], random: Random): string[] {
  const length = 1 + random.below(2 * passes.length);
  return Array.from({ length }, () => passes[random.below(passes.length)]!);
}
