/** `--cache-dir`: what comes out is the same with and without, whatever is in the directory. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Input, type LinkOptions, link } from "../../bin/api.js";
import { linkerOptions } from "../../bin/host/linker-options.js";

const target = `target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
`;
const files = {
  "main.ll": `${target}
@state = internal global i32 0
@text = private unnamed_addr constant [4 x i8] c"%d\\0A\\00"
declare i32 @printf(ptr, ...)
declare i32 @chain(i32, i32)
declare double @half(double)
define i32 @main(i32 %n, ptr %v) optsize {
  %r = call i32 @local(i32 %n, i32 3)
  %c = call i32 @chain(i32 %r, i32 %n)
  %d = sitofp i32 %c to double
  %h = call double @half(double %d)
  %i = fptosi double %h to i32
  %p = call i32 (ptr, ...) @printf(ptr @text, i32 %i)
  %s = call i32 @local(i32 %i, i32 %c)
  ret i32 %s
}
define internal i32 @local(i32 %a, i32 %b) noinline optsize {
  %o = load volatile i32, ptr @state
  %s = mul i32 %a, %b
  %t = add i32 %s, %o
  store volatile i32 %t, ptr @state
  ret i32 %t
}
`,
  "chain.ll": `${target}
declare i32 @leaf(i32)
define i32 @chain(i32 %a, i32 %b) noinline optsize {
entry:
  switch i32 %a, label %other [ i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
    i32 4, label %zero ]
zero:
  %z = call i32 @leaf(i32 %b)
  br label %end
one:
  %y = call i32 @leaf(i32 %a)
  br label %end
two:
  %x = call i32 @chain(i32 %b, i32 1)
  br label %end
three:
  br label %end
other:
  br label %end
end:
  %r = phi i32 [ %z, %zero ], [ %y, %one ], [ %x, %two ], [ 17, %three ], [ %b, %other ]
  %s = add i32 %r, %b
  ret i32 %s
}
define double @half(double %d) noinline optsize {
  %h = fmul double %d, 5.0e-1
  %c = call double @llvm.floor.f64(double %h)
  ret double %c
}
declare double @llvm.floor.f64(double)
`,
  "leaf.ll": `${target}
define i32 @leaf(i32 %n) noinline optsize {
  %s = shl i32 %n, 3
  %t = xor i32 %s, %n
  ret i32 %t
}
`,
};
type Files = Readonly<Record<string, string>>;
/** The leaf needs more registers: its callers' masks change. */
const changed: Files = {
  ...files,
  "leaf.ll": files["leaf.ll"].replace(
    "  ret i32 %t",
    `  call void asm sideeffect "nop", "~{ecx},~{edx},~{r8},~{r9},~{rbx}"()\n  ret i32 %t`,
  ),
};

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "cache-test-"));
});
beforeEach(() => {
  rmSync(join(dir, "cache"), { recursive: true, force: true });
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

interface Linked {
  readonly text: string;
  readonly cached: number;
  readonly functions: number;
  readonly warnings: readonly string[];
}
async function linked(contents: Files, options: LinkOptions = {}): Promise<Linked> {
  const inputs = Object.entries(contents).map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  const { text, statistics, diagnostics } = await link(inputs, { stats: true, ...options });
  const { cachedFunctions: cached, functions } = statistics!.code!;
  return { text, cached, functions, warnings: diagnostics.map(({ message }) => message) };
}
const withCache = (contents: Files, options: LinkOptions = {}): Promise<Linked> =>
  linked(contents, { cacheDir: join(dir, "cache"), ...options });
const filesOf = (suffix: string): string[] =>
  readdirSync(join(dir, "cache"))
    .filter((name) => name.endsWith(suffix))
    .map((name) => join(dir, "cache", name));
const cacheFiles = (): string[] => filesOf(".code");

describe("--cache-dir", () => {
  it("gives the same text, cold and warm, and compiles nothing again", async () => {
    const plain = await linked(files);
    expect(plain).toMatchObject({ cached: 0, functions: 5 });
    expect(await withCache(files)).toEqual(plain);
    expect(await withCache(files)).toEqual({ ...plain, cached: 5 });
    expect(cacheFiles()).toHaveLength(1);
    // What the next link takes for granted.
    expect(filesOf(".masks")).toHaveLength(1);
  });

  it("compiles what changed, and what its facts reach", async () => {
    const plain = await linked(changed);
    await withCache(files);
    const warm = await withCache(changed);
    expect(warm.text).toBe(plain.text);
    // @half stays; the leaf's callers may keep less in registers.
    expect(warm.cached).toBeGreaterThan(0);
    expect(warm.cached).toBeLessThan(4);
    // And back.
    expect((await withCache(files)).text).toBe((await linked(files)).text);
  });

  it("tells options apart", async () => {
    await withCache(files);
    for (const options of [{ level: "O2" }, { ipra: false }, { relocationModel: "pic" }] as const) {
      const warm = await withCache(files, options);
      expect(warm).toEqual(await linked(files, options));
    }
  });

  it("sees headers that changed", async () => {
    const noreturn = { ...files, "leaf.ll": files["leaf.ll"].replace("optsize", "optsize nounwind uwtable") };
    await withCache(files);
    expect((await withCache(noreturn)).text).toBe((await linked(noreturn)).text);
  });

  it("does not believe a file that is damaged, cut off or of another build", async () => {
    const plain = await linked(files);
    await withCache(files);
    const [file] = cacheFiles();
    const good = readFileSync(file!);
    const damages: ((bytes: Buffer) => Buffer)[] = [
      (bytes) => Buffer.concat([bytes.subarray(0, 9), Buffer.from([bytes[9]! ^ 1]), bytes.subarray(10)]),
      (bytes) => bytes.subarray(0, bytes.length - 7),
      (bytes) => bytes.subarray(0, 20),
      (bytes) => {
        bytes[bytes.length - 100]! ^= 4;
        return bytes;
      },
      (bytes) => {
        bytes[14]! ^= 1;
        return bytes;
      },
      () => Buffer.alloc(0),
    ];
    for (const damage of damages) {
      writeFileSync(file!, damage(Buffer.from(good)));
      expect(await withCache(files)).toEqual(plain);
      expect(readFileSync(file!).equals(good)).toBe(true);
    }
  });

  it("stays within its size; the file that was not used for longest goes first", async () => {
    await withCache(files);
    const [first] = cacheFiles();
    utimesSync(first!, 1, 1);
    await withCache(files, { level: "O2" });
    const both = filesOf("").reduce((sum, file) => sum + statSync(file).size, 0);
    await withCache(files, { level: "O3", cacheSize: Math.floor(both * 1.25) });
    expect(cacheFiles()).not.toContain(first);
    expect(cacheFiles()).toHaveLength(2);
    await withCache(files, { cacheSize: 10 });
    expect(filesOf("")).toEqual([]);
  });

  it("removes what links that were killed left behind, and nothing else", async () => {
    await withCache(files);
    const left = ["old.new", "young.new", "other.txt"].map((name) => join(dir, "cache", name));
    for (const file of left) writeFileSync(file, "x");
    utimesSync(left[0]!, 1, 1);
    await withCache(files);
    expect(left.map((file) => filesOf("").includes(file))).toEqual([false, true, true]);
  });

  it("can be used by links at the same time", async () => {
    const plain = await linked(files);
    const all = await Promise.all([withCache(files), withCache(files), withCache(files)]);
    for (const each of all) expect(each.text).toBe(plain.text);
    expect(await withCache(files)).toEqual({ ...plain, cached: 5 });
  });

  it("warns where it cannot be written", async () => {
    writeFileSync(join(dir, "file"), "");
    const { text, warnings } = await withCache(files, { cacheDir: join(dir, "file") });
    expect(text).toBe((await linked(files)).text);
    expect(warnings).toEqual([expect.stringMatching(/^cannot write to the cache .*file: /)]);
    // Where a folder that is there takes no others.
    expect((await withCache(files, { cacheDir: "/proc/none/cache" })).warnings).toEqual([
      expect.stringMatching(/^cannot write to the cache .*cache: /),
    ]);
  });

  it("has no part in links that want to see functions compiled", async () => {
    await withCache(files);
    const { cached } = await withCache(files, { verifyEach: true });
    expect(cached).toBe(0);
  });

  it("completes functions from earlier links whose symbols have other numbers now", async () => {
    const grown = {
      ...files,
      "leaf.ll": `${target}@a = global i32 1\n@b = global ptr @a\n${files["leaf.ll"]}`,
    };
    const plain = await linked(grown);
    const main = {
      ...grown,
      "main.ll": grown["main.ll"].replace("@state =", "@early = global i32 7\n@state ="),
    };
    expect((await withCache(grown)).text).toBe(plain.text);
    const shifted = await withCache(main);
    expect(shifted.cached).toBe(5);
    expect(shifted.text).toBe((await linked(main)).text);
  });

  it("is spelled as in lld, too", () => {
    const options = (line: string): string => linkerOptions(line.split(" ")).join(" ");
    expect(options("--cache-dir=d --cache-size 5m")).toBe("--cache-dir d --cache-size 5m");
    expect(options("--thinlto-cache-dir=d --thinlto-cache-policy=prune_after=1h:cache_size_bytes=20m")).toBe(
      "--cache-dir d --cache-size 20m",
    );
    expect(options("--thinlto-cache-policy=prune_after=1h")).toBe("");
  });
});

/** Without `stats` a link that was done before need not be done. */
describe("--cache-dir, nothing changed", () => {
  interface Done {
    readonly text: string;
    readonly isLinked: boolean;
    readonly warnings: readonly string[];
  }
  const inputsOf = (contents: Files): Input[] =>
    Object.entries(contents).map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  async function done(inputs: readonly Input[], options: LinkOptions = {}): Promise<Done> {
    let isLinked = false;
    const { text, diagnostics } = await link(inputs, {
      cacheDir: join(dir, "cache"),
      progress: () => {
        isLinked = true;
      },
      ...options,
    });
    return { text, isLinked, warnings: diagnostics.map(({ message }) => message) };
  }
  const kept = (): string[] => filesOf(".link");

  it("gives the same text without linking", async () => {
    const { text } = await linked(files);
    expect(await done(inputsOf(files))).toEqual({ text, isLinked: true, warnings: [] });
    expect(await done(inputsOf(files))).toEqual({ text, isLinked: false, warnings: [] });
    const output = join(dir, "again.s");
    await done(inputsOf(files), { output });
    expect(readFileSync(output, "utf8")).toBe(text);
    expect(kept()).toHaveLength(1);
  });

  it("links what differs in a byte, in order, in options, or in files that options name", async () => {
    await done(inputsOf(files));
    expect(await done(inputsOf(changed))).toMatchObject({
      text: (await linked(changed)).text,
      isLinked: true,
    });
    const reversed = inputsOf(files).reverse();
    expect(await done(reversed)).toMatchObject({ isLinked: true });
    expect(await done(inputsOf(files), { ipra: false })).toMatchObject({
      text: (await linked(files, { ipra: false })).text,
      isLinked: true,
    });
    const list = join(dir, "exports");
    writeFileSync(list, "leaf\n");
    const exported = await done(inputsOf(files), { exportList: [list] });
    expect(exported.text).toMatch(/\.globl\s+leaf/);
    expect((await done(inputsOf(files), { exportList: [list] })).isLinked).toBe(false);
    writeFileSync(list, "half\n");
    expect((await done(inputsOf(files), { exportList: [list] })).text).not.toMatch(/\.globl\s+leaf/);
  });

  it("takes the program's last link of each set of options", async () => {
    await done(inputsOf(files));
    await done(inputsOf(files), { level: "O2" });
    expect((await done(inputsOf(files))).isLinked).toBe(false);
    await done(inputsOf(changed));
    expect((await done(inputsOf(files))).isLinked).toBe(true);
    expect(kept()).toHaveLength(2);
  });

  it("sees files that changed, and those that it cannot read", async () => {
    const file = join(dir, "leaf.ll");
    const { "leaf.ll": leaf, ...rest } = files;
    const inputs = [...inputsOf(rest), file];
    writeFileSync(file, leaf);
    const { text } = await done(inputs);
    expect(await done(inputs)).toMatchObject({ text, isLinked: false });
    writeFileSync(file, changed["leaf.ll"]!);
    expect(await done(inputs)).toMatchObject({ isLinked: true });
    rmSync(file);
    await expect(done(inputs)).rejects.toThrow(/cannot open .*leaf\.ll/);
  });

  it("links again where members of archives are in files of their own", async () => {
    const member = join(dir, "leaf.o");
    const object = async (contents: string): Promise<void> => {
      const { bytes } = await link([{ name: "leaf.ll", bytes: Buffer.from(contents) }], {
        emit: "object",
        relocatable: true,
      });
      writeFileSync(member, bytes);
    };
    await object(files["leaf.ll"]);
    const head = "leaf.o/".padEnd(48) + String(statSync(member).size).padEnd(10) + "`\n";
    const archive = join(dir, "lib.a");
    writeFileSync(archive, `!<thin>\n${head}`);
    const { "leaf.ll": _, ...rest } = files;
    const inputs = [...inputsOf(rest), archive];
    const { text } = await done(inputs);
    expect(await done(inputs)).toMatchObject({ text, isLinked: true });
    expect(kept()).toEqual([]);
  });

  it("says in every link what there is to say", async () => {
    const options = { entry: "nowhere" };
    const first = await done(inputsOf(files), options);
    expect(first.warnings).toEqual([expect.stringContaining("nowhere")]);
    expect(await done(inputsOf(files), options)).toEqual(first);
  });

  it("does not believe an output that is damaged, cut off or of another build", async () => {
    const { text } = await done(inputsOf(files));
    const [file] = kept();
    const good = readFileSync(file!);
    for (const at of [3, 9, 20, 40, 60, good.length - 1]) {
      const bad = Buffer.from(good);
      bad[at]! ^= 1;
      writeFileSync(file!, bad);
      expect(await done(inputsOf(files))).toMatchObject({ text, isLinked: true });
      expect(readFileSync(file!).equals(good)).toBe(true);
    }
    for (const length of [0, 30, good.length - 5]) {
      writeFileSync(file!, good.subarray(0, length));
      expect(await done(inputsOf(files))).toMatchObject({ text, isLinked: true });
    }
  });

  it("counts outputs to the size of the directory", async () => {
    await done(inputsOf(files), { cacheSize: 10 });
    expect(filesOf("")).toEqual([]);
  });
});
