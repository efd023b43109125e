/** What keys of compiled functions depend on, and what not. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CodeKeys, unasked } from "../../bin/lto/code-keys.js";
import { parseModule } from "../../formats/text/index.js";

/** The digest of a function that calls an intrinsic with these attributes, and has some itself. */
function digest(ofIntrinsic: string, ofFunction = "nounwind"): string {
  const module = parseModule(
    `declare void @llvm.lifetime.start.p0(ptr captures(none)) ${ofIntrinsic}
define void @f() ${ofFunction} {
  %a = alloca i32
  call void @llvm.lifetime.start.p0(ptr %a)
  ret void
}
`,
    "a.ll",
  );
  const fn = module.functions.find(({ name }) => name === "f")!;
  return new CodeKeys(module, "{}").identify(fn)!.digest;
}

describe("keys of compiled functions", () => {
  it("do not depend on what only passes on the program ask", () => {
    expect(digest("nounwind mustprogress")).toBe(digest("nounwind"));
    expect(digest("mustprogress")).toBe(digest(""));
    expect(digest("", "mustprogress nounwind")).toBe(digest(""));
  });

  it("depend on all else", () => {
    expect(digest("nounwind willreturn")).not.toBe(digest("nounwind"));
    expect(digest("", "nounwind uwtable")).not.toBe(digest(""));
    expect(digest("", 'nounwind "frame-pointer"="all"')).not.toBe(digest(""));
  });

  it("leave out nothing that code generation asks", () => {
    const root = join(import.meta.dirname, "../..");
    const files = ["lto/codegen", "lto/x64"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => join(folder, name)),
    );
    expect(files.length).toBeGreaterThan(100);
    const asking = files.filter((file) => {
      const text = readFileSync(join(root, file), "utf8");
      return unasked.some((name) => text.includes(`"${name}"`));
    });
    expect(asking).toEqual([]);
  });
});
