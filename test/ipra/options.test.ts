/** The options of tsc-lto that show and check interprocedural register allocation. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { addLlvmOption, noLlvmOptions, translateLlvmOptions } from "../../bin/lto/llvm-options.js";
import { formatRegisterUsage } from "../../bin/lto/register-usage.js";
import { ipraParts } from "../../lto/codegen/program/options.js";
import { registerSet, setOfWords, single } from "../../lto/codegen/register-set.js";
import { tscLto } from "../support/command.js";

const dir = mkdtempSync(join(tmpdir(), "ipra-options-"));
afterAll(() => rmSync(dir, { recursive: true }));
writeFileSync(
  join(dir, "a.ll"),
  `define internal i64 @leaf(i64 %x) noinline {
  %r = mul i64 %x, %x
  ret i64 %r
}
define i64 @main(i64 %n) {
  %a = call i64 @leaf(i64 %n)
  %r = add i64 %a, %n
  ret i64 %r
}
`,
);

/** `@apply` can call `@leaf` and `@twig`, and nothing else. */
const callback = `define internal i64 @leaf(i64 %x) noinline {
  %r = mul i64 %x, %x
  ret i64 %r
}
define internal i64 @twig(i64 %x) noinline {
  %r = add i64 %x, 5
  ret i64 %r
}
define internal i64 @apply(ptr %p, i64 %x) noinline {
  %r = call i64 %p(i64 %x)
  %s = add i64 %r, %x
  ret i64 %s
}
define i64 @main(i64 %n) {
  %a = call i64 @apply(ptr @leaf, i64 %n)
  %b = call i64 @apply(ptr @twig, i64 %a)
  ret i64 %b
}
`;
writeFileSync(join(dir, "callback.ll"), callback);

async function run(
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
  input = "a.ll",
): Promise<{ status: number; stderr: string }> {
  const all = [join(dir, input), "-o", join(dir, "a.s"), ...args];
  const { code: status, err: stderr } = await tscLto(all, { cwd: dir, env });
  return { status, stderr };
}

/** What `llc-19 -enable-ipra -print-regusage` prints of a function that writes rdi and rax. */
const leafOfLlvm =
  "leaf Clobbered Registers: $ah $al $ax $di $dih $dil $eax $edi $eflags $hax $hdi $rax $rdi \n";

describe("--print-regusage", () => {
  it("prints LLVM's form", () => {
    expect(formatRegisterUsage([["leaf", setOfWords(0x81)]])).toBe(leafOfLlvm);
  });
  it("orders numbered registers by kind, as LLVM numbers them, and functions by name", () => {
    const mask = registerSet(8, 9, 16, 27);
    expect(
      formatRegisterUsage([
        ["b", mask],
        ["a", single(5)],
      ]),
    ).toBe(
      "a Clobbered Registers: $bp $bph $bpl $ebp $eflags $hbp $rbp \n" +
        "b Clobbered Registers: $eflags $r8 $r9 $xmm0 $xmm11 $r8b $r9b $r8bh $r9bh $r8d $r9d $r8w $r9w $r8wh $r9wh " +
        "$ymm0 $ymm11 $zmm0 $zmm11 \n",
    );
  });
  for (const option of [["--print-regusage"], ["-mllvm", "-print-regusage"], ["--mllvm=--print-regusage=1"]])
    it(option.join(" "), async () => {
      const { status, stderr } = await run(option);
      expect(status).toBe(0);
      expect(stderr).toMatch(/^leaf Clobbered Registers: \$ah \$al \$ax .*\nmain Clobbered Registers: /);
    });
  it("prints nothing when there is nothing to know, as LLVM does", async () => {
    expect((await run(["--print-regusage", "--no-ipra"])).stderr).toBe("");
  });
});

describe("-mllvm", () => {
  it("-enable-ipra turns interprocedural allocation on and off", async () => {
    const assembly = async (...args: string[]): Promise<string> => {
      expect((await run(args)).status).toBe(0);
      return readFileSync(join(dir, "a.s"), "utf8");
    };
    const on = await assembly();
    const off = await assembly("--no-ipra");
    expect(on).not.toBe(off);
    expect(await assembly("-mllvm", "-enable-ipra=false")).toBe(off);
    expect(await assembly("-mllvm=-enable-ipra=0")).toBe(off);
    expect(await assembly("--no-ipra", "-mllvm", "-enable-ipra")).toBe(on);
    expect(await assembly("-mllvm", "-enable-ipra=0", "-mllvm", "--enable-ipra=true")).toBe(on);
  });
  it("anything else is an error that names it", async () => {
    for (const [option, message] of [
      ["-enable-ipra=maybe", "'maybe' is no boolean value"],
      ["-inline-threshold=3", "unknown option of LLVM"],
      ["enable-ipra", "unknown option of LLVM"],
    ] as const) {
      const { status, stderr } = await run(["-mllvm", option]);
      expect(status).toBe(2);
      expect(stderr).toContain("tsc-lto: error: option '--mllvm <option>' argument");
      expect(stderr).toContain(option);
      expect(stderr).toContain(message);
    }
  });
  it("takes LLVM's spellings of truth", () => {
    for (const value of ["", "=", "=1", "=true", "=TRUE", "=True"])
      expect(addLlvmOption(`-enable-ipra${value}`, noLlvmOptions).ipra).toBe(true);
    for (const value of ["=0", "=false", "=FALSE", "=False"])
      expect(addLlvmOption(`--enable-ipra${value}`, noLlvmOptions).ipra).toBe(false);
    expect(translateLlvmOptions(["-mllvm", "-enable-ipra", "-mllvmx"])).toEqual([
      "--mllvm=-enable-ipra",
      "-mllvmx",
    ]);
  });
});

describe("--check-ipra", () => {
  it("says nothing of correct code", async () => {
    for (const args of [[], ["--no-ipra"], ["-O0"], ["--shared"]])
      expect(await run(["--check-ipra", ...args])).toEqual({ status: 0, stderr: "" });
  });
  it("needs an assembler", async () => {
    rmSync(join(dir, "a.s"), { force: true });
    const { status, stderr } = await run(["--check-ipra"], { PATH: dir });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^tsc-lto: error: --check-ipra needs the assembler: cannot run 'as'/);
    expect(existsSync(join(dir, "a.s"))).toBe(false);
  });
  it("reports what the assembler does not take", async () => {
    writeFileSync(join(dir, "b.ll"), `module asm "nonsense %foo"\n`);
    const { status, stderr } = await run([join(dir, "b.ll"), "--check-ipra"]);
    expect(status).toBe(1);
    expect(stderr).toContain("--check-ipra: the assembler failed");
  });
});

describe("calls through pointers", () => {
  /** Constant propagation sees which function is passed, and makes the call a direct one. */
  const asWritten = "--skip-pass=ipsccp,inline";
  const assembly = async (...options: string[]): Promise<string> => {
    const { status, stderr } = await run([...options, asWritten, "--check-ipra"], process.env, "callback.ll");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return readFileSync(join(dir, "a.s"), "utf8");
  };
  it("--stats counts those whose callees are known", async () => {
    const { stderr } = await run(["--stats", asWritten], process.env, "callback.ll");
    expect(stderr).toMatch(/^ +1 {2}calls through pointers with known callees$/m);
    expect((await run(["--stats", "--no-ipra", asWritten], process.env, "callback.ll")).stderr).toMatch(
      /^ +0 {2}calls through pointers with known callees$/m,
    );
  });
  it("--guard-callees leaves traps under the names of functions that unknown code cannot enter", async () => {
    const guarded = await assembly("--guard-callees");
    expect(guarded).toMatch(/^leaf:\n\tud2\n/m);
    expect(guarded).toMatch(/^apply:\n\tud2\n/m);
    expect(guarded).toContain("\tcall\tapply.sealed\n");
    expect(guarded).not.toContain("main.sealed");
    expect(await assembly("--guard-callees", "--no-ipra")).not.toContain("sealed");
  });
  it("--guard-callees compares a pointer with what it can be", async () => {
    expect((await assembly()).match(/cmov\w+/g)).toBeNull();
    expect(await assembly("--guard-callees")).toMatch(
      /\tmovl\t\$leaf\.sealed, [\s\S]*\tcmpq\t[\s\S]*\tcmovn?eq\t/,
    );
  });
});

describe("parts of interprocedural register allocation", () => {
  const asWritten = "--skip-pass=ipsccp,inline";
  const statistics = async (...options: string[]): Promise<string> => {
    const words = [...options, asWritten, "--check-ipra", "--stats"];
    const { status, stderr } = await run(words, process.env, "callback.ll");
    expect(status).toBe(0);
    return stderr;
  };
  it.each(ipraParts)("without %s the code keeps what the checker asks", async (part) => {
    expect(await statistics(`--skip-ipra=${part}`)).not.toContain("error");
  });
  it("each leaves out what it names", async () => {
    const counts = (text: string, label: string): number =>
      Number(new RegExp(`^ +(\\d+) {2}${label}$`, "m").exec(text)![1]);
    const all = await statistics();
    expect(counts(all, "calls with a narrowed clobber mask")).toBeGreaterThan(0);
    expect(counts(await statistics("--skip-ipra=masks"), "calls with a narrowed clobber mask")).toBe(0);
    expect(counts(all, "calls through pointers with known callees")).toBe(1);
    const without = await statistics("--skip-ipra=pointers,conventions");
    expect(counts(without, "calls through pointers with known callees")).toBe(0);
  });
  it("other words are refused", async () => {
    const { status, stderr } = await run(["--skip-ipra=everything"], process.env, "callback.ll");
    expect(status).toBe(2);
    expect(stderr).toContain("expected some of masks, conventions, pointers, saves, alignment");
  });
});
