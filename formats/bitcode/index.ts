/** LLVM bitcode: what is written; `frontend/llvm` reads it. */

export { moduleBitcode as writeBitcode } from "./module.js";
export { newestBitcode, oldestBitcode } from "./versions.js";
