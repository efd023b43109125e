/**
 * LLVM's assembly such that debuggers see just what its records of variables say: each value of a record is stored in a
 * slot of its own there, and the record names the slot. Compiled without passes, no value is lost and none lasts longer
 * than the records have it, whatever registers are given. So a wrong value in such a program is one of the records.
 */

const slotTypes: ReadonlySet<string> = new Set("i1 i8 i16 i32 i64 ptr float double".split(" "));

/** A local value as an operand, with its type. */
const names = /%[\w.$-]+|%"[^"]+"/g;
const local = `(\\w+) (${names.source})`;
const plainRecord = new RegExp(
  String.raw`^\s+#dbg_value\(${local}, (![0-9]+), !DIExpression\(([^)]*)\), (.*)\)$`,
);
const listRecord = /^\s+#dbg_value\(!DIArgList\(([^)]*)\), (![0-9]+), !DIExpression\(([^)]*)\), (.*)\)$/;

/**
 * The text with values of records in memory. Records of constants, and of values that are no scalars, stay as they are.
 *
 * @param text a module as LLVM prints it, with debug records
 */
export function recordsInMemory(text: string): string {
  const out: string[] = [];
  let entry = 0;
  let slots = 0;
  let allocas: string[] = [];
  // Records may name values of which the definition does not dominate them: those are unknown there.
  let defined = new Set<string>();
  /** The slot's name, or undefined where there is none for such a type. */
  const stored = (type: string, value: string): string | undefined => {
    if (!slotTypes.has(type) || !defined.has(value)) return undefined;
    const slot = `%recorded.${slots++}`;
    // What is above a narrow value is zero, as in the arithmetic of records.
    allocas.push(`  ${slot} = alloca i64, align 8`, `  store volatile i64 0, ptr ${slot}, align 8`);
    out.push(`  store volatile ${type} ${value}, ptr ${slot}, align 1`);
    return slot;
  };
  const lines = text.split("\n");
  lines.forEach((line, n) => {
    if (line.startsWith("define ")) {
      slots = 0;
      allocas = [];
      defined = new Set(line.match(names));
      out.push(line);
      entry = out.length + (/^[\w.$"-]+:/.test(lines[n + 1] ?? "") ? 1 : 0);
      return;
    }
    if (line === "}") {
      out.splice(entry, 0, ...allocas);
      out.push(line);
      return;
    }
    out.push(record(line, stored) ?? line);
    const [, definition] = /^\s+(%\S+|%"[^"]+") = /.exec(line) ?? [];
    if (definition !== undefined) defined.add(definition);
  });
  return out.join("\n");
}

/** A record that names slots; undefined for a line that is none, or stays. */
function record(
  line: string,
  stored: (type: string, value: string) => string | undefined,
): string | undefined {
  const plain = plainRecord.exec(line);
  if (plain !== null) {
    const [, type, value, variable, expression, rest] = plain;
    const slot = stored(type!, value!);
    if (slot === undefined) return undefined;
    const ops = ["DW_OP_deref", ...(expression === "" ? [] : [expression!])].join(", ");
    return `    #dbg_value(ptr ${slot}, ${variable}, !DIExpression(${ops}), ${rest})`;
  }
  const list = listRecord.exec(line);
  if (list === null) return undefined;
  const [, operands, variable, expression, rest] = list;
  const inMemory = new Set<number>();
  const args = operands!.split(", ").map((operand, n) => {
    const [, type, value] = new RegExp(`^${local}$`).exec(operand) ?? [];
    const slot = type === undefined ? undefined : stored(type, value!);
    if (slot === undefined) return operand;
    inMemory.add(n);
    return `ptr ${slot}`;
  });
  const ops = expression!.replace(/DW_OP_LLVM_arg, (\d+)/g, (op, n: string) =>
    inMemory.has(Number(n)) ? `${op}, DW_OP_deref` : op,
  );
  return `    #dbg_value(!DIArgList(${args.join(", ")}), ${variable}, !DIExpression(${ops}), ${rest})`;
}
