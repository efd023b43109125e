/**
 * Programs without an operating system, of fixtures/foreign: vector tables and sections that only linker scripts keep,
 * interrupts, functions that only assembly or the code generator mentions, code that runs elsewhere than it is loaded.
 * Clang generates the code, lld links it, qemu runs it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";
import { findClang } from "../tools/toolchain.js";

const fixtures = join(import.meta.dirname, "..", "..", "fixtures", "foreign");
const clang = findClang();
const lld =
  clang === undefined
    ? undefined
    : spawnSync(clang, ["-print-prog-name=ld.lld"], { encoding: "utf8" }).stdout.trim();
const links = clang !== undefined && lld !== undefined && (existsSync(lld) || findProgram(lld) !== undefined);

const newlib = "/usr/lib/arm-none-eabi/newlib/thumb/v7-m/nofp";
const versions = "/usr/lib/gcc/arm-none-eabi";
const gcc = existsSync(versions) ? join(versions, readdirSync(versions).at(-1)!, "thumb/v7-m/nofp") : "";

interface Board {
  readonly folder: string;
  readonly words: readonly string[];
  /** Words of compilations only. */
  readonly compile: readonly string[];
  readonly libraries: readonly string[];
  readonly emulator: readonly string[];
  readonly isThere: boolean;
  readonly expected: string;
}

const emulator = (name: string, board: readonly string[]): string[] => [
  ...[name, ...board, "-nographic", "-monitor", "none", "-serial", "none"],
  ...["-semihosting-config", "enable=on,target=native", "-kernel"],
];

const boards: readonly Board[] = [
  {
    folder: "cortex-m",
    words: ["--target=thumbv7m-none-eabi", "-mcpu=cortex-m3", "-mfloat-abi=soft"],
    compile: ["-isystem", "/usr/include/newlib"],
    libraries: [
      ...[`-L${newlib}`, `-L${gcc}`],
      ...["-Wl,--start-group", "-lc", "-lrdimon", "-lgcc", "-Wl,--end-group"],
    ],
    emulator: emulator("qemu-system-arm", ["-M", "mps2-an385"]),
    isThere: existsSync(newlib) && existsSync(gcc),
    expected:
      "ticks yes, timers yes\nsupervisor 82\nzero 0\nchecksum 6a4777a5 in RAM: yes\nsquare: 49\ntwice: 14\n" +
      "0.250 120000000000\n",
  },
  {
    folder: "riscv32",
    words: ["--target=riscv32-unknown-elf", "-march=rv32imac_zicsr", "-mabi=ilp32"],
    compile: ["-ffreestanding"],
    libraries: [],
    emulator: emulator("qemu-system-riscv32", ["-M", "virt", "-bios", "none"]),
    isThere: true,
    expected: "ticks 5\nsum 3991139736\nproduct 323300102384607\nversion fixture 1.0\n",
  },
];

const command = builtCommands();
const folder = temporaryFolder();

describe.each(boards)("a program for $folder", (board) => {
  const sources = readdirSync(join(fixtures, board.folder))
    .filter((name) => name.endsWith(".c"))
    .map((name) => join(fixtures, board.folder, name));
  const script = [
    "-nostdlib",
    "-static",
    "-T",
    join(fixtures, board.folder, "board.ld"),
    "-Wl,--gc-sections",
  ];

  const run = (words: readonly string[]): void => {
    const { status, stderr } = spawnSync(words[0]!, words.slice(1), { encoding: "utf8" });
    // Of bitcode of one version LLVM of another may not know all features.
    expect([status, stderr.replace(/^.* is not a recognized feature .*\n/gm, "")]).toEqual([0, ""]);
  };
  const printed = (program: string): string => {
    const [name, ...words] = board.emulator;
    const found = spawnSync(name!, [...words, program], { encoding: "utf8", timeout: 60_000, input: "" });
    // The emulator prints what programs print on either.
    return found.stdout + found.stderr;
  };
  const isThere = links && board.isThere && findProgram(board.emulator[0]!) !== undefined;

  it.skipIf(!isThere).each(["-Oz", "-O2", "-O0"])(
    "works at %s (needs clang, lld, qemu, and newlib for Arm)",
    (level) => {
      const output = join(folder, `${board.folder}${level}`);
      const driver = [
        process.execPath,
        command("tsc-cc"),
        `--clang=${clang}`,
        ...board.words,
        "-fuse-ld=lld",
      ];
      run([...driver, ...board.compile, level, ...sources, ...script, ...board.libraries, "-o", output]);
      expect(printed(output)).toBe(board.expected);
    },
    120_000,
  );

  it.skipIf(!isThere)(
    "works with ld.tsc-lto as clang's linker",
    () => {
      const objects = sources.map((source, i) => {
        const object = join(folder, `${board.folder}-${i}.o`);
        run([clang!, ...board.words, ...board.compile, "-Oz", "-flto", "-c", source, "-o", object]);
        return object;
      });
      const output = join(folder, `${board.folder}-ld`);
      const linker = `--ld-path=${command("tsc-ld")}`;
      run([
        clang!,
        ...board.words,
        "-Oz",
        "-flto",
        linker,
        ...script,
        ...objects,
        ...board.libraries,
        "-o",
        output,
      ]);
      expect(printed(output)).toBe(board.expected);
    },
    120_000,
  );
});
