/**
 * The page of `tsc-lto size --html`: one file that asks nothing of the network. The data stands in it as JSON; this is its
 * program. What is shown follows from the state in the fragment of the address.
 */
import type { PageData } from "../../formats/size-report/page-data.js";
import { CallsView, symbolName } from "./calls-view.js";
import { bytesText, make, signedText } from "./format.js";
import { MapView } from "./map-view.js";
import { passesView } from "./passes-view.js";
import { SearchBox } from "./search-box.js";
import { readState, type State, type View, views, writeState } from "./state.js";
import { style } from "./style.js";
import { TableView } from "./table-view.js";
import { type Node, pathOf, Tree } from "./tree.js";

const titles: Readonly<Record<View, string>> = {
  map: "Map",
  table: "Table",
  passes: "Passes",
  calls: "Calls",
};

class Page {
  private readonly tree: Tree;
  private readonly map: MapView;
  private readonly table: TableView;
  private callsView: CallsView | null = null;
  private readonly search: SearchBox;
  private readonly live = make("div", { class: "hidden", "aria-live": "polite", role: "status" });
  private readonly crumbs = make("nav", { class: "crumbs", "aria-label": "Part of the program" });
  private readonly place = make("main", { id: "main" });
  private readonly sum = make("span", { class: "sum" });
  private readonly tabs = make("nav", { "aria-label": "Views" });
  private readonly use: HTMLSelectElement;
  private passes: HTMLElement | null = null;
  private state: State;
  private measured = "";

  constructor(private readonly data: PageData) {
    this.tree = new Tree(data);
    this.state = readState(location.hash);
    const open = (node: Node): void => {
      const symbol = data.leaves.symbols[node.leaf]!;
      if (symbol >= 0) this.go({ view: "calls", symbol: symbolName(data, symbol) });
      else if (node.parent !== null) this.go({ view: "map", path: pathOf(node.parent), query: node.name });
    };
    this.map = new MapView(this.tree, {
      enter: (node) => this.go({ path: pathOf(node) }),
      open,
      announce: (text) => {
        this.live.textContent = text;
      },
    });
    this.table = new TableView(this.tree, data, {
      sort: (sort) => this.go({ sort }, true),
      group: (group) => this.go({ group }, true),
      open: (_, symbol) => this.go({ view: "calls", symbol: symbolName(data, symbol) }),
    });
    this.search = new SearchBox(this.tree, { query: (query) => this.go({ query }, true), open });
    this.use = make(
      "select",
      { "aria-label": "What is measured", change: () => this.go({ use: this.use.value }, true) },
      make("option", { value: "loaded" }, "all that is loaded"),
      ...data.uses.map((use) => make("option", { value: use }, use)),
    );
    const theme = make("button", { type: "button", click: () => this.turn() }, "◐ theme");
    document.body.replaceChildren(
      make(
        "header",
        {},
        make("h1", {}, data.program),
        this.sum,
        this.tabs,
        this.use,
        theme,
        this.search.element,
      ),
      this.crumbs,
      this.place,
      this.live,
    );
    addEventListener("hashchange", () => {
      this.state = readState(location.hash);
      this.render();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.render());
    this.render();
  }

  /** Made when it is first looked at, as few want it at once. */
  private get calls(): CallsView {
    this.callsView ??= new CallsView(this.data, (symbol) => this.go({ symbol }));
    return this.callsView;
  }

  /** @param quietly the way back leads past it */
  private go(change: Partial<State>, quietly = false): void {
    this.state = { ...this.state, ...change };
    const fragment = writeState(this.state);
    if (quietly) history.replaceState(null, "", fragment);
    else history.pushState(null, "", fragment);
    this.render();
  }

  private turn(): void {
    const isDark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
    this.go({ theme: isDark ? "light" : "dark" }, true);
  }

  private render(): void {
    const { state, tree, data, place } = this;
    const { theme } = state;
    if (theme === "") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    if (state.use !== this.measured) {
      tree.measure(state.use);
      this.measured = state.use;
      this.use.value = state.use;
    }
    const { bytes, before } = tree.root;
    const change = tree.hasBefore ? `, ${signedText(bytes - before)} since ${data.before}` : "";
    this.sum.textContent = `${bytesText(bytes)} bytes${change}`;
    this.tabs.replaceChildren(
      ...views.map((view) =>
        make(
          "button",
          {
            type: "button",
            "aria-current": view === state.view ? "page" : undefined,
            click: () => this.go({ view }),
          },
          titles[view],
        ),
      ),
    );
    this.search.text = state.query;
    const at = tree.find(state.path);
    this.renderCrumbs(at);
    const matches = this.search.matcher(state.query, data.files);
    const shown = this.viewElement();
    if (place.firstElementChild !== shown) place.replaceChildren(shown);
    if (state.view === "map") this.map.show(at, matches);
    else if (state.view === "table")
      this.table.show(at, state.group, state.sort, state.use, matches, state.query);
    else if (state.view === "calls") this.calls.show(state.symbol);
  }

  private viewElement(): HTMLElement {
    switch (this.state.view) {
      case "map":
        return this.map.element;
      case "table":
        return this.table.element;
      case "calls":
        return this.calls.element;
      case "passes":
        this.passes ??= passesView(this.data);
        return this.passes;
    }
  }

  private renderCrumbs(at: Node): void {
    const { state, crumbs } = this;
    crumbs.hidden = state.view !== "map" && state.view !== "table";
    const parts: Node[] = [];
    for (let node: Node | null = at; node !== null; node = node.parent) parts.unshift(node);
    crumbs.replaceChildren(
      ...parts.map((node) =>
        make(
          "button",
          {
            type: "button",
            "aria-current": node === at ? "location" : undefined,
            click: () => this.go({ path: pathOf(node) }),
          },
          `${node.name}  ${bytesText(node.bytes)}`,
        ),
      ),
      ...(this.tree.hasBefore && state.view === "map" ? [changeLegend()] : []),
    );
  }
}

const changeLegend = (): HTMLElement =>
  make(
    "span",
    { class: "small" },
    make("span", { class: "swatch", style: "background:hsl(24 80% 60%)" }),
    " grew or new  ",
    make("span", { class: "swatch", style: "background:hsl(212 80% 60%)" }),
    " shrank",
  );

document.head.append(make("style", {}, style));
new Page(JSON.parse(document.getElementById("data")!.textContent!) as PageData);
document.documentElement.dataset["ready"] = String(Math.round(performance.now()));
