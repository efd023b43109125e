/**
 * A Rust program without an operating system, linked by ld.tsc-lto as rustc's linker: fixtures/foreign/rust. Needs rustc with
 * the core library for Cortex-M3, which Debian does not package (`rustup target add thumbv7m-none-eabi` brings it), or a
 * folder with one that was built from its source: TSC_LTO_RUST_CORE.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { builtCommands } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";
import { findProgram } from "../tools/root.js";
import { findClang } from "../tools/toolchain.js";

const fixture = join(import.meta.dirname, "..", "..", "fixtures", "foreign", "rust");
const target = "thumbv7m-none-eabi";
const rustc = process.env["TSC_LTO_RUSTC"] ?? "rustc";
const core = process.env["TSC_LTO_RUST_CORE"];
const library = spawnSync(rustc, ["--print", "target-libdir", "--target", target], {
  encoding: "utf8",
}).stdout;
const versions = "/usr/lib/gcc/arm-none-eabi";
const gcc = existsSync(versions)
  ? join(versions, readdirSync(versions).at(-1)!, "thumb/v7-m/nofp/libgcc.a")
  : "";
const newlib = "/usr/lib/arm-none-eabi/newlib/thumb/v7-m/nofp/libc.a";
const isThere =
  (core !== undefined || existsSync((library ?? "").trim() || "/nowhere")) &&
  [gcc, newlib].every((file) => existsSync(file)) &&
  findClang() !== undefined &&
  findProgram("qemu-system-arm") !== undefined;

const expected = `area          144 0x90
area   3000000021 0xb2d05e15
area   4295098369 0x100020001
[9, 8, 7, 6, 5, 4, 3, 2, 1, 0] 7295098534 76649
panic: index out of bounds: the len is 10 but the index is 13
`;

const command = builtCommands();
const folder = temporaryFolder();

it.skipIf(!isThere).each(["z", "3"])(
  "a Rust program for Cortex-M works at opt-level %s (needs the target's core library, newlib, qemu)",
  (level) => {
    const linker = join(folder, "linker");
    writeFileSync(linker, `#!/bin/sh\nexec "${process.execPath}" "${command("tsc-ld")}" "$@"\n`);
    chmodSync(linker, 0o755);
    const output = join(folder, `rust-${level}`);
    const words = [
      ...["linker-plugin-lto", "linker-flavor=ld", `linker=${linker}`, `opt-level=${level}`, "panic=abort"],
      ...[`-T${join(fixture, "board.ld")}`, gcc, newlib].map((word) => `link-arg=${word}`),
    ].flatMap((word) => ["-C", word]);
    const args = ["--edition=2024", "--target", target, ...words, join(fixture, "main.rs"), "-o", output];
    const { status, stderr } = spawnSync(rustc, core === undefined ? args : [...args, "-L", core], {
      encoding: "utf8",
      env: { ...process.env, TSC_LTO_CLANG: findClang() },
    });
    expect([status, stderr]).toEqual([0, ""]);
    const emulator = ["-M", "mps2-an385", "-nographic", "-monitor", "none", "-serial", "none"];
    const found = spawnSync(
      "qemu-system-arm",
      [...emulator, "-semihosting-config", "enable=on,target=native", "-kernel", output],
      { encoding: "utf8", input: "", timeout: 60_000 },
    );
    expect(found.stdout + found.stderr).toBe(expected);
  },
  240_000,
);
