/** Data layouts of older versions of LLVM. */
import { describe, expect, it } from "vitest";
import { currentDataLayout } from "../../lto/ir/layout-upgrade.js";

const x86 = "p270:32:32-p271:32:32-p272:64:64";

describe("data layouts", () => {
  // As clang 15 or 19 and clang 22 write them.
  it.each([
    [
      "x86_64-unknown-linux-gnu",
      `e-m:e-${x86}-i64:64-f80:128-n8:16:32:64-S128`,
      `e-m:e-${x86}-i64:64-i128:128-f80:128-n8:16:32:64-S128`,
    ],
    [
      "i386-pc-linux-gnu",
      `e-m:e-p:32:32-${x86}-f64:32:64-f80:32-n8:16:32-S128`,
      `e-m:e-p:32:32-${x86}-i128:128-f64:32:64-f80:32-n8:16:32-S128`,
    ],
    [
      "aarch64-unknown-linux-gnu",
      "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128",
      `e-m:e-${x86}-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32`,
    ],
    [
      "mips64el-unknown-linux-gnuabi64",
      "e-m:e-i8:8:32-i16:16:32-i64:64-n32:64-S128",
      "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128",
    ],
    [
      "powerpc64le-unknown-linux-gnu",
      "e-m:e-Fn32-i64:64-n32:64-S128-v256:256:256-v512:512:512",
      "e-m:e-Fn32-i64:64-i128:128-n32:64-S128-v256:256:256-v512:512:512",
    ],
    [
      "riscv64-unknown-linux-gnu",
      "e-m:e-p:64:64-i64:64-i128:128-n64-S128",
      "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128",
    ],
    ["armv7-unknown-linux-gnueabihf", "e-m:e-p:32:32-Fi8-i64:64-v128:64:128-a:0:32-n32-S64", null],
  ])("of %s become current ones, which stay", (triple, old, current) => {
    const upgraded = currentDataLayout(old, triple).text;
    expect(upgraded).toBe(current ?? old);
    expect(currentDataLayout(upgraded, triple).text).toBe(upgraded);
  });
});
