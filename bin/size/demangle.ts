/** Names of C++ and Rust as they are in the source, by `c++filt` where there is one. */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import type { Host } from "../host/host.js";
import { runTool } from "../host/tools.js";

const isMangled = (name: string): boolean => /^_{1,2}[ZR]/.test(name);

/** @returns what to show for a name; the name itself where nobody knows better */
export async function demangler(names: Iterable<string>, host: Host): Promise<(name: string) => string> {
  const mangled = [...new Set(names)].filter((name) => isMangled(name) && !name.includes("\n"));
  if (mangled.length === 0) return (name) => name;
  const stdin = bytesOfText(mangled.map((name) => `${name}\n`).join(""));
  const { exitCode, stdout } = await runTool("c++filt", [], host, { live: false, stdin });
  const lines = new TextDecoder().decode(stdout).split("\n");
  if (exitCode !== 0 || lines.length !== mangled.length + 1) return (name) => name;
  const shown = new Map(mangled.map((name, i) => [name, lines[i]!]));
  return (name) => shown.get(name) ?? name;
}
