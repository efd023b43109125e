/**
 * `.symver name, name@VERSION` of a name that a module only mentions: the version is that of this module's references, and
 * those of other modules are to have the default one. In the program's one assembly file the directive would be about all of
 * them. So the module mentions another name, which has the version and, since it is defined nowhere, is in no symbol table.
 *
 * Source: GNU as manual, ".symver": the directive renames within the file that is assembled.
 */
import type { Module } from "../ir/module.js";
import { type AsmToken, readAsm } from "./asm-lexer.js";
import { asmSyntax } from "./asm-syntax.js";
import { isRuntimeSymbol } from "./runtime-symbols.js";

/** The names that stand for versions, one for each name and version: modules that ask for the same share one. */
export class SymbolVersions {
  private readonly names = new Map<string, string>();

  /** Renames in a module what it asks for a version of; those names. To be called before anything is asked about its names. */
  separate(module: Module): string[] {
    if (!module.moduleAsm.includes(".symver")) return [];
    const { statements, backslashes } = readAsm(module.moduleAsm, asmSyntax(module.triple));
    // What macros say is not known.
    if (backslashes || statements.some(([first]) => first?.text.toLowerCase() === ".macro")) return [];
    const defined = definedNames(module, statements);
    const renamed = new Map<string, string>();
    for (const tokens of statements) {
      const version = versionIn(tokens);
      if (version === null || defined.has(version.name) || isCalledByCode(version.name, module)) continue;
      // A name has one version in a file; the assembler says so of two.
      if (renamed.has(version.name)) return [];
      renamed.set(version.name, this.nameOf(version.name, version.versioned));
    }
    if (renamed.size === 0) return [];
    for (const global of module.globals) global.name = renamed.get(global.name) ?? global.name;
    module.moduleAsm = withNames(module.moduleAsm, statements, renamed);
    return [...renamed.values()];
  }

  private nameOf(name: string, versioned: string): string {
    const key = `${name} ${versioned}`;
    const known = this.names.get(key);
    if (known !== undefined) return known;
    const made = `${name}.symver.${this.names.size + 1}`;
    this.names.set(key, made);
    return made;
  }
}

/** `.symver name, versioned` */
function versionIn(tokens: readonly AsmToken[]): { name: string; versioned: string } | null {
  const [directive, name, comma, ...rest] = tokens;
  if (directive?.text.toLowerCase() !== ".symver" || name === undefined || comma?.text !== ",") return null;
  return { name: name.text, versioned: rest.map(({ text }) => text).join("") };
}

/** By the module's IR or by a label or an assignment in its assembly. */
function definedNames(module: Module, statements: readonly (readonly AsmToken[])[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const global of module.globals) if (!global.isDeclaration) names.add(global.name);
  for (const tokens of statements) {
    const [first, second] = tokens;
    if (second?.text === ":" || second?.text === "=") names.add(first!.text);
    else if (/^\.(?:set|equ|equiv|comm|lcomm)$/i.test(first!.text) && second !== undefined)
      names.add(second.text);
  }
  return names;
}

/**
 * Whether code generation may call a function where the module has an intrinsic: as there is one set of names for the
 * calls of the whole program, the version is that of the whole program, too.
 */
function isCalledByCode(name: string, module: Module): boolean {
  if (!isRuntimeSymbol(name)) return false;
  if (name.startsWith("_")) return true;
  const [intrinsic, exact] = [`llvm.${name}.`, `llvm.${name}`];
  return module.globals.some((global) => global.name.startsWith(intrinsic) || global.name === exact);
}

/** The text with other names, but for what a directive calls a versioned name. */
function withNames(
  text: string,
  statements: readonly (readonly AsmToken[])[],
  names: ReadonlyMap<string, string>,
): string {
  let result = "";
  let at = 0;
  for (const tokens of statements) {
    const last = versionIn(tokens) === null ? tokens.length : 2;
    for (const token of tokens.slice(0, last)) {
      const name = token.kind === "mark" ? undefined : names.get(token.text);
      if (name === undefined) continue;
      result += text.substring(at, token.start) + name;
      at = token.end;
    }
  }
  return result + text.substring(at);
}
