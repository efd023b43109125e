/** Command lines of earlier versions go on working, and help and manual do not name what they say. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formerOptions, formerPassNames } from "../../bin/lto/former-names.js";
import { makeCommand, parseOptions } from "../../bin/lto/options.js";
import { machineSteps, productPasses } from "../../lto/pipeline/registry.js";

const parse = (...words: string[]) => parseOptions(makeCommand("0"), [...words, "a.o"]);
const manual = readFileSync(join(import.meta.dirname, "../../MANUAL.md"), "utf8");

describe("former names", () => {
  it.each([...formerPassNames])("pass %s is %s", (former, name) => {
    const known = [...productPasses.passes, ...machineSteps].map((pass) => pass.name);
    expect(known).toContain(name);
    expect(known).not.toContain(former);
    expect(parse(`--skip-pass=dce,${former}`).passes.skipPass).toEqual(["dce", name]);
    expect(manual).not.toContain(`\`${former}\``);
  });

  it.each(formerOptions)("option %s is %s", (former, option) => {
    expect(parse(former)).toEqual(parse(option));
    expect(parse(former)).not.toEqual(parse());
    expect(manual).not.toContain(former);
  });
});
