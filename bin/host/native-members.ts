/**
 * Archives of IR and native members in link steps that take every member: the system's linker refuses what is no object, so
 * it gets the native members as files of their own, in their order.
 */
import * as fs from "node:fs";
import { basename, join, resolve } from "node:path";
import { readArchive } from "../../formats/archive.js";
import { isElf, readElf } from "../../formats/elf.js";
import type { EmbeddedIrPolicy } from "../../formats/elf-ir.js";
import { InputError } from "../../lto/ir/errors.js";
import { isIr } from "./contents.js";
import type { Host } from "./host.js";
import { writeTemporary } from "./interrupts.js";
import { positional } from "./linker-options.js";
import { runTool } from "./tools.js";

/** Whether every member of an archive is taken, from word to word of a linker's command line. */
export class WholeArchive {
  isOn = false;
  private readonly saved: boolean[] = [];

  /** @param word of the linker's: one that says nothing of it changes nothing */
  read(word: string): void {
    if (!positional.test(word)) return;
    switch (word.replace(/^--?/, "")) {
      case "whole-archive":
        this.isOn = true;
        break;
      case "no-whole-archive":
        this.isOn = false;
        break;
      case "push-state":
        this.saved.push(this.isOn);
        break;
      case "pop-state":
        this.isOn = this.saved.pop() ?? this.isOn;
    }
  }
}

/** Whether inputs are linked only when they are needed, from word to word. */
export class LazyInputs {
  isOn = false;

  read(word: string): void {
    if (/^--?start-lib$/.test(word)) this.isOn = true;
    else if (/^--?end-lib$/.test(word)) this.isOn = false;
  }
}

/** A relocatable ELF file: what may be a member of an archive. */
export function isObjectFile(path: string): boolean {
  const bytes = fs.readFileSync(path);
  return isElf(bytes) && readElf(bytes, path).type === "relocatable";
}

/** The files in a folder of numbered ones, in their order; none if it is not there. */
export function filesIn(directory: string): string[] {
  if (!fs.existsSync(directory)) return [];
  const names = fs.readdirSync(directory).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  return names.map((name) => join(directory, name));
}

/**
 * An archive of objects between --start-lib and --end-lib, which GNU ld does not know.
 * @param directory that only this link uses
 * @throws InputError when ar fails
 */
export async function lazyArchive(
  objects: readonly string[],
  directory: string,
  host: Host,
): Promise<string> {
  const number = fs.readdirSync(directory).filter((name) => name.startsWith("lazy-")).length;
  const path = join(directory, `lazy-${number}.a`);
  const { exitCode, stderr, error } = await runTool("ar", ["qcs", path, ...objects], host, { live: false });
  if (exitCode !== 0)
    throw new InputError(error ?? `ar failed: ${Buffer.from(stderr).toString("utf8").slice(0, 2000).trim()}`);
  return path;
}

/**
 * Writes the native members of an archive to files.
 * @param directory that only this link uses
 * @returns their paths, in the order of the archive
 * @throws InputError when the archive is malformed
 */
export function nativeMembers(archive: string, directory: string, policy: EmbeddedIrPolicy): string[] {
  const paths: string[] = [];
  for (const member of readArchive(fs.readFileSync(archive), archive).members) {
    const data = member.bytes ?? fs.readFileSync(resolve(archive, "..", member.path!));
    if (isIr(data, `${archive}(${member.name})`, policy)) continue;
    const path = join(directory, `${paths.length}-${basename(archive)}-${basename(member.name)}`);
    writeTemporary(path, data);
    paths.push(path);
  }
  return paths;
}
