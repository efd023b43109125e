/** The lengths we compute are those that GNU as produces. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { OperandNames } from "../../formats/asm/instruction-printer.js";
import { instructionText } from "../../formats/asm/x64/instructions.js";
import type { MInst } from "../../lto/codegen/mir.js";
import { instructionLength } from "../../lto/x64/isa/lengths.js";
import { opcodeNames } from "../../lto/x64/isa/op-names.js";
import { allForms } from "./forms.js";

const fail = (): never => {
  throw new Error("no such operand in the forms");
};
const names: OperandNames = {
  symbol: fail,
  direct: fail,
  block: () => ".Lat0",
  foreignBlock: fail,
  constant: fail,
  addressWord: () => null,
  jumpTable: () => ".Ltable",
  trapSection: () => "\t.text",
  patchLabel: () => "",
  asmId: () => "0",
};

/** Assembles one label difference an instruction and reads them back. */
function assembledLengths(insts: readonly MInst[]): Uint8Array {
  const dir = mkdtempSync(join(tmpdir(), "lengths-"));
  try {
    const lines = ["\t.text"];
    insts.forEach((inst, i) => void lines.push(`.Lat${i}:`, instructionText(inst, names)));
    lines.push(`.Lat${insts.length}:`, '\t.section lengths,"a"');
    insts.forEach((_, i) => void lines.push(`\t.byte\t.Lat${i + 1}-.Lat${i}`));
    writeFileSync(join(dir, "forms.s"), `${lines.join("\n")}\n`);
    execFileSync("as", ["--64", "-o", join(dir, "forms.o"), join(dir, "forms.s")]);
    execFileSync("objcopy", ["-O", "binary", "-j", "lengths", join(dir, "forms.o"), join(dir, "lengths")]);
    return readFileSync(join(dir, "lengths"));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe("instruction lengths", () => {
  test("agree with GNU as for every opcode in every form", () => {
    const insts = allForms();
    expect(insts.length).toBeGreaterThan(20000);
    const actual = assembledLengths(insts);
    expect(actual.length).toBe(insts.length);
    const wrong: string[] = [];
    insts.forEach((inst, i) => {
      const ours = instructionLength(inst);
      if (ours !== actual[i])
        wrong.push(
          `${opcodeNames[inst.op]} ${instructionText(inst, names).trim()}: ${ours}, as makes ${actual[i]}`,
        );
    });
    expect(wrong.slice(0, 40)).toEqual([]);
  });
});
