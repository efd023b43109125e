/** The same numbers as a table: of functions, files or directories, sorted and by the page. */
import type { PageData } from "../../formats/size-report/page-data.js";
import { bytesText, make, shareText, signedText } from "./format.js";
import { leavesIn, type Node, pathOf, type Tree } from "./tree.js";

export interface TableActions {
  sort(column: string): void;
  group(group: string): void;
  open(name: string, symbol: number): void;
}

const groups = ["function", "file", "directory"] as const;

interface Row {
  readonly name: string;
  readonly place: string;
  readonly symbol: number;
  readonly byUse: number[];
  bytes: number;
  before: number;
}

const pageLength = 200;

export class TableView {
  readonly element = make("div", { class: "table-view" });
  private rows: Row[] = [];
  private first = 0;
  private shown = "";

  constructor(
    private readonly tree: Tree,
    private readonly data: PageData,
    private readonly actions: TableActions,
  ) {}

  show(
    at: Node,
    group: string,
    sort: string,
    use: string,
    matches: ((node: Node) => boolean) | null,
    query: string,
  ): void {
    const key = JSON.stringify([pathOf(at), group, sort, use, query]);
    if (key !== this.shown) {
      this.shown = key;
      this.first = 0;
      this.rows = this.rowsOf(at, group, matches);
      this.sortBy(sort);
    }
    this.render(group, sort);
  }

  private rowsOf(at: Node, group: string, matches: ((node: Node) => boolean) | null): Row[] {
    const rows = new Map<string, Row>();
    const { files, leaves, uses } = this.data;
    for (const node of leavesIn(at)) {
      if (matches !== null && !matches(node)) continue;
      const file = files[node.file]!;
      const slash = file.lastIndexOf("/");
      const directory = slash < 0 ? "." : file.slice(0, slash);
      const key = group === "function" ? `${node.leaf}` : group === "file" ? file : directory;
      let row = rows.get(key);
      if (row === undefined) {
        const isOne = group === "function";
        row = {
          name: isOne ? node.name : key,
          place: isOne ? file : "",
          symbol: isOne ? leaves.symbols[node.leaf]! : -1,
          byUse: uses.map(() => 0),
          bytes: 0,
          before: 0,
        };
        rows.set(key, row);
      }
      for (let i = 0; i < uses.length; i++) row.byUse[i]! += leaves.bytes[i]![node.leaf]!;
      row.bytes += node.bytes;
      row.before += node.before;
    }
    return [...rows.values()].filter(({ bytes, before }) => bytes > 0 || before > 0);
  }

  private sortBy(sort: string): void {
    const down = sort.startsWith("-");
    const column = down ? sort.slice(1) : sort;
    const at = (this.data.uses as readonly string[]).indexOf(column);
    const value = (row: Row): number =>
      at >= 0
        ? row.byUse[at]!
        : column === "before"
          ? row.before
          : column === "change"
            ? row.bytes - row.before
            : row.bytes;
    const text = column === "name" || column === "place";
    this.rows.sort((a, b) => {
      const order = text
        ? a[column as "name" | "place"].localeCompare(b[column as "name" | "place"])
        : value(a) - value(b);
      return (down ? -order : order) || b.bytes - a.bytes;
    });
  }

  private render(group: string, sort: string): void {
    const { rows, tree } = this;
    const { uses } = this.data;
    const present = uses.map((_, i) => rows.some(({ byUse }) => byUse[i]! > 0));
    const columns = [
      "name",
      ...(group === "function" ? ["place"] : []),
      "bytes",
      ...(tree.hasBefore ? ["before", "change"] : []),
      ...uses.filter((_, i) => present[i]),
    ];
    const titles: Readonly<Record<string, string>> = { name: group, place: "file" };
    const head = columns.map((column) => {
      const isSorted = sort === column || sort === `-${column}`;
      const isDown = sort.startsWith("-");
      const next = isSorted && isDown ? column : `-${column}`;
      return make(
        "th",
        { scope: "col", "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : undefined },
        make(
          "button",
          { type: "button", click: () => this.actions.sort(next) },
          `${titles[column] ?? column}${isSorted ? (isDown ? " ▾" : " ▴") : ""}`,
        ),
      );
    });
    const body = rows.slice(this.first, this.first + pageLength).map((row) => {
      const name =
        row.symbol < 0
          ? make("span", {}, row.name)
          : make(
              "button",
              { type: "button", class: "link", click: () => this.actions.open(row.name, row.symbol) },
              row.name,
            );
      const cells = columns.slice(1).map((column) => {
        if (column === "place") return make("td", {}, row.place);
        if (column === "bytes")
          return make(
            "td",
            { class: "number" },
            `${bytesText(row.bytes)} (${shareText(row.bytes, tree.root.bytes)})`,
          );
        if (column === "before") return make("td", { class: "number" }, bytesText(row.before));
        if (column === "change") {
          const change = row.bytes - row.before;
          const kind = change > 0 ? "grew" : change < 0 ? "shrank" : "";
          return make("td", { class: `number ${kind}` }, signedText(change));
        }
        const value = row.byUse[(uses as readonly string[]).indexOf(column)]!;
        return make("td", { class: "number" }, value === 0 ? "" : bytesText(value));
      });
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    });
    const total = rows.reduce((sum, { bytes }) => sum + bytes, 0);
    const caption = `${bytesText(rows.length)} rows, ${bytesText(total)} bytes`;
    const chooser = make(
      "select",
      {
        "aria-label": "Rows",
        change: (event) => this.actions.group((event.target as HTMLSelectElement).value),
      },
      ...groups.map((one) => make("option", { value: one, selected: one === group }, `by ${one}`)),
    );
    this.element.replaceChildren(
      make("div", { class: "bar" }, chooser, ...this.pager(group, sort)),
      make(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Sizes" },
        make(
          "table",
          {},
          make("caption", {}, caption),
          make("thead", {}, make("tr", {}, ...head)),
          make("tbody", {}, ...body),
        ),
      ),
    );
  }

  private pager(group: string, sort: string): HTMLElement[] {
    const { length } = this.rows;
    if (length <= pageLength) return [];
    const go = (first: number): void => {
      this.first = first;
      this.render(group, sort);
    };
    const last = Math.min(length, this.first + pageLength);
    return [
      make(
        "button",
        { type: "button", disabled: this.first === 0, click: () => go(Math.max(0, this.first - pageLength)) },
        "◂ before",
      ),
      make("span", {}, `${bytesText(this.first + 1)}–${bytesText(last)} of ${bytesText(length)}`),
      make(
        "button",
        { type: "button", disabled: last === length, click: () => go(this.first + pageLength) },
        "after ▸",
      ),
    ];
  }
}
