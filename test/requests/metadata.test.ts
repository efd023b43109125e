/** Metadata, attributes of variables and of calls that ask for something: it is done, or refused by name. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { attachmentFates, namedNodeFates } from "../../lto/ir/metadata-names.js";
import { type BitBlock, readTree } from "../fuzz/bitcode-tree.js";
import { temporaryFolder, tscLto } from "../support/command.js";

const folder = temporaryFolder();
const path = join(folder, "a.ll");

async function linked(text: string): Promise<{ out: string; err: string }> {
  writeFileSync(path, text);
  const { code, err, out } = await tscLto([path, "-r", "-o", "-"], { cwd: folder, env: {} });
  expect(code).toBe(err.includes("error") ? 1 : 0);
  return { out, err: err.replaceAll(`${folder}/`, "") };
}

/** All strings of KIND records. */
function kindsIn(blocks: readonly BitBlock[]): string[] {
  const kindBlock = 22;
  return blocks.flatMap((block) =>
    block.items.flatMap((item) => {
      if ("items" in item) return kindsIn([item]);
      return block.id === kindBlock ? String.fromCharCode(...item.operands.slice(1).map(Number)) : [];
    }),
  );
}

it("every kind of attachment that LLVM numbers has a fate", () => {
  const file = join(import.meta.dirname, "../../fixtures/bitcode/newer-22.bc");
  const kinds = kindsIn(readTree(readFileSync(file)));
  expect(kinds.length).toBeGreaterThan(45);
  expect(kinds.filter((kind) => !attachmentFates.has(kind))).toEqual([]);
});

const refused = (fates: ReadonlyMap<string, string>): string[] =>
  [...fates].filter(([, fate]) => fate === "refused").map(([name]) => name);

describe("refused", () => {
  it.each(refused(attachmentFates))("attachment !%s", async (name) => {
    const said = `tsc-lto: error: a.ll: unsupported: metadata !${name}\n`;
    expect((await linked(`@x = external global i8, !${name} !0\n!0 = !{i64 0, i64 256}\n`)).err).toBe(said);
    const body = `define void @f() {\n  ret void, !${name} !0\n}\n!0 = !{i64 0, i64 256}\n`;
    expect((await linked(body)).err).toBe(said);
  });
  it.each(refused(namedNodeFates))("named metadata !%s", async (name) => {
    expect((await linked(`!${name} = !{!0}\n!0 = !{i32 1}\n`)).err).toBe(
      `tsc-lto: error: a.ll: unsupported: named metadata !${name}\n`,
    );
  });
  it("traps that are calls of a function", async () => {
    const text = `define void @f() {\n  call void @llvm.trap() "trap-func-name"="mine"\n  unreachable\n}\ndeclare void @llvm.trap()\n`;
    expect((await linked(text)).err).toBe(
      `tsc-lto: error: a.ll: unsupported: trap function "mine" (in function 'f')\n`,
    );
  });
  it("calls that their author wants gone", async () => {
    const text = `define void @f() {\n  call void @g()\n  ret void\n}\ndeclare void @g() "dontcall-error"="never call it"\n`;
    expect((await linked(text)).err).toBe(
      "tsc-lto: error: a.ll: function 'f' calls 'g', declared with attribute error: never call it\n",
    );
    expect((await linked(text.replace("call void @g()", ""))).err).toBe("");
  });
});

it("calls that their author wants to be told of: each, after optimisation", async () => {
  const text = `
define void @h(i1 %c) {
  br i1 false, label %dead, label %a
dead:
  call void @g(i32 1)
  br label %a
a:
  call void @g(i32 2)
  br i1 %c, label %b, label %end
b:
  call void @g(i32 3)
  br label %end
end:
  ret void
}
define void @f() {
  tail call void @g(i32 4)
  ret void
}
declare void @g(i32) "dontcall-warn"="use another"
`;
  const said = (fn: string): string =>
    `tsc-lto: warning: function '${fn}' calls 'g', declared with attribute warning: use another\n`;
  expect((await linked(text)).err).toBe(said("h") + said("h") + said("f"));
  const env = {};
  const cached = [path, "-r", "-o", join(folder, "a.s"), "--cache-dir", join(folder, "cache")];
  for (let run = 0; run < 2; run++)
    expect((await tscLto(cached, { cwd: folder, env })).err).toBe(said("h") + said("h") + said("f"));
});

it("harmless metadata says nothing", async () => {
  const text = `@x = global i8 0, !exclude !0\n!llvm.ident = !{!0}\n!my.own = !{!0}\n!0 = !{!"me"}\n`;
  expect((await linked(text)).err).toBe("");
});

describe("sections that attributes name", () => {
  const text = `
@b = global i32 0 #0
@d = global i32 1 #0
@r = constant i32 2 #0
@x = external global i32
@rr = constant ptr @x #0
@e = global i32 3, section "explicit" #0
@plain = global i32 4
define void @f() #1 {
  ret void
}
attributes #0 = { "bss-section"="mybss" "data-section"="mydata" "rodata-section"="myro" "relro-section"="myrelro" }
attributes #1 = { "implicit-section-name"="mytext" }
`;
  it.each([
    ["2", "myrelro"],
    ["0", "myro"],
  ])("PIC Level %s", async (level, relocated) => {
    const flags = `!llvm.module.flags = !{!0}\n!0 = !{i32 8, !"PIC Level", i32 ${level}}\n`;
    const { out, err } = await linked(text + flags);
    expect(err).toBe("");
    const sectionOf = (name: string): string | undefined =>
      out
        .slice(0, out.indexOf(`\n${name}:`))
        .split("\n")
        .findLast((line) => /^\t\.(section|data|text|bss)\b/.test(line))
        ?.replace(/^\t\.section\t|^\t\./, "")
        .split(",")[0];
    expect(
      Object.fromEntries(["b", "d", "r", "rr", "e", "plain", "f"].map((n) => [n, sectionOf(n)])),
    ).toEqual({
      b: "mybss",
      d: "mydata",
      r: "myro",
      rr: relocated,
      e: "explicit",
      plain: "data",
      f: "mytext",
    });
  });
});
