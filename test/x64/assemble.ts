/** The bytes that GNU as makes of machine instructions, each by itself. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OperandNames } from "../../formats/asm/instruction-printer.js";
import { instructionText } from "../../formats/asm/x64/instructions.js";
import type { MInst } from "../../lto/codegen/mir.js";

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

/** The text of an instruction whose operands are registers, numbers and external symbols. */
export const formText = (inst: MInst): string => instructionText(inst, names);

/** The bytes of each instruction. Relocated fields are zero. */
export function assembled(insts: readonly MInst[]): Uint8Array[] {
  const dir = mkdtempSync(join(tmpdir(), "forms-"));
  try {
    const lines = ["\t.text"];
    insts.forEach((inst, i) => void lines.push(`.Lat${i}:`, formText(inst)));
    lines.push(`.Lat${insts.length}:`, '\t.section lengths,"a"');
    insts.forEach((_, i) => void lines.push(`\t.byte\t.Lat${i + 1}-.Lat${i}`));
    writeFileSync(join(dir, "forms.s"), `${lines.join("\n")}\n`);
    execFileSync("as", ["--64", "-o", join(dir, "forms.o"), join(dir, "forms.s")]);
    const section = (name: string): Buffer => {
      execFileSync("objcopy", ["-O", "binary", "-j", name, join(dir, "forms.o"), join(dir, "bytes")]);
      return readFileSync(join(dir, "bytes"));
    };
    const text = section(".text");
    let at = 0;
    return [...section("lengths")].map((length) => text.subarray(at, (at += length)));
  } finally {
    rmSync(dir, { recursive: true });
  }
}
