/** Which options ask for more than the output: with them a link is done although its output was kept. */
import { describe, expect, it } from "vitest";
import { makeCommand, parseOptions } from "../../bin/lto/options.js";

const asksForMore = (...words: string[]): boolean =>
  parseOptions(makeCommand("").exitOverride(), [...words, "a.o"]).asksForMore;

describe("options", () => {
  it.each([
    ["--check-ipra"],
    ["--check-regalloc"],
    ["--check-packing"],
    ["--verify"],
    ["--verify-each"],
    ["--print-machine", "select"],
    ["--print-regusage"],
    ["--mllvm", "-print-regusage"],
    ["--mllvm", "-stats"],
    ["--stats"],
    ["--time-passes"],
    ["--time-trace", "t.json"],
    ["--opt-remarks-filename", "r.yaml"],
    ["--print-before", "gvn"],
    ["--print-after", "all"],
    ["--print-changed"],
    ["--opt-bisect-limit", "-1"],
    ["--rule-bisect-limit", "3"],
    ["--emit", "ir"],
  ])("%s asks for more than the output", (...words) => expect(asksForMore(...words)).toBe(true));

  it.each([
    [],
    ["-O", "z"],
    ["--no-outline"],
    ["--skip-pass", "gvn"],
    ["--skip-rule", "drop-dead"],
    ["--emit", "asm"],
    ["-e", "start"],
    ["--cache-dir", "d"],
    ["--guard-callees"],
  ])("%s does not", (...words) => expect(asksForMore(...words)).toBe(false));
});
