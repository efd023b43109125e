/** Errors of code generation name the line of the instruction, or of the function, where debug information tells. */
import { expect, it } from "vitest";
import { placed } from "../../bin/lto/link-step.js";
import { attempt, errorOf } from "../../bin/lto/worker-protocol.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import { fixtureBytes } from "../bitcode/fixture.js";

const [module] = readBitcode(fixtureBytes("nodes-19.bc"), "nodes.bc");
module!.loadDebug();
const main = module!.functions.find(({ name }) => name === "main")!;
const origins = main
  .view()
  .blocks.flatMap(({ insts }) => insts)
  .map(({ origin }) => origin);
const linked = {
  module: module!,
  summary: null,
  files: new Map([["main", "a.o"]]),
  roots: null,
  loaded: () => true,
};

/** As it comes from a thread. */
function messageAt(origin: number | undefined, fn: string): { message: string; file: string | undefined } {
  const outcome = attempt(() => {
    throw Object.assign(new UnsupportedError("a thing", "@main"), { fn, origin });
  });
  const { message, file } = placed(
    errorOf((outcome as { failure: never }).failure),
    linked,
  ) as UnsupportedError;
  return { message, file };
}

it("is that of the instruction, else of the function", () => {
  const origin = origins.find((number) => (module!.origins!.locationOf(number)?.line ?? 0) > 0)!;
  const { line, column } = module!.origins!.locationOf(origin)!;
  const file = "a.o";
  expect(messageAt(origin, "main")).toEqual({
    message: `unsupported: a thing (in @main), at nodes.cpp:${line}:${column}`,
    file,
  });
  const ofFunction = `unsupported: a thing (in @main), at nodes.cpp:${main.subprogram!.line}`;
  expect(messageAt(0, "main")).toEqual({ message: ofFunction, file });
  expect(messageAt(undefined, "main")).toEqual({ message: ofFunction, file });
  expect(messageAt(undefined, "unknown").message).toBe("unsupported: a thing (in @main)");
});
