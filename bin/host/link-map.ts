/** `-Map`, `--print-map` and `--cref` of link steps: what the linker writes, and what the optimiser knows of its part. */
import { appendFileSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Image } from "../../formats/program/image.js";
import { crossReferences, mapText } from "../../formats/size-report/link-map.js";
import { parseReport } from "../../formats/size-report/text.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "./host.js";
import type { WantedMap } from "./linker-options.js";
import { reasonOf } from "./system-errors.js";

/**
 * Adds to what the linker has written.
 * @param report the link's, a path @param program what was linked, a path
 * @throws InputError where files that were just written cannot be read, or the map not be written
 */
export function completeMap(
  { file, prints, cref }: WantedMap,
  report: string,
  program: string,
  host: Host,
): void {
  try {
    const known = parseReport(readFileSync(report, "utf8"), report);
    const isMap = prints || (file !== null && file !== "");
    const parts = [
      ...(isMap ? [mapText(known, new Image(readFileSync(program)))] : []),
      ...(cref ? [crossReferences(known)] : []),
    ];
    if (file === null || file === "-") host.stdout(Buffer.from(parts.join("")));
    else appendFileSync(resolve(host.cwd, file), parts.join(""));
  } catch (e) {
    if (e instanceof InputError) throw e;
    throw new InputError(`cannot add to the map ${file ?? ""}: ${reasonOf(e)}`);
  }
}
