/** Where `tsc-lto` starts: the command, the function that its worker threads run, and what a service's processes do. */
export { main } from "./main.js";

export const worker = async () => (await import("./worker.js")).default;

export const work = async () => (await import("../serve/worker.js")).work;
