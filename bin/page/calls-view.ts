/** A function with those that call it and those that it calls, what calls of it change, and its stack. */
import type { Mask, PageData, RareFacts } from "../../formats/size-report/page-data.js";
import { bytesText, make } from "./format.js";

/** Shown of callers and callees; the rest on demand. */
const most = 24;

interface Shown extends RareFacts {
  readonly name: string;
  readonly bytes: number;
  readonly code: number;
  readonly calls: readonly number[];
  readonly mask: Mask | null;
  readonly stack: number;
  readonly depth: number;
}

/** The name of a symbol. */
export function symbolName({ symbols, leaves }: PageData, number: number): string {
  const name = symbols.names[number]!;
  return typeof name === "string" ? name : leaves.names[name]!;
}

export class CallsView {
  readonly element = make("div", { class: "calls" });
  private readonly callers: number[][];
  private readonly byName = new Map<string, number>();
  private readonly rare = new Map<number, RareFacts>();
  private isWhole = false;
  private shown = "";

  constructor(
    private readonly data: PageData,
    private readonly open: (name: string) => void,
  ) {
    const { calls } = data.symbols;
    this.callers = calls.map(() => []);
    calls.forEach((callees, i) => {
      this.byName.set(symbolName(data, i), i);
      for (const callee of callees) this.callers[callee]!.push(i);
    });
    for (const [number, facts] of data.symbols.rare) this.rare.set(number, facts);
    new ResizeObserver(() => this.connect()).observe(this.element);
  }

  show(name: string): void {
    if (name !== this.shown) this.isWhole = false;
    this.shown = name;
    const number = this.byName.get(name) ?? this.byName.get("main") ?? this.largest();
    const { bytes } = this.data.symbols;
    if (bytes[number] === undefined) {
      this.element.replaceChildren(
        make("p", {}, "The report knows of no functions: link with --size-report."),
      );
      return;
    }
    const symbol = this.at(number);
    const bySize = (list: readonly number[]): number[] => [...list].sort((a, b) => bytes[b]! - bytes[a]!);
    this.element.replaceChildren(
      this.lines,
      this.column("Called by", bySize(this.callers[number]!), [], "callers"),
      this.centre(symbol),
      this.column("Calls", bySize(symbol.calls), symbol.outside ?? [], "callees"),
    );
    requestAnimationFrame(() => this.connect());
  }

  private readonly lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");

  private at(number: number): Shown {
    const { symbols, leaves, files, masks } = this.data;
    const name = symbols.names[number]!;
    const place = typeof name === "number" ? { file: files[leaves.files[name]!]! } : {};
    return {
      ...place,
      ...this.rare.get(number),
      name: symbolName(this.data, number),
      bytes: symbols.bytes[number]!,
      code: symbols.code[number]!,
      calls: symbols.calls[number]!,
      mask: masks[symbols.masks[number]!] ?? null,
      stack: symbols.stack[number]!,
      depth: symbols.depth[number]!,
    };
  }

  private largest(): number {
    const { code } = this.data.symbols;
    let best = 0;
    for (let i = 1; i < code.length; i++) if (code[i]! > code[best]!) best = i;
    return best;
  }

  private column(
    title: string,
    numbers: readonly number[],
    outside: readonly string[],
    kind: string,
  ): HTMLElement {
    const all = [
      ...numbers.map((number) => {
        const { name, bytes } = this.at(number);
        const depth = depthText(this.at(number));
        return make(
          "li",
          {},
          make("button", { type: "button", class: "node", click: () => this.open(name) }, name),
          make(
            "span",
            { class: "small" },
            ` ${bytesText(bytes)} bytes${depth === "" ? "" : `, stack ${depth}`}`,
          ),
        );
      }),
      ...outside.map((name) =>
        make(
          "li",
          {},
          make("span", { class: "node outside" }, name),
          make("span", { class: "small" }, " not in the link"),
        ),
      ),
    ];
    const shown = this.isWhole ? all : all.slice(0, most);
    if (shown.length < all.length)
      shown.push(
        make(
          "li",
          {},
          make(
            "button",
            {
              type: "button",
              click: () => {
                this.isWhole = true;
                this.show(this.shown);
              },
            },
            `${all.length - shown.length} more`,
          ),
        ),
      );
    const list = all.length === 0 ? make("p", { class: "small" }, "nobody") : make("ul", {}, ...shown);
    return make(
      "section",
      { class: kind, "aria-label": title },
      make("h2", {}, `${title} (${all.length})`),
      list,
    );
  }

  private centre(symbol: Shown): HTMLElement {
    const rows: [string, string | HTMLElement][] = [
      ["size", `${bytesText(symbol.bytes)} bytes, ${bytesText(symbol.code)} of them code`],
    ];
    if (symbol.file !== undefined) rows.push(["from", symbol.file]);
    if (symbol.madeBy !== undefined) rows.push(["made by", symbol.madeBy]);
    if (symbol.stack >= 0) rows.push(["stack", `${bytesText(symbol.stack)} bytes itself`]);
    const depth = depthText(symbol);
    if (depth !== "") rows.push(["with callees", `${depth} bytes deep`]);
    rows.push(["arguments", symbol.convention ?? "by the platform's convention"]);
    if (symbol.open !== undefined) rows.push(["open", symbol.open.join("; ")]);
    else if (symbol.mask !== null) rows.push(["open", "no: only known code enters it"]);
    if (symbol.root !== undefined) rows.push(["kept by", symbol.root.join("; ")]);
    if (symbol.unknown !== undefined) rows.push(["calls unknown", symbol.unknown.join(", ")]);
    const list = make(
      "dl",
      {},
      ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
    );
    return make(
      "section",
      { class: "centre", "aria-label": symbol.name },
      make("h2", { class: "node" }, symbol.name),
      list,
      ...(symbol.mask === null ? [] : this.registersOf(symbol.mask)),
    );
  }

  /** A chip for each register that the report names, by what a call of the function does to it. */
  private registersOf({ changes, own, saves, gives, preserves }: Mask): HTMLElement[] {
    const kinds = new Map<number, string>();
    for (const register of preserves) kinds.set(register, "preserved");
    for (const register of changes) kinds.set(register, "callees");
    for (const register of own) kinds.set(register, "own");
    for (const register of saves) kinds.set(register, "saved");
    const given = new Set(gives);
    const words: Readonly<Record<string, string>> = {
      own: "changed by its own instructions",
      callees: "changed by its callees",
      saved: "saved and restored",
      preserved: "preserved, beyond the convention",
    };
    const chips = [...kinds]
      .sort(([a], [b]) => a - b)
      .map(([register, kind]) => {
        const isGiven = given.has(register);
        const title = `${words[kind]}${isGiven ? "; the convention would have it preserved, and no caller needs that" : ""}`;
        return make(
          "li",
          { class: `chip ${kind}${isGiven ? " given" : ""}`, title },
          this.data.registers[register]!,
          make("span", { class: "hidden" }, `: ${title}`),
        );
      });
    const legend = Object.entries(words)
      .filter(([kind]) => [...kinds.values()].includes(kind))
      .map(([kind, text]) => make("li", {}, make("span", { class: `chip ${kind}` }, "\u00a0"), ` ${text}`));
    return [
      make("h3", {}, "Registers in a call"),
      make("ul", { class: "chips" }, ...chips),
      make("ul", { class: "legend" }, ...legend),
    ];
  }

  /** Lines from callers to the function and on to callees. */
  private connect(): void {
    const { element, lines } = this;
    const middle = element.querySelector(".centre h2")?.getBoundingClientRect();
    if (middle === undefined) return;
    const base = element.getBoundingClientRect();
    const y = middle.top + middle.height / 2 - base.top + element.scrollTop;
    lines.setAttribute("width", String(element.scrollWidth));
    lines.setAttribute("height", String(element.scrollHeight));
    lines.setAttribute("aria-hidden", "true");
    const curve = (node: Element, isCaller: boolean): SVGPathElement => {
      const box = node.getBoundingClientRect();
      const from = (isCaller ? box.right : box.left) - base.left;
      const at = box.top + box.height / 2 - base.top + element.scrollTop;
      const to = (isCaller ? middle.left : middle.right) - base.left;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const half = (from + to) / 2;
      path.setAttribute("d", `M${from} ${at} C${half} ${at} ${half} ${y} ${to} ${y}`);
      return path;
    };
    lines.replaceChildren(
      ...[...element.querySelectorAll(".callers .node")].map((node) => curve(node, true)),
      ...[...element.querySelectorAll(".callees .node")].map((node) => curve(node, false)),
    );
  }
}

const depthText = ({ depth, mask }: Shown): string =>
  mask === null ? "" : depth < 0 ? `≥ ${bytesText(~depth)}` : bytesText(depth);
