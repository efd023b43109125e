/** Where `tsc-lto` starts: the command, the function that its worker threads run, what a service's processes do, and persistent workers. */
export { main } from "./main.js";

export const worker = async () => (await import("./worker.js")).default;

export const work = async () => (await import("../serve/worker.js")).work;

export const persist = async () => (await import("../serve/persistent-worker.js")).persist;
