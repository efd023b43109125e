/**
 * Origins of code as a size report has them: functions whose code stands in others, each below what it was called in. What
 * the link inlined it knows itself; what the compiler had inlined before, it knows where modules have line tables.
 */
import { SpFlag } from "../../formats/dwarf/constants.js";
import type { OriginReport, SymbolReport } from "../../formats/size-report/schema.js";
import type { OriginBytes } from "../../lto/codegen/late/code-origins.js";
import { type DILocation, type DISubprogram, subprogramOf } from "../../lto/ir/debug/nodes.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import type { Origins, Place } from "../../lto/ir/origins.js";

/** Code of the function that it stands in, which has no position. */
const own = -1;

/** A function: of an input, or one that is in no input any more, since the compiler inlined all calls of it. */
type Written = GlobalValue | DISubprogram;

/** The object is said where it is not the source itself. */
export const placed = (place: Place | null): Pick<SymbolReport, "file" | "object"> =>
  place === null
    ? {}
    : { file: place.source, ...(place.object === place.source ? {} : { object: place.object }) };

export class ReportOrigins {
  readonly list: OriginReport[] = [];
  /** Positions by function, below what it was called in; those of the outermost are first. */
  private readonly below: Map<Written | string, number>[] = [new Map()];
  /** Definitions of inputs, which the compiler may have inlined, too; by name those that every source may have its own of. */
  private readonly defined = new Map<DISubprogram | string, GlobalValue>();

  constructor(private readonly origins: Origins) {
    for (const [global] of origins.allPlaced())
      if (global.kind === "function" && global.subprogram !== null)
        this.defined.set(keyOf(global.subprogram), global);
  }

  /** Bytes of a function that others wrote, by position; all that came through the same calls is one. */
  writtenElsewhere(home: GlobalValue, bytes: OriginBytes): [position: number, bytes: number][] {
    const sums = new Map<number, number>();
    for (const [number, count] of bytes) {
      const position = this.positionOf(number, home);
      if (position !== own) sums.set(position, (sums.get(position) ?? 0) + count);
    }
    return [...sums];
  }

  private positionOf(number: number, home: GlobalValue): number {
    if (number === 0) return own;
    const { fn, into, place } = this.origins.codeOrigin(number);
    let at = this.positionOf(into, home);
    if (at !== own || fn !== home) at = this.position(fn, at);
    for (const inlined of inlinedBefore(place))
      at = this.position(this.defined.get(keyOf(inlined)) ?? inlined, at);
    return at;
  }

  private position(written: Written, into: number): number {
    const siblings = this.below[into + 1]!;
    const key = written.kind === "DISubprogram" ? keyOf(written) : written;
    let position = siblings.get(key);
    if (position === undefined) {
      position = this.list.push(this.reported(written, into)) - 1;
      siblings.set(key, position);
      this.below.push(new Map());
    }
    return position;
  }

  private reported(written: Written, into: number): OriginReport {
    const at = into === own ? {} : { into };
    if (written.kind !== "DISubprogram")
      return { name: written.name, ...placed(this.origins.placeOf(written)), ...at };
    const { file } = written;
    return { name: symbolOf(written), ...(file === null ? {} : { file: file.filename }), ...at };
  }
}

/** The same for all copies of one function; of those that only their source knows there is one. */
const keyOf = (subprogram: DISubprogram): DISubprogram | string =>
  (subprogram.spFlags & SpFlag.LocalToUnit) !== 0 ? subprogram : symbolOf(subprogram);

const symbolOf = ({ linkageName, name }: DISubprogram): string => linkageName || name;

/** Functions that the compiler inlined, from the outermost one in the function that it left to that of the place. */
function inlinedBefore(place: DILocation | null): DISubprogram[] {
  const found: DISubprogram[] = [];
  for (let at = place; at !== null && at.inlinedAt !== null; at = at.inlinedAt) {
    const subprogram = at.scope === null ? null : subprogramOf(at.scope);
    if (subprogram !== null) found.unshift(subprogram);
  }
  return found;
}
