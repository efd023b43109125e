/** The treemap: on a canvas, since there may be 50 000 functions; a second one above it shows what is pointed at. */
import { type HierarchyRectangularNode, hierarchy, treemap, treemapSquarify } from "d3-hierarchy";
import { bytesText, make, shareText, signedText } from "./format.js";
import { type Node, pathOf, type Tree } from "./tree.js";

type Box = HierarchyRectangularNode<Node>;

/** What the view asks of the page. */
export interface MapActions {
  /** Looks at another part. */
  enter(node: Node): void;
  /** Shows a function. */
  open(node: Node): void;
  /** Tells those who do not see. */
  announce(text: string): void;
}

const headerHeight = 17;
/** Of functions in pixels, on average: where it is less, a file is drawn as one. */
const leastArea = 30;
/** Smaller rectangles are not drawn: their parent's colour shows that something is there. */
const smallest = 1;

export class MapView {
  readonly element: HTMLElement;
  private readonly canvas = make("canvas");
  private readonly overlay = make("canvas", {
    tabindex: 0,
    role: "application",
    "aria-label": "Treemap",
    "aria-describedby": "map-help",
  });
  private readonly tip = make("div", { class: "tip", hidden: true });
  private boxes: Box | null = null;
  private selected: Box | null = null;
  private matches: ((node: Node) => boolean) | null = null;
  /** What the layout was made for. */
  private key = "";

  constructor(
    private readonly tree: Tree,
    private readonly actions: MapActions,
  ) {
    const help = make(
      "p",
      { id: "map-help", class: "hidden" },
      "Arrow keys go from part to part, Enter looks into one, Escape goes back. The table shows the same.",
    );
    this.element = make("div", { class: "map" }, this.canvas, this.overlay, this.tip, help);
    this.overlay.addEventListener("pointermove", (event) => this.point(event));
    this.overlay.addEventListener("pointerleave", () => this.select(null, false));
    this.overlay.addEventListener("click", (event) => this.activate(this.boxAt(event)));
    this.overlay.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  private at: Node | null = null;

  /** @param at what fills the map @param matches what a search found; null: nothing is searched for */
  show(at: Node, matches: ((node: Node) => boolean) | null): void {
    if (at !== this.at) this.selected = null;
    this.at = at;
    this.matches = matches;
    this.key = "";
    this.draw();
  }

  private draw(): void {
    const { at, canvas, overlay } = this;
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    if (at === null || width === 0 || height === 0) return;
    const ratio = devicePixelRatio;
    const key = `${width} ${height} ${ratio}`;
    if (key === this.key) return;
    this.key = key;
    for (const one of [canvas, overlay]) {
      one.width = width * ratio;
      one.height = height * ratio;
    }
    const scale = (width * height) / Math.max(1, at.bytes);
    // What would be too small to see inside of is drawn as one.
    const isSeen = (node: Node): boolean =>
      node === at || node.parent === at || node.bytes * scale > node.count * leastArea;
    const root = hierarchy(at, (node) => (node.children.length > 0 && isSeen(node) ? node.children : null))
      .sum((node) => (node.children.length > 0 && isSeen(node) ? 0 : node.bytes))
      .sort((a, b) => b.value! - a.value!);
    this.boxes = treemap<Node>()
      .tile(treemapSquarify)
      .size([width, height])
      .paddingTop((box) => (box.x1 - box.x0 > 40 && box.y1 - box.y0 > 2 * headerHeight ? headerHeight : 1))
      .paddingInner(1)
      .paddingRight(1)
      .paddingBottom(1)
      .paddingLeft(1)(root);
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    this.paint(context, this.boxes);
    this.highlight();
  }

  private paint(context: CanvasRenderingContext2D, root: Box): void {
    const style = getComputedStyle(this.element);
    const colours = new Colours(style, this.tree.hasBefore);
    const font = style.getPropertyValue("--font");
    context.fillStyle = style.getPropertyValue("--back");
    context.fillRect(0, 0, root.x1, root.y1);
    context.textBaseline = "middle";
    const labels: Box[] = [];
    const work: Box[] = [root];
    for (let box = work.pop(); box !== undefined; box = work.pop()) {
      const { x0, y0, x1, y1, data, children } = box;
      const width = x1 - x0;
      const height = y1 - y0;
      if (width < smallest || height < smallest) continue;
      const isLeaf = children === undefined;
      context.globalAlpha = this.matches !== null && isLeaf && !this.isFound(data) ? 0.15 : 1;
      context.fillStyle = colours.of(data, box.depth, isLeaf);
      context.fillRect(x0, y0, width, height);
      if (width > 34 && height > (isLeaf ? 12 : 2 * headerHeight)) labels.push(box);
      if (children !== undefined) for (let i = children.length - 1; i >= 0; i--) work.push(children[i]!);
    }
    context.globalAlpha = 1;
    context.fillStyle = style.getPropertyValue("--text");
    context.font = `11px ${font}`;
    for (const box of labels) if (box.children === undefined) this.label(context, box);
    context.font = `600 12px ${font}`;
    for (const box of labels) if (box.children !== undefined) this.label(context, box);
  }

  /** A part that is drawn as one is found by what is in it. */
  private isFound(node: Node): boolean {
    if (node.leaf >= 0) return this.matches!(node);
    return node.children.some((child) => this.isFound(child));
  }

  /** Name and bytes, as far as there is room. */
  private label(context: CanvasRenderingContext2D, { x0, y0, x1, y1, data, children }: Box): void {
    const height = y1 - y0;
    const room = Math.floor((x1 - x0 - 6) / (children === undefined ? 6.8 : 7.8));
    const cut = (text: string): string =>
      text.length <= room ? text : `${text.slice(0, Math.max(1, room - 1))}…`;
    const size = bytesText(data.bytes);
    if (children === undefined && height >= 28) {
      context.fillText(cut(data.name), x0 + 4, y0 + 9);
      if (size.length <= room) context.fillText(size, x0 + 4, y0 + 22);
    } else {
      const whole = `${data.name}  ${size}`;
      context.fillText(
        whole.length <= room ? whole : cut(data.name),
        x0 + 4,
        y0 + Math.min(height, headerHeight) / 2,
      );
    }
  }

  private boxAt({ offsetX, offsetY }: MouseEvent): Box | null {
    let box = this.boxes;
    if (box === null) return null;
    for (;;) {
      const inner: Box | undefined = box.children?.find(
        ({ x0, x1, y0, y1 }) => offsetX >= x0 && offsetX < x1 && offsetY >= y0 && offsetY < y1,
      );
      if (inner === undefined) return box;
      box = inner;
    }
  }

  private point(event: PointerEvent): void {
    const box = this.boxAt(event);
    if (box !== this.selected) this.select(box, false);
    const { tip } = this;
    if (box === null) return;
    tip.style.left = `${Math.min(event.offsetX + 14, this.element.clientWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.min(event.offsetY + 14, this.element.clientHeight - tip.offsetHeight - 4)}px`;
  }

  private describe({ bytes, before, count, name, leaf }: Node): string {
    const parts = [`${bytesText(bytes)} bytes`, shareText(bytes, this.tree.root.bytes)];
    if (this.tree.hasBefore) parts.push(before === 0 ? "new" : `${signedText(bytes - before)}`);
    if (leaf < 0) parts.push(`${bytesText(count)} functions and variables`);
    return `${name}: ${parts.join(", ")}`;
  }

  private select(box: Box | null, byKey: boolean): void {
    this.selected = box;
    this.tip.hidden = box === null;
    if (box !== null) {
      const place = pathOf(box.data).slice(0, -1).join("/");
      this.tip.replaceChildren(make("b", {}, this.describe(box.data)), make("br"), place);
      if (byKey) {
        this.actions.announce(this.describe(box.data));
        this.tip.style.left = `${Math.min(box.x0 + 8, this.element.clientWidth - this.tip.offsetWidth - 4)}px`;
        this.tip.style.top = `${Math.min(box.y0 + headerHeight + 4, this.element.clientHeight - this.tip.offsetHeight - 4)}px`;
      }
    }
    this.highlight();
  }

  private highlight(): void {
    const { overlay, selected } = this;
    const context = overlay.getContext("2d")!;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, overlay.width, overlay.height);
    if (selected === null) return;
    context.strokeStyle = getComputedStyle(this.element).getPropertyValue("--focus");
    context.lineWidth = 2;
    const { x0, y0, x1, y1 } = selected;
    context.strokeRect(x0 + 1, y0 + 1, Math.max(1, x1 - x0 - 2), Math.max(1, y1 - y0 - 2));
  }

  private activate(box: Box | null): void {
    if (box === null) return;
    if (box.data.leaf >= 0) this.actions.open(box.data);
    else if (box.data !== this.at) this.actions.enter(box.data);
    else this.leave();
  }

  private leave(): void {
    if (this.at?.parent != null) this.actions.enter(this.at.parent);
  }

  private press(event: KeyboardEvent): void {
    const { key } = event;
    if (key === "Escape" || key === "Backspace") this.leave();
    else if (key === "Enter" || key === " ") this.activate(this.selected);
    else if (key.startsWith("Arrow")) this.walk(key);
    else return;
    event.preventDefault();
  }

  /** To the nearest part on that side; at first to the largest. */
  private walk(key: string): void {
    const parts = this.boxes?.children ?? [];
    const from = this.selected;
    if (from === null || !parts.includes(from)) return this.select(parts[0] ?? null, true);
    const x = (box: Box): number => (box.x0 + box.x1) / 2;
    const y = (box: Box): number => (box.y0 + box.y1) / 2;
    const isAcross = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best: Box | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const box of parts) {
      const along = sign * (isAcross ? x(box) - x(from) : y(box) - y(from));
      if (box === from || along <= 0.5) continue;
      const distance = along + 2 * Math.abs(isAcross ? y(box) - y(from) : x(box) - x(from));
      if (distance < least) {
        least = distance;
        best = box;
      }
    }
    if (best !== null) this.select(best, true);
  }
}

/** Files differ in hue; with a program before, what shrank and what grew does. */
class Colours {
  private readonly isDark: boolean;
  private readonly panel: string;
  private readonly panel2: string;
  private readonly byFile = new Map<number, string>();
  constructor(
    style: CSSStyleDeclaration,
    private readonly hasBefore: boolean,
  ) {
    this.panel = style.getPropertyValue("--panel");
    this.panel2 = style.getPropertyValue("--panel-2");
    this.isDark = style.getPropertyValue("--dark").trim() === "1";
  }

  of(node: Node, depth: number, isLeaf: boolean): string {
    if (!isLeaf) return depth % 2 === 0 ? this.panel : this.panel2;
    if (!this.hasBefore) {
      const key = node.file < 0 ? depth : node.file;
      let colour = this.byFile.get(key);
      if (colour === undefined) {
        // The golden angle: neighbours in the list of files are far apart on the wheel.
        const hue = ((key * 137.508) % 360).toFixed(0);
        colour = this.isDark ? `hsl(${hue} 34% 34%)` : `hsl(${hue} 52% 78%)`;
        this.byFile.set(key, colour);
      }
      return colour;
    }
    const { bytes, before } = node;
    if (bytes === before) return this.isDark ? "hsl(220 8% 30%)" : "hsl(220 12% 86%)";
    const change = before === 0 ? 1 : Math.min(1, Math.abs(bytes - before) / before);
    // In steps, so that there are few colours.
    const strength = Math.round(10 * (0.35 + 0.65 * Math.sqrt(change))) / 10;
    // Orange and blue can be told apart by those who do not see red and green.
    const hue = bytes > before ? 24 : 212;
    return this.isDark
      ? `hsl(${hue} ${30 + 45 * strength}% ${26 + 18 * strength}%)`
      : `hsl(${hue} ${40 + 50 * strength}% ${88 - 26 * strength}%)`;
  }
}
