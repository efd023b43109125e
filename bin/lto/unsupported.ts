/**
 * What code generation cannot do in a module by itself: all of it, where a link stops at the first. Each function is decoded and
 * compiled for nothing but its errors, without passes that only optimise.
 */
import { symbolRefusal } from "../../formats/asm/index.js";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import { refusedRequests } from "../../lto/codegen/requests.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import { linkModules } from "../../lto/link/index.js";
import type { ModuleInput } from "../../lto/link/input.js";
import { targetOf } from "../../lto/targets.js";
import { codegenOptions } from "./codegen-options.js";
import type { DriverOptions } from "./driver-options.js";
import { InputErrors } from "./errors.js";
import type { LinkServices } from "./job.js";
import { optimise, sessionPasses } from "./passes.js";
import { runToCompletion } from "./scheduler.js";

/** @param inputs of one file, which are used up */
export async function unsupportedIn(
  inputs: readonly ModuleInput[],
  options: DriverOptions,
  services: LinkServices,
): Promise<UnsupportedError[]> {
  const found: UnsupportedError[] = [];
  for (const { module } of inputs) {
    const attempt = collecting(found);
    attempt(() => found.push(...refusedIn(module, options)));
    for (const fn of module.functions) {
      if (fn.isDeclaration) continue;
      // What cannot be decoded is in the way of all that follows.
      if (!attempt(() => fn.view())) fn.dropBody();
    }
    try {
      await compileAll(module, options, services, attempt);
    } catch (e) {
      found.push(...unsupported(e));
    }
  }
  return found;
}

/** Runs something, and keeps the errors of this kind. @returns whether there was none */
const collecting =
  (found: UnsupportedError[]) =>
  (work: () => unknown): boolean => {
    try {
      work();
      return true;
    } catch (e) {
      found.push(...unsupported(e));
      return false;
    }
  };

/** @throws what is not of this kind */
function unsupported(e: unknown): UnsupportedError[] {
  if (e instanceof UnsupportedError) return [e];
  if (!(e instanceof InputErrors)) throw e;
  return e.errors.flatMap(unsupported);
}

function refusedIn(module: Module, { shared, relocatable }: DriverOptions): UnsupportedError[] {
  const where = (fn: Func | undefined): string | undefined =>
    fn === undefined ? undefined : `function '${fn.name}'`;
  return [
    ...refusedRequests(module, targetOf(module).requests).map(
      ({ what, by }) => new UnsupportedError(what, where("fn" in by ? by.fn : undefined)),
    ),
    ...module.globals.flatMap((global) => {
      const what = symbolRefusal(global, !shared && !relocatable);
      return what === null ? [] : [new UnsupportedError(what)];
    }),
  ];
}

async function compileAll(
  alone: Module,
  driver: DriverOptions,
  services: LinkServices,
  attempt: (work: () => unknown) => boolean,
): Promise<void> {
  const { module, summary } = finish(
    linkModules([{ kind: "module", module: alone }], { output: "relocatable" }),
  );
  if (module === null) return;
  const options: DriverOptions = {
    ...driver,
    jobs: 1,
    cacheDir: null,
    relocatable: true,
    passes: { ...driver.passes, onlyPasses: [], stats: false, optRemarksFilename: null },
  };
  const codegen = { ...codegenOptions(module, options), ipra: false };
  const quiet: LinkServices = { ...services, scheduler: runToCompletion, print: () => {} };
  const { summary: known } = await optimise(module, summary, options, codegen, 0, quiet);
  const target = targetOf(module);
  const plan = finish(planProgram(module, known, codegen, target, bodyCodec()));
  const { pipelines } = services.set;
  const passes = sessionPasses(options, target, { pipelines, origin: 0, earlierRuns: 0 }, 0, () => {});
  const compiler = new FunctionCompiler(module, codegen, plan, target, passes);
  for (const component of plan.components)
    for (const number of component) attempt(() => compiler.allocate(number));
}
