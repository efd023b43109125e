/** What worker threads load, wherever the code is: beside this module, and beside the bundle that it becomes part of. */
export const threadFile = (): string => new URL("./thread.cjs", import.meta.url).href;
