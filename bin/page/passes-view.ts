/** What each decision of the link saved: a waterfall of what was measured, and bars of what passes estimate. */
import type { MeasuredSteps, PageData } from "../../formats/size-report/page-data.js";
import { bytesText, make, signedText } from "./format.js";

interface Bar {
  readonly name: string;
  readonly title: string;
  readonly from: number;
  readonly to: number;
  readonly kind: "whole" | "less" | "more";
  readonly text: string;
}

export function passesView({ measured, estimates }: PageData): HTMLElement {
  const parts: HTMLElement[] = [];
  if (measured !== null) parts.push(...measuredPart(measured));
  else
    parts.push(
      make(
        "p",
        {},
        "For what each decision really saves: ",
        make("code", {}, "tsc-lto measure --shapley 8 --json -- LINK… > measured.json"),
        ", then ",
        make("code", {}, "--measured measured.json"),
        " with this page.",
      ),
    );
  if (estimates.length > 0) {
    const bars = estimates.map(
      ([name, bytes]): Bar => ({
        name,
        title: name,
        from: 0,
        to: bytes,
        kind: "less",
        text: bytesText(bytes),
      }),
    );
    parts.push(
      make("h2", {}, "What passes estimate that they saved"),
      make("p", {}, "Each from what it saw: they do not add up, and others may have done the same."),
      chart(bars, "estimated bytes"),
    );
  }
  return make("div", { class: "passes" }, ...parts);
}

function measuredPart({ all, none, steps }: MeasuredSteps): HTMLElement[] {
  const adds = steps.every(({ shapley }) => shapley !== null);
  const sorted = [...steps].sort((a, b) => (b.shapley ?? b.saves) - (a.shapley ?? a.saves));
  const bars: Bar[] = [];
  if (adds) {
    let at = none;
    bars.push({
      name: "with none",
      title: "no decision taken",
      from: 0,
      to: none,
      kind: "whole",
      text: bytesText(none),
    });
    for (const { name, meaning, shapley } of sorted) {
      const next = at - shapley!;
      bars.push({
        name,
        title: meaning,
        from: at,
        to: next,
        kind: shapley! >= 0 ? "less" : "more",
        text: signedText(-shapley!),
      });
      at = next;
    }
    bars.push({
      name: "with all",
      title: "as it is linked",
      from: 0,
      to: all,
      kind: "whole",
      text: bytesText(all),
    });
  } else
    for (const { name, meaning, saves } of sorted)
      bars.push({
        name,
        title: meaning,
        from: 0,
        to: saves,
        kind: saves >= 0 ? "less" : "more",
        text: bytesText(saves),
      });
  const meaning = adds
    ? "From a link with none of the decisions to one with all of them; each step is the mean over orders of taking them (Shapley values), so they add up."
    : "How much larger the program is without each decision. They do not add up: what one leaves, another may save.";
  const rows = sorted.map((step) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, step.name),
      make("td", { class: "number" }, bytesText(step.saves)),
      make("td", { class: "number" }, step.alone === null ? "" : bytesText(step.alone)),
      make("td", { class: "number" }, step.shapley === null ? "" : bytesText(step.shapley)),
      make("td", {}, step.meaning),
    ),
  );
  const head = ["decision", "saves", "saves alone", "share", "what it is"].map((name) =>
    make("th", { scope: "col" }, name),
  );
  return [
    make("h2", {}, `${bytesText(none - all)} bytes saved, measured`),
    make("p", {}, meaning),
    chart(bars, "measured bytes"),
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  ];
}

/** Bars on one scale, which begins where the differences can be seen. */
function chart(bars: readonly Bar[], label: string): HTMLElement {
  const most = Math.max(...bars.map(({ from, to }) => Math.max(from, to)));
  const steps = bars.filter(({ kind, from }) => kind !== "whole" && from !== 0);
  const least =
    steps.length === 0 ? 0 : Math.min(...bars.filter(({ kind }) => kind !== "whole").map(({ to }) => to));
  const begin =
    steps.length === 0
      ? Math.min(0, ...bars.map(({ to }) => to))
      : Math.max(0, least - (most - least) * 0.15);
  const share = (value: number): number => (100 * (Math.max(begin, value) - begin)) / (most - begin || 1);
  const rows = bars.map(({ name, title, from, to, kind, text }) => {
    const [left, right] = [share(Math.min(from, to)), share(Math.max(from, to))];
    const bar = make("span", {
      class: `bar-fill ${kind}`,
      style: `left:${left.toFixed(3)}%;width:${Math.max(0.15, right - left).toFixed(3)}%`,
    });
    return make(
      "li",
      { title },
      make("span", { class: "bar-name" }, name),
      make("span", { class: "bar-track", "aria-hidden": "true" }, bar),
      make("span", { class: "number" }, text),
    );
  });
  return make("ol", { class: "chart", "aria-label": label }, ...rows);
}
