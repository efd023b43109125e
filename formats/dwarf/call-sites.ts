/**
 * Entries of calls: where they return to, what they call, and what they pass, from which debuggers know frames that tail calls
 * left out and what arguments were on entry.
 *
 * Calls of code that was outlined, which is passed nothing, are left out. Else only calls of functions that have an entry say something, and of those through pointers, those whose pointer is still
 * known. Jumps to others all stand there, so that debuggers know where they do not know what was passed. Tail calls have the
 * address behind them as GCC writes it: gdb 13 does not look at `DW_AT_call_pc`, which LLVM writes.
 * Source: DWARF 5, 3.4; LLVM, `DwarfDebug::constructCallSiteEntryDIEs`; gdb, `read_call_site_scope`.
 */
import type { CallSite } from "../../lto/codegen/debug/function-info.js";
import { At, DwOp, Tag } from "./constants.js";
import { Entry } from "./entries.js";
import { withGnuEntryValue } from "./expressions.js";

interface Names {
  readonly all: At;
  readonly site: Tag;
  readonly parameter: Tag;
  readonly end: At;
  readonly origin: At;
  readonly target: At;
  readonly tail: At;
  readonly value: At;
}

/** Numbers of DWARF 5, and those of GNU's extension of the versions before. */
const standard: Names = {
  all: At.CallAllCalls,
  site: Tag.CallSite,
  parameter: Tag.CallSiteParameter,
  end: At.CallReturnPc,
  origin: At.CallOrigin,
  target: At.CallTarget,
  tail: At.CallTailCall,
  value: At.CallValue,
};
const gnu: Names = {
  all: At.GnuAllCallSites,
  site: Tag.GnuCallSite,
  parameter: Tag.GnuCallSiteParameter,
  end: At.LowPc,
  origin: At.AbstractOrigin,
  target: At.GnuCallSiteTarget,
  tail: At.GnuTailCall,
  value: At.GnuCallSiteValue,
};

/**
 * Says of a function which calls it has.
 * @param version DWARF's @param entryOf the entry of a function by its symbol; null: it has none
 * @param isPiece the symbol is one of code that was outlined
 */
export function addCallSites(
  fn: Entry,
  calls: readonly CallSite[],
  version: number,
  entryOf: (symbol: string) => Entry | null,
  isPiece: (symbol: string) => boolean,
): void {
  const names = version >= 5 ? standard : gnu;
  fn.flag(names.all);
  for (const call of calls) {
    const callee = call.callee === null ? null : entryOf(call.callee);
    // What is not described can be called all the same; what is left for something unknown must be said.
    if (callee === null && call.target === null && (call.callee !== null || !call.isTail)) continue;
    if (!call.isTail && call.callee !== null && isPiece(call.callee)) continue;
    const site = fn.add(new Entry(names.site));
    if (callee !== null) site.entry(names.origin, callee);
    else if (call.target !== null) site.expression(names.target, call.target);
    if (call.isTail) site.flag(names.tail);
    site.address(names.end, call.end);
    for (const { register, bytes } of call.arguments) {
      const parameter = site.add(new Entry(names.parameter));
      parameter.expression(At.Location, [DwOp.Reg0 + register]);
      parameter.expression(names.value, version >= 5 ? bytes : withGnuEntryValue(bytes));
    }
  }
}
