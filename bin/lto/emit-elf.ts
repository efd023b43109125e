/** `--emit elf`: the system's assembler makes an object of the assembly. */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { InputError } from "../../lto/ir/errors.js";
import { removeTemporary, settle, temporaryFile } from "../host/interrupts.js";
import { OutputFile } from "../host/output-file.js";
import { runTool } from "../host/tools.js";
import type { DriverOptions } from "./driver-options.js";
import type { JobResult, LinkServices } from "./job.js";

/**
 * @param link makes the assembly
 * @throws InputError when there is no assembler, or it refuses the text, and what the link throws
 */
export async function emitElf(
  options: DriverOptions,
  services: LinkServices,
  link: (options: DriverOptions, services: LinkServices) => Promise<JobResult>,
): Promise<JobResult> {
  const { host } = services;
  const output = new OutputFile(
    options.output,
    host.cwd,
    (path, reason) => `cannot open output file ${path}: ${reason}`,
  );
  try {
    const { contents, ...result } = await link({ ...options, emit: "asm", output: "-" }, services);
    const object = await assemble(contents!, services);
    if (options.output === "-") return { contents: object, ...result };
    await output.write(object);
    return { contents: null, ...result };
  } catch (e) {
    output.discard();
    throw e;
  }
}

async function assemble(text: Uint8Array, { host, scheduler }: LinkServices): Promise<Uint8Array> {
  const object = temporaryFile(tmpdir(), ".o");
  try {
    const { signal } = scheduler;
    const { exitCode, stderr, error } = await runTool("as", ["--64", "-o", object, "-"], host, {
      live: false,
      stdin: text,
      ...(signal === undefined ? {} : { signal }),
    });
    if (error !== undefined) throw new InputError(`--emit elf needs the assembler: ${error}`);
    if (exitCode !== 0)
      throw new InputError(
        `--emit elf: the assembler failed: ${Buffer.from(stderr).toString("utf8").slice(0, 2000).trim()}`,
      );
    return readFileSync(object);
  } finally {
    removeTemporary(object);
    await settle();
  }
}
