/**
 * `--check-ipra`: assembles the output with the system's `as` and runs the checker of interprocedural register
 * allocation on the object (formats/code/check.ts).
 */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { type CheckReport, checkObject } from "../../formats/code/check.js";
import type { FunctionClaim } from "../../formats/code/claims.js";
import { compiledMentions } from "../../formats/code/mentions.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import { removeTemporary, settle, temporaryFile } from "../host/interrupts.js";
import type { ScratchFile } from "../host/scratch-file.js";
import { runTool } from "../host/tools.js";

/**
 * @param interposable visible definitions may be replaced at load time
 * @param moduleAsm of the program, as it is in the text
 * @param signal ends the assembler
 * @throws InputError when there is no assembler, or it refuses the text
 */
export async function checkAssembly(
  assembly: ScratchFile,
  claims: readonly FunctionClaim[],
  interposable: boolean,
  moduleAsm: string,
  host: Host,
  signal?: AbortSignal,
): Promise<CheckReport> {
  const object = await assemble(assembly, host, signal);
  const mentions = compiledMentions(Buffer.from(assembly.contents()).toString("utf8"), moduleAsm);
  return checkObject(object, claims, { interposable, mentions });
}

async function assemble(assembly: ScratchFile, host: Host, signal?: AbortSignal): Promise<Uint8Array> {
  const object = temporaryFile(tmpdir(), ".o");
  try {
    const { path } = assembly;
    const { exitCode, stderr, error } = await runTool("as", ["--64", "-o", object, path ?? "-"], host, {
      live: false,
      ...(signal === undefined ? {} : { signal }),
      ...(path === null ? { stdin: assembly.contents() } : {}),
    });
    if (error !== undefined) throw new InputError(`--check-ipra needs the assembler: ${error}`);
    if (exitCode !== 0)
      throw new InputError(
        `--check-ipra: the assembler failed: ${Buffer.from(stderr).toString("utf8").slice(0, 2000).trim()}`,
      );
    return readFileSync(object);
  } finally {
    removeTemporary(object);
    await settle();
  }
}
