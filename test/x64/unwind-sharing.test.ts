/** Which functions share an unwind description, and what stands between them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { UnwindSharing } from "../../formats/asm/index.js";
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import { tscLto } from "../support/command.js";

const dir = mkdtempSync(join(tmpdir(), "unwind-sharing-"));
afterAll(() => rmSync(dir, { recursive: true }));

const own = (name: string, section = "\t.text"): PrintedFunction => ({
  symbol: name,
  section,
  head: `${section}\n${name}:\n`,
  aliases: [],
  align: 1,
  startsEarly: false,
  text: "\tret\n",
  exit: null,
  unwind: null,
});
const printed = (name: string, operations: number, section = "\t.text", reset = ""): PrintedFunction => ({
  ...own(name, section),
  unwind: { operations, reset },
});

it("aliases that several functions ask for are told once", () => {
  let text = "";
  const sharing = new UnwindSharing((piece) => {
    text += piece;
  });
  const [g, h] = ["\t.set\t.Llocal.g, g\n", "\t.set\t.Llocal.h, h\n"] as const;
  sharing.add({ ...own("a"), aliases: [g] });
  sharing.add({ ...printed("b", 1), aliases: [g, h] });
  sharing.close();
  expect(text.split(g)).toHaveLength(2);
  expect(text.split(h)).toHaveLength(2);
});

/** Names of functions, and where descriptions begin "(" and end ")"; resets in between. */
function written(functions: readonly PrintedFunction[]): string {
  let text = "";
  const sharing = new UnwindSharing((piece) => {
    text += piece;
  });
  for (const fn of functions) sharing.add(fn);
  sharing.close();
  return text
    .replace(/\t\.cfi_startproc\n/g, "(")
    .replace(/\t\.cfi_endproc\n/g, ")")
    .replace(/\t\.(text|section .*)\n|\tret\n|\n/g, "");
}

describe("a description goes on", () => {
  it("over neighbours of the section", () =>
    expect(written([printed("a", 3), printed("b", 1), printed("c", 9)])).toBe("a:(b:c:)"));
  it("where what a function leaves is taken back before the next", () =>
    expect(written([printed("a", 3, "\t.text", "\tback\n"), printed("b", 1)])).toBe("a:(\tbackb:)"));
  it("not into other sections", () =>
    expect(written([printed("a", 3), printed("b", 1, "\t.section other"), printed("c", 1)])).toBe(
      "a:()b:()c:()",
    ));
  it("not over functions with descriptions of their own", () =>
    expect(written([printed("a", 3), own("x"), printed("b", 1)])).toBe("a:()x:b:()"));
  it("only so far that unwinding stays quick", () =>
    expect(written([printed("a", 200), printed("b", 56), printed("c", 1), printed("d", 300)])).toBe(
      "a:(b:)c:()d:()",
    ));
});

const attributes = "minsize optsize nounwind";
const source = (tables: string): string => `
declare void @outside(ptr)
define i64 @first(i64 %a) ${attributes} ${tables} {
  %r = mul i64 %a, 3
  ret i64 %r
}
define void @second(ptr %p) ${attributes} ${tables} {
  call void @outside(ptr %p)
  call void @outside(ptr %p)
  ret void
}
define i64 @third(i64 %a) ${attributes} ${tables} {
  %r = add i64 %a, 3
  ret i64 %r
}
define void @placed() section "elsewhere" ${attributes} ${tables} {
  ret void
}
define void @assembly() ${attributes} ${tables} {
  call void asm sideeffect ".cfi_remember_state\\0A.cfi_restore_state", ""()
  ret void
}`;

async function descriptions(tables: string, ...options: string[]): Promise<number> {
  // Without tables the assembler does not accept what describes itself.
  const text = tables === "" ? source(tables).replace(/"\.cfi[^"]*"/, '"nop"') : source(tables);
  writeFileSync(join(dir, "a.ll"), text);
  const args = [join(dir, "a.ll"), "-r", "-o", join(dir, "a.s"), "--check-ipra", ...options];
  const { code, err } = await tscLto(args, { cwd: dir });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return readFileSync(join(dir, "a.s"), "utf8").split("\t.cfi_startproc\n").length - 1;
}

describe("of five functions", () => {
  it("three share one, but for sections and assembly that describes itself", async () =>
    expect(await descriptions("uwtable")).toBe(3));
  it("each has its own where that is asked for", async () =>
    expect(await descriptions("uwtable", "--no-shared-unwind")).toBe(5));
  it("none has any where none is asked for", async () => expect(await descriptions("")).toBe(0));
  it("all have tables exact at calls", async () => {
    expect(await descriptions("uwtable(sync)")).toBe(3);
    const text = readFileSync(join(dir, "a.s"), "utf8");
    const second = text.slice(text.indexOf("second:"), text.indexOf(".size\tsecond"));
    expect(second.match(/\.cfi_def_cfa_offset/g)).toHaveLength(1);
  });
});
