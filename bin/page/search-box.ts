/** The search: names as one types, chosen with the arrow keys; the other views show what matches. */
import { bytesText, make } from "./format.js";
import type { Node, Tree } from "./tree.js";

const mostFound = 40;

export interface SearchActions {
  query(text: string): void;
  open(node: Node): void;
}

export class SearchBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list = make("ul", {
    class: "found",
    id: "found",
    role: "listbox",
    "aria-label": "Found",
    hidden: true,
  });
  private found: Node[] = [];
  private chosen = -1;
  /** In lower case, once a search wants them. */
  private names: string[] | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly actions: SearchActions,
  ) {
    this.input = make("input", {
      type: "search",
      placeholder: "Search functions, files  (/)",
      "aria-label": "Search functions and files",
      role: "combobox",
      "aria-controls": "found",
      "aria-expanded": "false",
      autocomplete: "off",
      size: 28,
    });
    this.element = make("div", { class: "search" }, this.input, this.list);
    this.input.addEventListener("input", () => this.type());
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("blur", () => this.close());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      this.input.focus();
    });
  }

  set text(text: string) {
    if (document.activeElement !== this.input) this.input.value = text;
  }

  /** What a query finds: in names of functions and files; null: there is none. */
  matcher(query: string, files: readonly string[]): ((node: Node) => boolean) | null {
    const word = query.trim().toLowerCase();
    if (word === "") return null;
    this.names ??= this.tree.leaves.map(({ name }) => name.toLowerCase());
    const { names } = this;
    const inFile = files.map((file) => file.toLowerCase().includes(word));
    return ({ leaf, file }) => leaf >= 0 && (names[leaf]!.includes(word) || inFile[file] === true);
  }

  private type(): void {
    const { value } = this.input;
    this.actions.query(value);
    const word = value.trim().toLowerCase();
    this.names ??= this.tree.leaves.map(({ name }) => name.toLowerCase());
    const { names } = this;
    const all = word === "" ? [] : this.tree.leaves.filter(({ leaf }) => names[leaf]!.includes(word));
    this.found = all.sort((a, b) => rank(a, word) - rank(b, word) || b.bytes - a.bytes).slice(0, mostFound);
    this.chosen = -1;
    this.render();
  }

  private render(): void {
    const { list, input, found, chosen } = this;
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (chosen >= 0) input.setAttribute("aria-activedescendant", `found-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
    list.replaceChildren(
      ...found.map((node, i) =>
        make(
          "li",
          {
            id: `found-${i}`,
            role: "option",
            "aria-selected": String(i === chosen),
            pointerdown: (event) => {
              event.preventDefault();
              this.take(node);
            },
          },
          `${node.name}  `,
          make("span", { class: "small" }, `${bytesText(node.bytes)} bytes, ${node.parent?.name ?? ""}`),
        ),
      ),
    );
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  private press(event: KeyboardEvent): void {
    const { found } = this;
    if (event.key === "ArrowDown") this.chosen = Math.min(found.length - 1, this.chosen + 1);
    else if (event.key === "ArrowUp") this.chosen = Math.max(-1, this.chosen - 1);
    else if (event.key === "Enter") {
      const node = found[Math.max(0, this.chosen)];
      if (node !== undefined) this.take(node);
      return;
    } else if (event.key === "Escape") {
      if (!this.list.hidden) return this.close();
      this.input.value = "";
      return this.type();
    } else return;
    event.preventDefault();
    this.render();
  }

  private take(node: Node): void {
    this.close();
    this.actions.open(node);
  }

  private close(): void {
    this.found = [];
    this.render();
  }
}

/** Whole names first, then those that begin so. */
const rank = ({ name }: Node, word: string): number => {
  const lower = name.toLowerCase();
  return lower === word ? 0 : lower.startsWith(word) ? 1 : 2;
};
