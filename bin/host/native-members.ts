/**
 * Archives of IR and native members in link steps that take every member: the system's linker refuses what is no object, so
 * it gets the native members as files of their own, in their order.
 */
import * as fs from "node:fs";
import { basename, join, resolve } from "node:path";
import { readArchive } from "../../formats/archive.js";
import type { EmbeddedIrPolicy } from "../../formats/elf-ir.js";
import { isIr } from "./contents.js";
import { writeTemporary } from "./interrupts.js";
import { positional } from "./linker-options.js";

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

/** The files in a folder of numbered ones, in their order; none if it is not there. */
export function filesIn(directory: string): string[] {
  if (!fs.existsSync(directory)) return [];
  const names = fs.readdirSync(directory).sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  return names.map((name) => join(directory, name));
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
