/** Numbers as they are shown, and elements. */

const grouped = new Intl.NumberFormat("en", { useGrouping: true });

/** `1 234`: a thin space that does not break. */
export const bytesText = (bytes: number): string =>
  grouped.format(Math.round(bytes)).replaceAll(",", "\u202f");
export const signedText = (bytes: number): string =>
  bytes === 0 ? "0" : `${bytes > 0 ? "+" : "−"}${bytesText(Math.abs(bytes))}`;
export const shareText = (part: number, whole: number): string =>
  whole === 0 ? "0%" : `${((100 * part) / whole).toFixed(1)}%`;

type Attributes = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>;

/** An element; attributes that are functions listen to the event of their name. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
