/** A compiler for tests of what comes after it. */
import { clangOption } from "../tools/toolchain.js";

/** tsc-cc's option: the system's clang, which takes a quarter of the time, or else the embedded one. */
export const anyClangOption = clangOption()[0] ?? "--clang=embedded";

/** Its name. */
export const anyClang = anyClangOption.replace("--clang=", "");
