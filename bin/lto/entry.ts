/** Where `tsc-lto` starts: the command, and the function that its worker threads run. */
export { main } from "./main.js";

export const worker = async () => (await import("./worker.js")).default;
