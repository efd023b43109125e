/** Where `ld.tsc-lto` starts. */
export { main } from "./main.js";
