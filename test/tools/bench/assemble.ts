/** LLVM assembly as bitcode objects for links that are measured: as it stands, no pass has looked at it. */
import { mustRun } from "../process.js";
import { findClang } from "../toolchain.js";

const flags = ["-flto", "-Oz", "-Xclang", "-disable-llvm-passes", "-Wno-override-module"];

/** @returns the object, beside the file */
export async function assembleBitcode(file: string): Promise<string> {
  const clang = findClang();
  if (clang === undefined) throw new Error("there is no clang");
  await mustRun([clang, ...flags, "-c", file, "-o", `${file}.o`]);
  return `${file}.o`;
}
