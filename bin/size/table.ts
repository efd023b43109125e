/** Tables as text with aligned columns, Markdown, or CSV (RFC 4180). */

export type TableForm = "text" | "markdown" | "csv";

/** Numbers are aligned to the right. */
export type Cell = string | number;

const shown = (cell: Cell): string => (typeof cell === "number" ? formatNumber(cell) : cell);

/** Whole bytes stand as they are, means and shares with one digit. */
const formatNumber = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(1));

/** @param head of the columns @param rows as many cells each */
export function formatTable(
  form: TableForm,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  switch (form) {
    case "csv":
      return [head, ...rows].map((row) => `${row.map((cell) => csvCell(shown(cell))).join(",")}\n`).join("");
    case "markdown": {
      const isNumber = head.map((_, column) => rows.some((row) => typeof row[column] === "number"));
      const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
      const cells = rows.map((row) => line(row.map((cell) => markdownCell(shown(cell)))));
      return [line(head), line(isNumber.map((right) => (right ? "--:" : "---"))), ...cells].join("");
    }
    case "text": {
      const cells = [head, ...rows.map((row) => row.map(shown))];
      const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
      return cells
        .map((row, i) => {
          const line = row.map((cell, column) => {
            const isRight = rows.some((one) => typeof one[column] === "number");
            const width = widths[column]!;
            return isRight && (i > 0 || column > 0) ? cell.padStart(width) : cell.padEnd(width);
          });
          return `${line.join("  ").trimEnd()}\n`;
        })
        .join("");
    }
  }
}

const csvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Names of C++ may have what tables, code or emphasis are marked with. */
const markdownCell = (text: string): string =>
  text.replace(/[\\|`*_<>[\]]/g, (mark) => `\\${mark}`).replaceAll("\n", " ");
