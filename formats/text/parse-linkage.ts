/** Words that come before the kind of a global: linkage, visibility, preemption, thread-local storage. */
import type { GlobalValue, Linkage, ThreadLocalMode, Visibility } from "../../lto/ir/module.js";
import { Tok } from "./lexer.js";
import type { ParseContext } from "./parse-context.js";

const linkages: ReadonlyMap<string, Linkage> = new Map<string, Linkage>([
  ["external", "external"],
  ["available_externally", "available_externally"],
  ["linkonce", "linkonce"],
  ["linkonce_odr", "linkonce_odr"],
  ["weak", "weak"],
  ["weak_odr", "weak_odr"],
  ["appending", "appending"],
  ["internal", "internal"],
  ["private", "private"],
  ["extern_weak", "extern_weak"],
  ["common", "common"],
]);
const visibilities: ReadonlyMap<string, Visibility> = new Map([
  ["default", "default"],
  ["hidden", "hidden"],
  ["protected", "protected"],
]);
const threadLocalModes = new Set(["localdynamic", "initialexec", "localexec", "generaldynamic"]);

export interface LinkageWords {
  /** null if none is written, which means external. */
  linkage: Linkage | null;
  visibility: Visibility;
  dsoLocal: boolean;
  threadLocal: ThreadLocalMode;
  unnamedAddr: GlobalValue["unnamedAddr"];
}

/** Reads as many of the words as there are, in any order. */
export function parseLinkage(p: ParseContext): LinkageWords {
  const words: LinkageWords = {
    linkage: null,
    visibility: "default",
    dsoLocal: false,
    threadLocal: "none",
    unnamedAddr: "none",
  };
  for (; p.kind() === Tok.Word; p.next()) {
    const word = p.text();
    const linkage = linkages.get(word);
    const visibility = visibilities.get(word);
    if (linkage !== undefined) words.linkage = linkage;
    else if (visibility !== undefined) words.visibility = visibility;
    else if (word === "dso_local") words.dsoLocal = true;
    else if (word === "unnamed_addr") words.unnamedAddr = "global";
    else if (word === "local_unnamed_addr") words.unnamedAddr = "local";
    else if (word === "thread_local") words.threadLocal = parseThreadLocal(p);
    else if (word !== "dso_preemptable" && word !== "dllimport" && word !== "dllexport") break;
  }
  return words;
}

/** Leaves the position at the last token of the clause. */
function parseThreadLocal(p: ParseContext): ThreadLocalMode {
  if (p.peek(1) !== Tok.OpenParen) return "generaldynamic";
  p.next();
  p.next();
  const mode = p.kind() === Tok.Word ? p.text() : "";
  if (!threadLocalModes.has(mode)) p.fail(`expected a thread-local mode, found ${p.found()}`);
  p.next();
  if (p.kind() !== Tok.CloseParen) p.fail(`expected ')', found ${p.found()}`);
  return mode as ThreadLocalMode;
}

export function applyLinkage(global: GlobalValue, words: LinkageWords): void {
  global.linkage = words.linkage ?? "external";
  global.visibility = words.visibility;
  global.threadLocal = words.threadLocal;
  if (words.unnamedAddr !== "none") global.unnamedAddr = words.unnamedAddr;
  // Local symbols, and hidden or protected ones that are not weak references, cannot be preempted.
  global.dsoLocal =
    words.dsoLocal || global.isLocal || (words.visibility !== "default" && words.linkage !== "extern_weak");
}
