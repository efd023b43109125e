import { describe, expect, it } from "vitest";
import { buildCallGraph } from "../../lto/analysis/call-graph.js";
import { archive, checkClosed, ir, link, native, symbol, text } from "./harness.js";

const main = (body: string, declarations = ""): string =>
  `${declarations}\ndefine i32 @main() {\n${body}\n  ret i32 0\n}\n`;

describe.each([
  ["objects", ir],
  ["parsed modules", text],
])("resolution over %s", (_, read) => {
  it("joins declarations and definitions", () => {
    const linked = link([
      read(
        "a.o",
        main("  call void @f()\n  %x = load i32, ptr @v", "declare void @f()\n@v = external global i32"),
      ),
      read("b.o", "@v = global i32 7\ndefine void @f() {\n  store i32 1, ptr @v\n  ret void\n}"),
    ]);
    checkClosed(linked.module);
    expect(linked.names.sort()).toEqual(["f", "main", "v"]);
    expect(linked.calls("main")).toEqual(["f"]);
    expect(linked.get("f").linkage).toBe("internal");
    const body = linked.fn("main").view();
    expect(body.blocks[0]!.insts[0]!.operands[0]).toBe(linked.get("f"));
  });

  it("takes strong over weak and the first weak, whatever the order", () => {
    const weak = (file: string, n: number): ReturnType<typeof read> =>
      read(file, `@v = weak global i32 ${n}\ndefine weak i32 @f() {\n  ret i32 ${n}\n}`);
    const user = read(
      "m.o",
      main("  %r = call i32 @f()\n  %x = load i32, ptr @v", "declare i32 @f()\n@v = external global i32"),
    );
    const first = link([user, weak("a.o", 1), weak("b.o", 2)]);
    expect(first.text).toContain("ret i32 1");
    expect(first.text).not.toContain("ret i32 2");
    for (const order of [0, 1]) {
      const strong = read("s.o", "@v = global i32 3\ndefine i32 @f() {\n  ret i32 3\n}");
      const again = read(
        "m.o",
        main("  %r = call i32 @f()\n  %x = load i32, ptr @v", "declare i32 @f()\n@v = external global i32"),
      );
      const w = weak("w.o", 1);
      const linked = link([again, ...(order === 0 ? [w, strong] : [strong, w])]);
      expect(linked.text).toContain("ret i32 3");
      expect(linked.text).not.toContain("ret i32 1");
      expect(linked.names.filter((n) => n.startsWith("f"))).toEqual(["f"]);
      checkClosed(linked.module);
    }
  });

  it("drops bodies that are defined elsewhere, taken block addresses and all", () => {
    // As LLVM has it, what pointed at a block of such a body points nowhere that code can lie.
    const inline = `define available_externally i32 @f(i32 %i) {
  %q = load ptr, ptr @blocks
  indirectbr ptr %q, [label %a, label %b]
a:
  ret i32 1
b:
  ret i32 2
}
@blocks = constant [2 x ptr] [ptr blockaddress(@f, %a), ptr blockaddress(@f, %b)]`;
    const caller = main("  %r = call i32 @f(i32 0)\n  %p = load ptr, ptr @blocks", inline);
    const definition = "define i32 @f(i32 %i) {\n  ret i32 7\n}";
    for (const other of [read("b.o", definition), native("b.o", [symbol("f")])]) {
      const linked = link([read("a.o", caller), other]);
      expect(linked.messages).toEqual([]);
      expect(linked.text).not.toContain("indirectbr");
      expect(linked.text).toContain("[2 x ptr] [ptr inttoptr (i64 1 to ptr), ptr inttoptr (i64 1 to ptr)]");
      expect(linked.get("f").isDeclaration).toBe(other.kind === "native");
      checkClosed(linked.module);
    }
  });

  it("reports duplicates like lld, with both files", () => {
    const linked = link([
      read("a.o", "define void @f() {\n  ret void\n}"),
      read("b.o", "define void @f() {\n  ret void\n}"),
    ]);
    expect(linked.result.module).toBeNull();
    expect(linked.messages).toEqual(["error: duplicate symbol: f\n>>> defined in a.o\n>>> defined in b.o"]);
  });

  it("stops reporting at the error limit", () => {
    const many = Array.from({ length: 30 }, (_, i) => `define void @f${i}() {\n  ret void\n}`).join("\n");
    expect(link([read("a.o", many), read("b.o", many)]).messages).toHaveLength(21);
    expect(link([read("a.o", many), read("b.o", many)], { errorLimit: 0 }).messages).toHaveLength(30);
  });

  it("gives a common symbol its largest size and alignment", () => {
    const linked = link([
      read("a.o", main("  store i32 1, ptr @c", "@c = common global i32 0, align 16")),
      read("b.o", "@c = common global [10 x i32] zeroinitializer, align 4"),
      read("c.o", "@c = common global i64 0, align 8"),
    ]);
    const c = linked.get("c");
    expect(`${c.valueType}`).toBe("[10 x i32]");
    expect(c.kind === "variable" && c.align).toBe(16);
    expect(c.linkage).toBe("internal");
  });

  it("lets a strong definition override a common one, and a common one a weak one", () => {
    for (const flip of [false, true]) {
      const a = read("a.o", main("  store i32 1, ptr @c", "@c = common global i64 0"));
      const b = read("b.o", "@c = global i32 5");
      const linked = link(flip ? [b, a] : [a, b]);
      expect(linked.messages).toEqual([]);
      expect(linked.text).toMatch(/@c = .*global i32 5/);
    }
    const weak = link([
      read("a.o", "@c = weak global i32 5"),
      read("b.o", main("  store i32 1, ptr @c", "@c = common global i32 0")),
    ]);
    expect(weak.text).toMatch(/@c = .*global i32 0/);
  });

  it("never takes an available_externally body for a definition", () => {
    const linked = link([
      read(
        "a.o",
        main(
          "  call void @f()\n  call void @g()",
          "define available_externally void @f() {\n  ret void\n}\ndefine available_externally void @g() {\n  ret void\n}",
        ),
      ),
      read("b.o", "define void @f() {\n  call void @x()\n  ret void\n}\ndeclare void @x()"),
    ]);
    expect(linked.calls("f")).toEqual(["x"]);
    expect(linked.get("g").isDeclaration).toBe(true);
    expect(linked.get("g").linkage).toBe("external");
  });

  it("keeps extern_weak only while every reference is weak", () => {
    const weak = "declare extern_weak void @f()";
    const call = "  %c = icmp eq ptr @f, null\n  call void @f()";
    const one = link([read("a.o", main(call, weak))]);
    expect(one.get("f").linkage).toBe("extern_weak");
    const two = link(
      [
        read("a.o", main(call, weak)),
        read("b.o", "declare void @f()\ndefine void @g() {\n  call void @f()\n  ret void\n}"),
      ],
      { exports: ["g"] },
    );
    expect(two.get("f").linkage).toBe("external");
    const defined = link([read("a.o", main(call, weak)), read("b.o", "define void @f() {\n  ret void\n}")]);
    expect(defined.get("f").isDeclaration).toBe(false);
  });

  it("tolerates a declaration with another signature, and of another kind", () => {
    const linked = link([
      read(
        "a.o",
        main("  %r = call i32 (...) @f(i32 1)\n  call void @g()", "declare i32 @f(...)\ndeclare void @g()"),
      ),
      read("b.o", "define i64 @f(i64 %x) {\n  ret i64 %x\n}\n@g = global i32 0"),
    ]);
    expect(linked.messages).toEqual([]);
    expect(`${linked.get("f").valueType}`).toBe("i64 (i64)");
    expect(linked.calls("main")).toEqual(["f", "g"]);
    checkClosed(linked.module);
  });

  it("takes the most constraining visibility and the least permissive unnamed_addr", () => {
    const linked = link(
      [
        read(
          "a.o",
          "define unnamed_addr void @f() {\n  ret void\n}".replace(
            "define unnamed_addr void @f()",
            "define void @f() unnamed_addr",
          ) + "\n@v = protected unnamed_addr global i32 0",
        ),
        read(
          "b.o",
          "declare hidden void @f()\n@v = external local_unnamed_addr global i32\ndefine void @g() {\n  call void @f()\n  store i32 0, ptr @v\n  ret void\n}",
        ),
      ],
      { output: "relocatable" },
    );
    expect(linked.get("f").visibility).toBe("hidden");
    expect(linked.get("f").unnamedAddr).toBe("none");
    expect(linked.get("v").visibility).toBe("protected");
    expect(linked.get("v").unnamedAddr).toBe("local");
    expect(linked.get("f").dsoLocal).toBe(true);
  });

  it("reports a thread-local mismatch", () => {
    const linked = link([
      read("a.o", main("  store i32 1, ptr @t", "@t = external global i32")),
      read("b.o", "@t = thread_local global i32 0"),
    ]);
    expect(linked.messages).toEqual(["error: TLS attribute mismatch: t\n>>> in a.o\n>>> in b.o"]);
    const fine = link([
      read("a.o", main("  store i32 1, ptr @t", "@t = external thread_local global i32")),
      native("n.o", [symbol("t", { tls: true })]),
    ]);
    expect(fine.messages).toEqual([]);
  });

  it("ignores the vendor in triples and refuses other targets and layouts", () => {
    const with_ = (file: string, triple: string, layout = "e-i64:64"): ReturnType<typeof read> =>
      read(file, `target datalayout = "${layout}"\ntarget triple = "${triple}"\n`);
    const fine = link([
      with_("a.o", "x86_64-unknown-linux-gnu"),
      with_("b.o", "x86_64-pc-linux-gnu"),
      with_("c.o", "x86_64-linux-gnu"),
      read("d.o", ""),
    ]);
    expect(fine.messages).toEqual([]);
    expect(fine.module.triple).toBe("x86_64-unknown-linux-gnu");
    const bad = link([
      with_("a.o", "x86_64-unknown-linux-gnu"),
      with_("b.o", "aarch64-unknown-linux-gnu"),
      with_("c.o", "x86_64-unknown-linux-gnu", "e-m:e-i64:64"),
    ]);
    expect(bad.messages).toEqual([
      "error: b.o: target 'aarch64-unknown-linux-gnu' is incompatible with 'x86_64-unknown-linux-gnu'\n>>> defined in a.o",
      "error: c.o: data layout differs from that of a.o\n>>> c.o: 'e-m:e-i64:64-i128:128'\n>>> a.o: 'e-i64:64-i128:128'",
    ]);
  });

  it("wants an entry only when asked to", () => {
    const a = (): ReturnType<typeof read> => read("a.o", "define void @f() {\n  ret void\n}");
    expect(link([a()]).messages).toEqual([]);
    expect(link([a()], { requireMain: true }).messages[0]).toMatch(/^error: undefined symbol: main\n>>> /);
  });

  it("lists undefined symbols with their users on demand", () => {
    const linked = link(
      [
        read(
          "a.o",
          main(
            "  call void @f()\n  call void @llvm.donothing()",
            "declare void @f()\ndeclare void @llvm.donothing()\n@p = global ptr @f",
          ),
        ),
        native("libc.so", [symbol("puts")], true),
      ],
      { noUndefined: true, exports: ["p"] },
    );
    expect(linked.messages).toEqual([
      "error: undefined symbol: f\n>>> referenced by a.o:(p)\n>>> referenced by a.o:(function main)",
    ]);
  });

  it("lists what native objects and module asm lack, with a missing entry, all at once", () => {
    const linked = link(
      [
        read("a.o", `module asm "call from_asm"\ndefine void @f() {\n  ret void\n}`),
        native("n.o", [symbol("g", { defined: false }), symbol("h", { defined: false, weak: true })]),
        native("m.o", [symbol("g", { defined: false }), symbol("f", { defined: false })]),
        native("lib.so", [symbol("elsewhere", { defined: false })], true),
      ],
      { noUndefined: true, requireMain: true },
    );
    expect(linked.messages).toEqual([
      "error: undefined symbol: main\n>>> referenced by the program's start-up code",
      "error: undefined symbol: from_asm\n>>> referenced by a.o:(module asm)",
      "error: undefined symbol: g\n>>> referenced by n.o\n>>> referenced by m.o",
    ]);
  });

  it("keeps what inline assembly mentions, under its name and open to any caller", () => {
    const source = main(
      '  call void asm sideeffect "call used\\0A\\09movl table+4(%rip), %eax # gone", ""()',
      [
        "@table = global [2 x i32] [i32 1, i32 2]",
        "@gone = global i32 3",
        "define void @used() {\n  call void @inner()\n  ret void\n}",
        "define void @inner() {\n  ret void\n}",
        "define void @unused() {\n  ret void\n}",
      ].join("\n"),
    );
    const linked = link([read("a.o", source)]);
    expect(linked.names.sort()).toEqual(["inner", "main", "table", "used"]);
    const graph = buildCallGraph(linked.result.summary);
    const open = (name: string): number => {
      const index = linked.result.summary.symbols.findIndex((s) => s.name === name);
      return graph.openToCallers[graph.nodeOf[index]!]!;
    };
    expect([open("used"), open("inner")]).toEqual([1, 0]);
  });
});

describe("archives", () => {
  const user = (): ReturnType<typeof ir> => ir("m.o", main("  call void @f()", "declare void @f()"));
  const defines = (file: string, name: string, calls = ""): ReturnType<typeof ir> =>
    ir(
      file,
      `define void @${name}() {\n${calls === "" ? "" : `  call void @${calls}()\n`}  ret void\n}\n${calls === "" ? "" : `declare void @${calls}()`}`,
    );

  it("give a member only when a strong reference needs it, in either order", () => {
    for (const flip of [false, true]) {
      const lib = archive(defines("l(f.o)", "f", "g"), defines("l(g.o)", "g"), defines("l(h.o)", "h"));
      const linked = link(flip ? [lib, user()] : [user(), lib]);
      expect(linked.result.extracted.map((m) => m.file)).toEqual(["l(f.o)", "l(g.o)"]);
      expect(linked.names.sort()).toEqual(["f", "g", "main"]);
    }
  });

  it("are not searched for a weak reference, but are once a strong one follows", () => {
    const weak = ir("m.o", main("  %c = icmp eq ptr @f, null", "declare extern_weak void @f()"));
    expect(link([weak, archive(defines("l(f.o)", "f"))]).result.extracted).toEqual([]);
    const again = ir("m.o", main("  %c = icmp eq ptr @f, null", "declare extern_weak void @f()"));
    const strong = ir("n.o", "declare void @f()\n@p = global ptr @f");
    expect(link([again, archive(defines("l(f.o)", "f")), strong]).result.extracted).toHaveLength(1);
  });

  it("settle on the first member that offers a symbol", () => {
    const linked = link([user(), archive(defines("l(a.o)", "f"), defines("l(b.o)", "f"))]);
    expect(linked.messages).toEqual([]);
    expect(linked.result.extracted.map((m) => m.file)).toEqual(["l(a.o)"]);
  });

  it("give a definition for a common symbol only under --fortran-common, and only a strong one", () => {
    const extracted = (definition: string, fortranCommon: boolean): number =>
      link(
        [
          ir("m.o", main("  store i32 1, ptr @c", "@c = common global i32 0")),
          archive(ir("l(c.o)", `@c = ${definition}`)),
        ],
        { fortranCommon },
      ).result.extracted.length;
    expect(extracted("global i32 9", false)).toBe(0);
    expect(extracted("global i32 9", true)).toBe(1);
    expect(extracted("weak global i32 9", true)).toBe(0);
    expect(extracted("common global i64 0", true)).toBe(0);
  });

  it("give the entry, what -u names, and bitcode members for runtime routines", () => {
    const entry = link([archive(ir("l(m.o)", main("")))]);
    expect(entry.names).toEqual(["main"]);
    const forced = link([ir("m.o", main("")), archive(defines("l(f.o)", "f"))], { undefined: ["f"] });
    expect(forced.exported.sort()).toEqual(["f", "main"]);
    const runtime = link([
      ir("m.o", main("")),
      archive(defines("l(memset.o)", "memset")),
      archive(native("l(memcpy.o)", [symbol("memcpy")])),
    ]);
    expect(runtime.result.extracted.map((m) => m.file)).toEqual(["l(memset.o)"]);
    expect(runtime.exported).toContain("memset");
  });

  it("may be chained deeper than any call stack", () => {
    const count = 5000;
    const members = Array.from({ length: count }, (_, i) =>
      native(`l(${i}.o)`, [symbol(`f${i}`), symbol(`f${i + 1}`, { defined: false })]),
    );
    const linked = link([ir("m.o", main("  call void @f0()", "declare void @f0()")), archive(...members)]);
    expect(linked.result.extracted).toHaveLength(count);
  });
});

describe("native objects", () => {
  it("keep what they mention, and prevail as any other file", () => {
    const linked = link([
      ir(
        "a.o",
        main(
          "  call void @n()",
          "declare void @n()\ndefine void @used() {\n  ret void\n}\ndefine linkonce_odr void @odr() {\n  ret void\n}\ndefine void @unused() {\n  ret void\n}",
        ),
      ),
      native("n.o", [symbol("n"), symbol("used", { defined: false }), symbol("odr", { defined: false })]),
    ]);
    expect(linked.exported.sort()).toEqual(["main", "odr", "used"]);
    expect(linked.get("odr").linkage).toBe("weak_odr");
    expect(linked.get("n").isDeclaration).toBe(true);
    const clash = link([ir("a.o", main("")), native("n.o", [symbol("main")])]);
    expect(clash.messages).toEqual(["error: duplicate symbol: main\n>>> defined in a.o\n>>> defined in n.o"]);
  });

  it("take precedence over weak IR, which becomes a declaration", () => {
    const linked = link([
      ir(
        "a.o",
        main(
          "  call void @f()\n  %x = load i32, ptr @v",
          "define weak void @f() {\n  ret void\n}\n@v = weak global i32 3",
        ),
      ),
      native("n.o", [symbol("f"), symbol("v")]),
    ]);
    expect(linked.get("f").isDeclaration).toBe(true);
    expect(linked.get("f").linkage).toBe("external");
    expect(linked.get("v").isDeclaration).toBe(true);
    expect(linked.calls("main")).toEqual(["f"]);
    checkClosed(linked.module);
  });

  it("make shared libraries' references exports, and their definitions no definitions", () => {
    const linked = link([
      ir(
        "a.o",
        main(
          "  call void @puts()",
          "declare void @puts()\ndefine void @cb() {\n  ret void\n}\ndefine void @mine() {\n  ret void\n}",
        ),
      ),
      native("lib.so", [symbol("puts"), symbol("cb", { defined: false }), symbol("mine")], true),
    ]);
    expect(linked.exported.sort()).toEqual(["cb", "main", "mine"]);
    expect(linked.get("puts").isDeclaration).toBe(true);
  });
});

describe("--wrap", () => {
  it("sends references to __wrap_f and those to __real_f to f", () => {
    const linked = link(
      [
        ir("a.o", main("  call void @f()", "declare void @f()")),
        ir("b.o", "define void @f() {\n  ret void\n}"),
        ir(
          "c.o",
          "declare void @__real_f()\ndefine void @__wrap_f() {\n  call void @__real_f()\n  ret void\n}",
        ),
      ],
      { wrap: ["f"] },
    );
    expect(linked.calls("main")).toEqual(["__wrap_f"]);
    expect(linked.calls("__wrap_f")).toEqual(["f"]);
    checkClosed(linked.module);
    const external = link(
      [
        ir(
          "a.o",
          main("  call void @f()\n  call void @__real_f()", "declare void @f()\ndeclare void @__real_f()"),
        ),
      ],
      { wrap: ["f"] },
    );
    expect(external.calls("main")).toEqual(["__wrap_f", "__real_f"]);
  });
});

it("keeps what native members mention that only code generation or start-up code loads", () => {
  const library = () =>
    archive(
      native("start.o", [symbol("__libc_start_main"), symbol("exit", { defined: false })]),
      native("exit.o", [symbol("exit"), symbol("_exit", { defined: false })]),
      native("copy.o", [symbol("memcpy"), symbol("hook", { defined: false, weak: true })]),
      native("other.o", [symbol("other"), symbol("closed", { defined: false })]),
    );
  const program = (): ReturnType<typeof ir> =>
    ir(
      "a.o",
      `${["_exit", "hook", "closed"].map((name) => `define void @${name}() {\n  ret void\n}\n`).join("")}${main("")}`,
    );
  const linked = link([program(), library()]);
  expect(linked.exported.sort()).toEqual(["_exit", "hook", "main"]);
  // They are the system linker's to load: not a word of what they lack.
  expect(linked.result.extracted).toEqual([]);
  expect(link([program(), library()], { noUndefined: true }).messages).toEqual([]);
});

it("does not export from a shared library what all users have copies of, if nobody in it cares for its address", () => {
  const inline = (address: string, user = "use"): string =>
    `define linkonce_odr void @f() ${address} {\n  ret void\n}\ndefine void @${user}() {\n  call void @f()\n  ret void\n}\n`;
  const variable = (kind: string, address: string): string =>
    `@v = linkonce_odr ${address} ${kind} i32 1\ndefine ptr @get() {\n  ret ptr @v\n}\n`;
  const exported = (...texts: readonly string[]): string[] =>
    link(
      texts.map((text, i) => ir(`${i}.o`, text)),
      { output: "shared" },
    ).exported.sort();
  expect(exported(inline("unnamed_addr"))).toEqual(["use"]);
  expect(exported(inline("local_unnamed_addr"))).toEqual(["use"]);
  expect(exported(inline(""))).toEqual(["f", "use"]);
  // One module of several does.
  expect(exported(inline("local_unnamed_addr"), inline("", "other"))).toEqual(["f", "other", "use"]);
  expect(exported(variable("constant", "local_unnamed_addr"))).toEqual(["get"]);
  // There is one of what changes.
  expect(exported(variable("global", "local_unnamed_addr"))).toEqual(["get", "v"]);
  expect(exported(variable("constant", ""))).toEqual(["get", "v"]);
});

it("keeps what libraries mention that are no inputs", () => {
  const inline = "define linkonce_odr void @inline() unnamed_addr {\n  ret void\n}\n";
  const input = (): ReturnType<typeof ir> =>
    ir("a.o", `define hidden void @f() {\n  ret void\n}\n${inline}@g = common global i32 0\n${main("")}`);
  const exported = (mention: (name: string) => "defined" | "undefined" | null, more = {}): string[] =>
    link([input()], { mention, ...more }).exported.sort();
  expect(exported(() => "undefined")).toEqual(["f", "g", "inline", "main"]);
  expect(exported(() => "defined")).toEqual(["f", "g", "main"]);
  expect(exported((name) => (name === "g" ? "defined" : null))).toEqual(["g", "main"]);
  // A shared library leaves open what is visible, and nothing else.
  expect(exported(() => "undefined", { output: "shared" })).toEqual(["g", "main"]);
});
