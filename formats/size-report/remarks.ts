/**
 * Reads optimisation records: the YAML that `--opt-remarks-filename` and compilers of the LLVM family write, a document a remark.
 * Of YAML it knows what these writers use: flat fields, a list of one-key maps, scalars plain or quoted on a line.
 */
import { InputError } from "../../lto/ir/errors.js";
import type { Remark, RemarkFact, RemarkKind } from "../../lto/pass/remarks.js";

const kinds: readonly RemarkKind[] = ["Passed", "Missed", "Analysis"];

/** @throws InputError for text that is no list of remarks */
export function parseRemarks(text: string): Remark[] {
  const remarks: Remark[] = [];
  let kind: RemarkKind | null = null;
  let fields = new Map<string, string>();
  let facts: RemarkFact[] = [];
  let isOpen = false;
  const close = (): void => {
    if (isOpen && kind !== null)
      remarks.push({
        kind,
        pass: fields.get("Pass") ?? "",
        name: fields.get("Name") ?? "",
        function: fields.get("Function") ?? "",
        facts,
      });
    isOpen = false;
  };
  for (const [at, line] of text.split("\n").entries()) {
    const head = /^--- !(\w+)/.exec(line);
    if (head !== null) {
      close();
      // Kinds of others, which say what an analysis could not do, answer nothing here.
      kind = kinds.find((one) => one === head[1]) ?? null;
      fields = new Map();
      facts = [];
      isOpen = true;
      continue;
    }
    if (line === "..." || line.trim() === "") continue;
    const [, item, key, value] = /^(\s+- |\s+)?([\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (!isOpen || key === undefined) throw new InputError(`line ${at + 1} is no optimisation record`);
    if (item === undefined) fields.set(key, scalar(value!));
    else if (item.endsWith("- ")) facts.push([key, scalar(value!)]);
  }
  close();
  return remarks;
}

/** A remark's sentence. */
export const sentenceOf = ({ facts }: Remark): string => facts.map(([, value]) => value).join("");

export const factOf = ({ facts }: Remark, key: string): string | undefined =>
  facts.find(([name]) => name === key)?.[1]?.toString();

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "0": "\0", e: "\x1b" };

function scalar(text: string): string {
  if (text.startsWith("'")) return text.slice(1, text.lastIndexOf("'")).replaceAll("''", "'");
  if (!text.startsWith('"')) return text.trim();
  return text
    .slice(1, text.lastIndexOf('"'))
    .replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gs, (_, x, u, wide, char) => {
      const digits: string | undefined = x ?? u ?? wide;
      if (digits === undefined) return escapes[char] ?? char;
      const code = Number.parseInt(digits, 16);
      return code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
    });
}
