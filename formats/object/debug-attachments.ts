/** Which nodes of debug information a module, its functions and its variables have; OBJECT.md describes the bytes. */
import { checkChains } from "../../lto/ir/debug/chains.js";
import type { DICompileUnit, FieldNode } from "../../lto/ir/debug/nodes.js";
import { InputError } from "../../lto/ir/errors.js";
import type { GlobalValue, Module } from "../../lto/ir/module.js";
import { ByteReader, type ByteWriter } from "./bytes.js";
import { DebugTable, type DebugTableWriter } from "./debug-codec.js";

/** Functions and variables that have some, as differences of their numbers; what each has. */
export function writeAttachments(out: ByteWriter, module: Module, table: DebugTableWriter): void {
  const units = module.debugUnits ?? [];
  out.uint(units.length);
  for (const unit of units) out.uint(table.numberOf(unit));
  const described = [...module.globals.entries()].filter(([, global]) => nodesOf(global).length > 0);
  out.uint(described.length);
  let before = 0;
  for (const [index, global] of described) {
    const nodes = nodesOf(global);
    out.uint(index - before);
    out.uint(nodes.length);
    for (const node of nodes) out.uint(table.numberOf(node));
    before = index;
  }
}

function nodesOf(global: GlobalValue): readonly FieldNode[] {
  if (global.kind === "function") return global.subprogram === null ? [] : [global.subprogram];
  return global.kind === "variable" ? global.debug : [];
}

export interface AttachedNodes {
  readonly units: DICompileUnit[];
  readonly table: DebugTable;
}

/**
 * Reads a table of nodes and what `writeAttachments` wrote after it, and gives globals what they have.
 * @param map what stands for a global that nodes mention; null: nothing does any more
 * @throws InputError on malformed data
 */
export function readAttachments(
  bytes: Uint8Array,
  symbols: (index: number) => GlobalValue,
  map: (global: GlobalValue) => GlobalValue | null,
): AttachedNodes {
  const reader = new ByteReader(bytes);
  const table = new DebugTable(reader, (index) => map(symbols(index)));
  checkChains(table.all.filter((node) => node.kind !== "constant" && node.kind !== "string"));
  const units: DICompileUnit[] = [];
  for (let left = reader.count("compile units"); left > 0; left--)
    units.push(table.nodeOf(reader.uint(), "DICompileUnit"));
  let index = 0;
  for (let left = reader.count("described globals", 3); left > 0; left--) {
    index += reader.uint();
    const global = symbols(index);
    const numbers: number[] = [];
    for (let more = reader.count("nodes of a global"); more > 0; more--) numbers.push(reader.uint());
    if (global.kind === "function" && numbers.length === 1)
      global.subprogram = table.nodeOf(numbers[0]!, "DISubprogram");
    else if (global.kind === "variable")
      global.debug = numbers.map((number) => table.nodeOf(number, "DIGlobalVariableExpression"));
    else throw new InputError(`debug information of '${global.name}', which cannot have it`);
  }
  if (reader.remaining !== 0) throw new InputError("trailing bytes after the debug information");
  return { units, table };
}
