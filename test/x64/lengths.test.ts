/** The lengths we compute are those that GNU as produces. */
import { describe, expect, test } from "vitest";
import { instructionLength } from "../../lto/x64/isa/lengths.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { assembled, formText } from "./assemble.js";
import { allForms, highForms, zeroedForms } from "./forms.js";

describe("instruction lengths", () => {
  test.each([
    ["for every opcode in every form", allForms, 20000],
    ["with vector registers 16 to 31", highForms, 1000],
    ["with the result zeroed before", zeroedForms, 100],
  ])("agree with GNU as %s", (_, forms, least) => {
    const insts = forms();
    expect(insts.length).toBeGreaterThan(least);
    const actual = assembled(insts);
    expect(actual.length).toBe(insts.length);
    const wrong: string[] = [];
    insts.forEach((inst, i) => {
      const ours = instructionLength(inst);
      const theirs = actual[i]!.length;
      if (ours !== theirs)
        wrong.push(`${opcodeNames[inst.op]} ${formText(inst).trim()}: ${ours}, as makes ${theirs}`);
    });
    expect(wrong.slice(0, 40)).toEqual([]);
  });
});
