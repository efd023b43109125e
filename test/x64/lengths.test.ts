/** The lengths we compute are those that GNU as produces. */
import { describe, expect, test } from "vitest";
import { instructionLength } from "../../lto/x64/isa/lengths.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { assembled, formText } from "./assemble.js";
import { allForms } from "./forms.js";

describe("instruction lengths", () => {
  test("agree with GNU as for every opcode in every form", () => {
    const insts = allForms();
    expect(insts.length).toBeGreaterThan(20000);
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
