/** A program several times in one: copies whose external symbols have names of their own, and one `main` that calls each copy's. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { mustRun } from "../process.js";
import { findProgram } from "../root.js";
import { assembleBitcode } from "./assemble.js";

/**
 * @param objects bitcode of a C program
 * @param folder for what is made; what was there goes
 * @returns bitcode of the larger program
 */
export async function renamedCopies(
  objects: readonly string[],
  count: number,
  folder: string,
): Promise<string[]> {
  const disassembler = findProgram("llvm-dis-22", "llvm-dis", "llvm-dis-19");
  if (disassembler === undefined) throw new Error("there is no llvm-dis");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const texts: string[] = [];
  for (const object of objects) {
    const file = join(folder, "object.ll");
    await mustRun([disassembler, object, "-o", file]);
    texts.push(readFileSync(file, "latin1"));
  }
  const defined = new Set(texts.flatMap(externalNames));
  const copies: string[] = [];
  const assemble = async (name: string, text: string): Promise<void> => {
    const file = join(folder, name);
    writeFileSync(file, text, "latin1");
    copies.push(await assembleBitcode(file));
  };
  for (let copy = 0; copy < count; copy++)
    for (const [i, text] of texts.entries()) {
      const renamed = text.replace(symbol, (whole: string, name: string) =>
        defined.has(name) ? `@${name}.${copy}` : whole,
      );
      await assemble(`${copy}-${basename(objects[i]!)}.ll`, renamed);
    }
  await assemble("main.ll", mainOf(count, targetOf(texts[0]!)));
  return copies;
}

const symbol = /@([-\w$.]+)/g;

/** Symbols that other files see, of a module's text. */
const externalNames = (text: string): string[] =>
  [
    ...text.matchAll(
      /^(?:define (?!internal |private )[^@\n]*@([-\w$.]+)\(|@([-\w$.]+) = (?!internal |private |external )[^\n]*$)/gm,
    ),
  ].map(([, fn, variable]) => fn ?? variable!);

const targetOf = (text: string): string => (text.match(/^target .*$/gm) ?? []).join("\n");

function mainOf(count: number, target: string): string {
  const numbers = Array.from({ length: count }, (_, i) => i);
  return [
    target,
    ...numbers.map((i) => `declare i32 @main.${i}(i32, ptr)`),
    "define i32 @main(i32 %n, ptr %v) {",
    ...numbers.map((i) => `  %r${i} = call i32 @main.${i}(i32 %n, ptr %v)`),
    "  ret i32 %r0",
    "}",
    "",
  ].join("\n");
}
