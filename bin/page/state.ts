/** What is shown, as it stands in the fragment of the address: a link to the page leads to the same picture. */

export const views = ["map", "table", "passes", "calls"] as const;
export type View = (typeof views)[number];

export interface State {
  readonly view: View;
  /** The use that is measured, or "loaded" for all. */
  readonly use: string;
  /** The part of the program that is looked at: directories, a file. */
  readonly path: readonly string[];
  /** Of the call graph; "" for none. */
  readonly symbol: string;
  readonly query: string;
  readonly group: string;
  /** A column of the table, `-` in front for the largest first. */
  readonly sort: string;
  readonly theme: string;
}

const initial: State = {
  view: "map",
  use: "loaded",
  path: [],
  symbol: "",
  query: "",
  group: "function",
  sort: "-bytes",
  theme: "",
};

const words = ["use", "symbol", "query", "group", "sort", "theme"] as const;

export function readState(fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const view = views.find((one) => one === given.get("view")) ?? initial.view;
  const texts = Object.fromEntries(words.map((word) => [word, given.get(word) ?? initial[word]]));
  return { ...initial, ...texts, view, path: given.getAll("in") };
}

/** What is as it is at first is left out. */
export function writeState(state: State): string {
  const given = new URLSearchParams();
  if (state.view !== initial.view) given.set("view", state.view);
  for (const word of words) if (state[word] !== initial[word]) given.set(word, state[word]);
  for (const part of state.path) given.append("in", part);
  const text = given.toString();
  return text === "" ? "#" : `#${text}`;
}
