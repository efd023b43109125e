/** Errors and warnings on standard error: as lld writes them, in colours, or as JSON. */
import type { Host } from "./host.js";

export type Severity = "error" | "warning" | "note";

export interface Message {
  readonly severity: Severity;
  /** May have several lines. */
  readonly message: string;
  /** The input that it is about. */
  readonly file?: string | undefined;
  /** The same where the message names it already. */
  readonly named?: string | undefined;
  /** What of it is not supported. */
  readonly construct?: string | undefined;
}

/** How messages are written. */
export interface MessageStyle {
  readonly colour: boolean;
  readonly json: boolean;
  /** Only errors. */
  readonly quiet: boolean;
}

/** As on a terminal, or not, where no option says otherwise. */
export const usualStyle = ({ colour }: Pick<Host, "colour">): MessageStyle => ({
  colour,
  json: false,
  quiet: false,
});

/** SGR sequences (ECMA-48, 8.3.117), those that compilers and linkers have for these. */
const colours: Readonly<Record<Severity, string>> = {
  error: "\x1b[1;31m",
  warning: "\x1b[1;35m",
  note: "\x1b[1;36m",
};
const plain = "\x1b[0m";

/** A message with its line end; empty where it is not wanted. */
export function formatMessage(
  program: string,
  given: Message,
  { colour, json, quiet }: MessageStyle,
): string {
  const { severity, message, file, named, construct } = given;
  if (quiet && severity !== "error") return "";
  if (json) return `${JSON.stringify({ program, severity, file: file ?? named, construct, message })}\n`;
  const head = colour ? `${colours[severity]}${severity}:${plain}` : `${severity}:`;
  return `${program}: ${head} ${file === undefined ? "" : `${file}: `}${message}\n`;
}

/** When something is to be done: always, never, or where standard error is a terminal. */
export type When = "auto" | "always" | "never";

export const isColoured = (when: When, host: Pick<Host, "colour">): boolean =>
  when === "auto" ? host.colour : when === "always";
