import { describe, expect, it } from "vitest";
import type { GlobalVariable } from "../../lto/ir/module.js";
import { listElements } from "../../lto/link/appending.js";
import { checkClosed, ir, link, native, symbol, text } from "./harness.js";

const main = (body: string, rest = ""): string => `${rest}\ndefine i32 @main() {\n${body}\n  ret i32 0\n}\n`;
const fn = (name: string, body = "", head = "define"): string =>
  `${head} void @${name}() {\n${body}\n  ret void\n}\n`;

describe.each([
  ["objects", ir],
  ["parsed modules", text],
])("merging %s", (_, read) => {
  it("renames clashing locals, never onto another name", () => {
    const linked = link([
      read(
        "a.o",
        main(
          "  call void @f()\n  call void @b()\n  call void @c()",
          `${fn("f", "", "define internal")}declare void @b()\ndeclare void @c()`,
        ),
      ),
      read(
        "b.o",
        `${fn("f", "", "define internal")}${fn("f.1", "", "define internal")}${fn("b", "  call void @f()\n  call void @f.1()")}`,
      ),
      read(
        "c.o",
        `${fn("f", "  call void @b()")}${fn("c", "  call void @f()\n  call void @f.2()")}${fn("f.2")}declare void @b()`,
      ),
    ]);
    expect(new Set(linked.names).size).toBe(linked.names.length);
    expect(linked.calls("c")).toEqual(["f", "f.2"]);
    const [first, second] = linked.calls("b") as [string, string];
    expect(first).not.toBe("f");
    expect(second).toBe("f.1");
    expect(linked.calls(linked.calls("main")[0]!)).toEqual([]);
    expect(linked.get(linked.calls("main")[0]!).linkage).toBe("internal");
    checkClosed(linked.module);
  });

  it("keeps one comdat group of each name, with all of its members", () => {
    const group = (file: string, n: number, more = ""): ReturnType<typeof read> =>
      read(
        file,
        `$g = comdat any
define linkonce_odr i32 @g() comdat {
  %x = load i32, ptr @g.v
  ret i32 %x
}
@g.v = linkonce_odr global i32 ${n}, comdat($g)
@g.local = internal global i32 ${n}, comdat($g)
${more}`,
      );
    const linked = link(
      [
        group("a.o", 1, main("  %r = call i32 @g()")),
        group(
          "b.o",
          2,
          "define i32 @other() {\n  %r = call i32 @g()\n  %x = load i32, ptr @g.local\n  ret i32 %x\n}",
        ),
      ],
      { exports: ["other"] },
    );
    expect(linked.text).toMatch(/@g\.v = .*i32 1/);
    expect(linked.text).not.toMatch(/@g\.v = .*i32 2/);
    // The local of the lost group is still mentioned from outside of it.
    expect(linked.text).toMatch(/@g\.local.* = internal global i32 2/);
    expect(linked.names.filter((n) => n === "g")).toHaveLength(1);
    checkClosed(linked.module);
  });

  it("honours the selection kinds of comdats", () => {
    const of = (file: string, kind: string, type: string, head = ""): ReturnType<typeof read> =>
      read(file, `$v = comdat ${kind}\n@v = linkonce_odr global ${type} zeroinitializer, comdat\n${head}`);
    const use = main("  store i8 1, ptr @v");
    const largest = link([of("a.o", "largest", "[4 x i8]", use), of("b.o", "largest", "[9 x i8]")]);
    expect(`${largest.get("v").valueType}`).toBe("[9 x i8]");
    expect(
      link([of("a.o", "samesize", "[4 x i8]", use), of("b.o", "samesize", "[9 x i8]")]).messages[0],
    ).toMatch(/samesize violated/);
    expect(
      link([of("a.o", "samesize", "[4 x i8]", use), of("b.o", "samesize", "i32".replace("i32", "[4 x i8]"))])
        .messages,
    ).toEqual([]);
    expect(
      link([of("a.o", "exactmatch", "[4 x i8]", use), of("b.o", "largest", "[4 x i8]")]).messages[0],
    ).toMatch(/invalid selection kinds/);
  });

  it("concatenates constructors and drops those of lost definitions", () => {
    const file = (name: string, own: string): ReturnType<typeof read> =>
      read(
        name,
        `$v = comdat any
@v = linkonce_odr global i32 0, comdat
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr @v }, { i32, ptr, ptr } { i32 101, ptr @${own}, ptr null }]
${fn("init", "  store i32 1, ptr @v", "define internal")}${fn(own, "", "define internal")}`,
      );
    const linked = link([read("m.o", main("")), file("a.o", "one"), file("b.o", "two")]);
    const ctors = linked.get("llvm.global_ctors") as GlobalVariable;
    expect(ctors.linkage).toBe("appending");
    const called = listElements(ctors).map(
      (e) => e.valueKind === "aggregate" && e.elements[1]!.valueKind === "global" && e.elements[1]!.name,
    );
    expect(called).toEqual(["init", "one", "two"]);
    expect(linked.names.filter((n) => n.startsWith("init"))).toEqual(["init"]);
    checkClosed(linked.module);
  });

  it("upgrades two-field constructors when they meet three-field ones", () => {
    const linked = link([
      read(
        "a.o",
        `@llvm.global_ctors = appending global [1 x { i32, ptr }] [{ i32, ptr } { i32 1, ptr @a }]\n${fn("a", "", "define internal")}`,
      ),
      read(
        "b.o",
        `@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 2, ptr @b, ptr null }]\n${fn("b", "", "define internal")}`,
      ),
    ]);
    expect(linked.messages).toEqual([]);
    expect(`${linked.get("llvm.global_ctors").valueType}`).toBe("[2 x { i32, ptr, ptr }]");
  });

  it("joins used lists without repetitions; llvm.used keeps names, llvm.compiler.used only bodies", () => {
    const linked = link([
      read("m.o", main("")),
      read(
        "a.o",
        `@llvm.used = appending global [2 x ptr] [ptr @a, ptr @s], section "llvm.metadata"\n${fn("a")}${fn("s", "", "define internal")}`,
      ),
      read(
        "b.o",
        `@llvm.used = appending global [1 x ptr] [ptr @a], section "llvm.metadata"\n@llvm.compiler.used = appending global [1 x ptr] [ptr @c]\ndeclare void @a()\n${fn("c")}${fn("s", "", "define internal")}`,
      ),
    ]);
    const used = linked.get("llvm.used") as GlobalVariable;
    expect(listElements(used).map((e) => e.valueKind === "global" && e.name)).toEqual(["a", "s"]);
    expect(used.section).toBe("llvm.metadata");
    expect(linked.exported.sort()).toEqual(["a", "main"]);
    expect(linked.get("c").linkage).toBe("internal");
  });

  it("keeps an alias on the definition of its own file", () => {
    const linked = link(
      [
        read(
          "a.o",
          `@mine = alias void (), ptr @f\n${fn("f", "  call void @fromA()\n  call void @f()", "define weak")}declare void @fromA()`,
        ),
        read("b.o", fn("f", "  call void @fromB()") + "declare void @fromB()"),
      ],
      { output: "relocatable" },
    );
    const alias = linked.get("mine");
    const target = alias.kind === "alias" && alias.aliasee.valueKind === "global" ? alias.aliasee : null;
    expect(target!.linkage).toBe("internal");
    expect(target!.name).not.toBe("f");
    expect(linked.calls(target!.name)).toEqual(["fromA", "f"]);
    expect(linked.calls("f")).toEqual(["fromB"]);
    checkClosed(linked.module);
  });

  it("resolves weak aliases like any weak definition", () => {
    const lib = (): ReturnType<typeof read> =>
      read("l.o", `@f = weak alias void (), ptr @__f\n${fn("__f", "  call void @lib()")}declare void @lib()`);
    const own = link([read("m.o", main("  call void @f()", "declare void @f()")), lib()]);
    expect(own.get("f").kind).toBe("alias");
    const other = link([read("m.o", main("  call void @f()", fn("f"))), lib()]);
    expect(other.get("f").kind).toBe("function");
    expect(other.names.sort()).toEqual(["f", "main"]);
  });

  it("follows chains of aliases whose middle lost", () => {
    const linked = link(
      [
        read(
          "a.o",
          `@outer = alias i32, ptr @middle\n@middle = weak alias i32, ptr @base\n@base = global i32 1`,
        ),
        read("b.o", "@middle = global i32 2"),
      ],
      { output: "relocatable" },
    );
    const outer = linked.get("outer");
    expect(outer.kind === "alias" && outer.aliasee).toBe(linked.get("base"));
    expect(linked.get("middle").kind).toBe("variable");
  });

  it("keeps ifuncs with their resolvers", () => {
    const linked = link([
      read(
        "a.o",
        main(
          "  call void @f()",
          "@f = ifunc void (), ptr @choose\ndefine internal ptr @choose() {\n  ret ptr @impl\n}\n" +
            fn("impl"),
        ),
      ),
    ]);
    expect(linked.names.sort()).toEqual(["choose", "f", "impl", "main"]);
    expect(linked.get("f").linkage).toBe("internal");
  });

  it("concatenates module asm and pins what it mentions", () => {
    const linked = link(
      [
        read(
          "a.o",
          `module asm ".globl entry_point"\nmodule asm "entry_point: call helper"\nmodule asm "  jmp local_helper@PLT"\n${main("  call void @entry_point()", `declare void @entry_point()\n${fn("helper")}${fn("local_helper", "", "define internal")}${fn("unused")}`)}`,
        ),
        read(
          "b.o",
          `module asm ".L1: nop"\n${fn("local_helper", "", "define internal")}${fn("user", "  call void @local_helper()")}`,
        ),
      ],
      { exports: ["user"] },
    );
    expect(linked.module.moduleAsm).toBe(
      ".globl entry_point\nentry_point: call helper\n  jmp local_helper@PLT\n.L1: nop\n",
    );
    expect(linked.exported.sort()).toEqual(["helper", "main", "user"]);
    expect(linked.get("local_helper").linkage).toBe("internal");
    expect(linked.calls("user")).toEqual(["local_helper.1"]);
    expect(linked.find("unused")).toBeUndefined();
    expect(linked.get("entry_point").isDeclaration).toBe(true);
  });

  it("counts module asm as a definition and as a reference", () => {
    const a = (): ReturnType<typeof read> => read("a.o", `module asm ".globl f"\nmodule asm "f: ret"`);
    expect(link([a(), read("b.o", fn("f"))]).messages[0]).toMatch(/^error: duplicate symbol: f/);
    expect(
      link([read("a.o", `module asm "f: ret"`), read("b.o", `module asm "f: ret"`)]).messages[0],
    ).toMatch(/^error: duplicate symbol: f/);
    expect(
      link([
        read("a.o", `module asm ".weak f"\nmodule asm "f: ret"`),
        read("b.o", main("  call void @f()", fn("f"))),
      ]).messages,
    ).toEqual([]);
  });

  it("merges module flags by their behaviours", () => {
    const flags = (file: string, list: [number, string, number][]): ReturnType<typeof read> =>
      read(
        file,
        `!llvm.module.flags = !{${list.map((_, i) => `!${i}`)}}\n${list.map(([b, k, v], i) => `!${i} = !{i32 ${b}, !"${k}", i32 ${v}}`).join("\n")}\n`,
      );
    const fine = link([
      flags("a.o", [
        [1, "wchar_size", 4],
        [7, "uwtable", 1],
        [8, "PIC Level", 2],
        [2, "warned", 1],
        [4, "forced", 1],
      ]),
      flags("b.o", [
        [1, "wchar_size", 4],
        [7, "uwtable", 2],
        [2, "warned", 2],
        [1, "forced", 7],
      ]),
    ]);
    expect(Object.fromEntries(fine.module.flags.map((f) => [f.key, f.value]))).toEqual({
      wchar_size: 4,
      uwtable: 2,
      "PIC Level": 0,
      warned: 1,
      forced: 1,
    });
    expect(fine.messages).toEqual([
      "warning: linking module flags 'warned': IDs have conflicting values: '1' from a.o, and '2' from b.o",
    ]);
    expect(
      link([flags("a.o", [[1, "wchar_size", 4]]), flags("b.o", [[1, "wchar_size", 2]])]).messages,
    ).toEqual([
      "error: linking module flags 'wchar_size': IDs have conflicting values: '4' from a.o, and '2' from b.o",
    ]);
    expect(
      link([flags("a.o", [[7, "PIC Level", 2]]), flags("b.o", [[8, "PIC Level", 1]])]).module.flag(
        "PIC Level",
      ),
    ).toBe(1);
    expect(link([flags("a.o", [[1, "x", 2]]), flags("b.o", [[7, "x", 2]])]).messages[0]).toMatch(
      /conflicting behaviors/,
    );
  });

  it("leaves addresses of blocks with the definition that owns them", () => {
    const file = (name: string, head: string, n: number): ReturnType<typeof read> =>
      read(
        name,
        `@t = internal global [1 x ptr] [ptr blockaddress(@f, %target)]
define ${head} i32 @f() {
  %p = load ptr, ptr @t
  indirectbr ptr %p, [label %target]
target:
  ret i32 ${n}
}
define ptr @table${n}() {
  ret ptr @t
}
`,
      );
    const linked = link([file("a.o", "weak", 1), file("b.o", "", 2)], { exports: ["table*"] });
    // The table of the lost definition still exists, but points to no block.
    expect(linked.text).toContain("inttoptr (i64 1 to ptr)");
    expect(linked.text).toMatch(/blockaddress\(@f, /);
    checkClosed(linked.module);
  });

  it("remaps constants inside bodies, initialisers and personalities", () => {
    const linked = link([
      read(
        "a.o",
        `@v = external global [4 x i32]
@p = global ptr getelementptr (i8, ptr @v, i64 4)
declare void @pers()
define i32 @main() personality ptr @pers {
  %x = load i32, ptr getelementptr inbounds (i8, ptr @v, i64 8)
  store i64 ptrtoint (ptr @v to i64), ptr @p
  ret i32 %x
}`,
      ),
      read("b.o", `@v = global [4 x i32] zeroinitializer\n${fn("pers")}`),
    ]);
    checkClosed(linked.module);
    expect(linked.names.sort()).toEqual(["main", "p", "pers", "v"]);
    expect(linked.fn("main").personality).toBe(linked.get("pers"));
  });

  it("gives the same module for the same inputs", () => {
    const once = (): string =>
      link([
        read("a.o", main("  call void @f()", `declare void @f()\n${fn("s", "", "define internal")}`)),
        read("b.o", fn("f", "  call void @s()") + fn("s", "", "define internal")),
      ]).text;
    expect(once()).toBe(once());
  });
});

describe("internalising", () => {
  const parts = (): ReturnType<typeof ir> =>
    ir(
      "a.o",
      main(
        "  call void @f()",
        fn("f") +
          fn("g") +
          fn("h", "", "define hidden") +
          fn("api_one") +
          "define void @memcpy() {\n  ret void\n}\n@v = global i32 0",
      ),
    );

  it("closes the world once the entry is defined", () => {
    const linked = link([parts()]);
    expect(linked.result.closedWorld).toBe(true);
    expect(linked.exported.sort()).toEqual(["main", "memcpy"]);
    expect(linked.names.sort()).toEqual(["f", "main", "memcpy"]);
  });
  it("keeps exports by name and by glob", () => {
    expect(link([parts()], { exports: ["api_*", "g"] }).exported.sort()).toEqual([
      "api_one",
      "g",
      "main",
      "memcpy",
    ]);
    expect(link([parts()], { entry: "g" }).exported.sort()).toEqual(["g", "memcpy"]);
  });
  it("keeps what is visible in an open world", () => {
    for (const options of [{ output: "shared" as const }, { entry: "start" }, { exportDynamic: true }]) {
      const linked = link([parts()], options);
      expect(linked.exported.sort()).toEqual(["api_one", "f", "g", "main", "memcpy", "v"]);
      expect(linked.find("h")).toBeUndefined();
    }
    expect(link([parts()], { output: "relocatable" }).exported).toContain("h");
  });
  it("keeps comdat groups together", () => {
    const linked = link([
      ir(
        "a.o",
        `$g = comdat any\ndefine linkonce_odr void @g() comdat {\n  ret void\n}\ndefine linkonce_odr void @g2() comdat($g) {\n  ret void\n}\n${main("")}`,
      ),
      native("n.o", [symbol("g", { defined: false })]),
    ]);
    expect(linked.exported.sort()).toEqual(["g", "g2", "main"]);
    expect(linked.get("g2").comdat!.name).toBe("g");
    const alone = link([
      ir(
        "a.o",
        `$g = comdat any\ndefine linkonce_odr void @g() comdat {\n  ret void\n}\n${main("  call void @g()")}`,
      ),
    ]);
    expect(alone.get("g").comdat).toBeNull();
  });
});

describe("dead symbols", () => {
  it("follow bodies, initialisers, aliases, and leave nothing unreached", () => {
    const linked = link([
      ir(
        "a.o",
        `${main("  %p = load ptr, ptr @table")}
@table = internal global [2 x ptr] [ptr @viaAlias, ptr null]
@viaAlias = internal alias void (), ptr @impl
${fn("impl", "  call void @leaf()", "define internal")}${fn("leaf", "", "define internal")}
${fn("dead", "  call void @dead2()", "define internal")}${fn("dead2", "  call void @dead()", "define internal")}
declare void @neverUsed()`,
      ),
    ]);
    expect(linked.names.sort()).toEqual(["impl", "leaf", "main", "table", "viaAlias"]);
    expect(linked.result.dropped).toBe(3);
    checkClosed(linked.module);
  });
  it("keep sections whose bounds are mentioned", () => {
    const section = (use: string): string[] =>
      link([
        ir(
          "a.o",
          `@x = internal global i32 1, section "set"\n@y = internal global i32 1, section "other"\n@__start_set = external global i32\n${main(use)}`,
        ),
      ]).names.sort();
    expect(section("  %p = load i32, ptr @__start_set")).toEqual(["__start_set", "main", "x"]);
    expect(section("")).toEqual(["main"]);
  });
  it("let a comdat group live as a whole", () => {
    const linked = link(
      [
        ir(
          "a.o",
          `$g = comdat any\ndefine linkonce_odr void @g() comdat {\n  ret void\n}\n@extra = linkonce_odr global i32 0, comdat($g)\n@other = linkonce_odr global i32 0\n${fn("keep", "  call void @g()")}`,
        ),
      ],
      { output: "relocatable" },
    );
    expect(linked.names.sort()).toEqual(["extra", "g", "keep"]);
  });
});

it("merges more globals than a call may have arguments", () => {
  const count = 150_000;
  const numbers = Array.from({ length: count }, (_, i) => i);
  const variables = numbers.map((i) => `@v${i} = global i32 ${i}\n`).join("");
  const table = `@t = global [${count} x ptr] [${numbers.map((i) => `ptr @v${i}`).join(", ")}]\n`;
  const linked = link([text("a.ll", main("  %x = load ptr, ptr @t", variables + table))]);
  expect(linked.module.globals.length).toBe(count + 2);
});

it("keeps the code model of a variable, of a declaration if any says that it is large", () => {
  const a = `@there = external global i8
@far = global i8 0, code_model "large"
declare ptr @use()`;
  const b = `@there = external global i8, code_model "large"
@far = external global i8
@near = global i8 1, code_model "small"
define ptr @use() {
  %x = load i8, ptr @far
  %y = load i8, ptr @near
  ret ptr @there
}`;
  const body = "  %x = load i8, ptr @there\n  %p = call ptr @use()";
  const linked = link([ir("a.o", main(body, a)), ir("b.o", b)]);
  const models = ["there", "far", "near"].map((name) => (linked.get(name) as GlobalVariable).codeModel);
  expect(models).toEqual(["large", "large", "small"]);
});
