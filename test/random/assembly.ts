/**
 * Inline assembly for random programs. What each statement means stands beside it as a function in IR: the interpreter runs that,
 * and in what is compiled the calls of it are the assembly.
 */
import type { FunctionWriter } from "../legalize/random-ir.js";
import type { Random } from "../support/random.js";

/** An operand: a value of that type, the address of a word of memory, an index of one, or a constant. */
type Operand = "i32" | "i64" | "<2 x i64>" | "address" | "index" | "constant";

interface Statement {
  readonly result: string;
  readonly operands: readonly Operand[];
  readonly template: string;
  readonly constraints: string;
  /** Of the function in IR; its arguments are %0, %1 and so on. */
  readonly meaning: string;
}

const statement = (
  result: string,
  operands: readonly Operand[],
  template: string,
  constraints: string,
  meaning: string,
): Statement => ({ result, operands, template, constraints, meaning });

const all = (names: readonly string[]): string => names.map((name) => `,~{${name}}`).join("");
const numbered = (name: string): string[] => Array.from({ length: 16 }, (_, i) => `${name}${i}`);

const statements: Readonly<Record<string, Statement>> = {
  sum: statement(
    "i64",
    ["i64", "i64"],
    "leaq 5($1,$2,4), $0",
    "=r,r,r",
    "%3 = shl i64 %1, 2\n  %4 = add i64 %0, 5\n  %5 = add i64 %3, %4\n  ret i64 %5",
  ),
  low: statement(
    "i64",
    ["i64"],
    `movl \${1:k}, \${0:k}`,
    "=r,r",
    "%2 = and i64 %0, 4294967295\n  ret i64 %2",
  ),
  byte: statement("i64", ["i64"], `movzbl \${1:b}, \${0:k}`, "=r,q", "%2 = and i64 %0, 255\n  ret i64 %2"),
  "second-byte": statement(
    "i64",
    ["i64"],
    `movzbl \${1:h}, \${0:k}`,
    "=Q,Q",
    "%2 = lshr i64 %0, 8\n  %3 = and i64 %2, 255\n  ret i64 %3",
  ),
  word: statement("i32", ["i32"], `movzwl \${1:w}, $0`, "=r,r", "%2 = and i32 %0, 65535\n  ret i32 %2"),
  add: statement(
    "i64",
    ["i64", "i64"],
    "addq $2, $0",
    "=r,0,rm,~{dirflag},~{fpsr},~{flags}",
    "%3 = add i64 %0, %1\n  ret i64 %3",
  ),
  "add-half": statement(
    "i32",
    ["i32", "i32"],
    "addl $2, $0",
    "=&r,0,r,~{flags}",
    "%3 = add i32 %0, %1\n  ret i32 %3",
  ),
  "add-constant": statement(
    "i64",
    ["i64", "constant"],
    "addq $2, $0",
    "=r,0,i,~{flags}",
    "%3 = add i64 %0, %1\n  ret i64 %3",
  ),
  "high-product": statement(
    "i64",
    ["i64", "i64"],
    "movq $1, %rax; mulq $2",
    "=&{dx},r,r,~{rax},~{flags}",
    "%3 = zext i64 %0 to i128\n  %4 = zext i64 %1 to i128\n  %5 = mul i128 %3, %4\n  %6 = lshr i128 %5, 64\n  %7 = trunc i128 %6 to i64\n  ret i64 %7",
  ),
  below: statement(
    "i32",
    ["i64", "i64"],
    "cmpq $2, $1",
    "={@ccb},r,r,~{flags}",
    "%3 = icmp ult i64 %0, %1\n  %4 = zext i1 %3 to i32\n  ret i32 %4",
  ),
  load: statement("i64", ["address"], "movq $1, $0", "=r,*m", "%2 = load i64, ptr %0\n  ret i64 %2"),
  "load-by-register": statement(
    "i64",
    ["address", "index"],
    "movq ($1,$2,8), $0",
    "=r,r,r,~{memory}",
    "%3 = getelementptr i64, ptr %0, i64 %1\n  %4 = load i64, ptr %3\n  ret i64 %4",
  ),
  store: statement("void", ["address", "i64"], "movq $1, $0", "=*m,r", "store i64 %1, ptr %0\n  ret void"),
  "store-half": statement(
    "void",
    ["address", "i32"],
    "movl $1, ($0)",
    "r,r,~{memory}",
    "store i32 %1, ptr %0\n  ret void",
  ),
  "saved-registers": statement(
    "i64",
    ["i64"],
    "movq $1, %rbx; leaq 1(%rbx), $0",
    `=r,r${all(["rbx", "r12", "r13", "r15"])}`,
    "%2 = add i64 %0, 1\n  ret i64 %2",
  ),
  "few-registers": statement(
    "i64",
    ["i64", "i64"],
    "movq $1, $0; subq $2, $0",
    `=&r,r,rm${all(["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "flags"])}`,
    "%3 = sub i64 %0, %1\n  ret i64 %3",
  ),
  "no-vectors": statement(
    "i32",
    ["i32"],
    "notl $0",
    `=r,0${all(numbered("xmm"))}`,
    "%2 = xor i32 %0, -1\n  ret i32 %2",
  ),
  vector: statement(
    "<2 x i64>",
    ["<2 x i64>", "<2 x i64>"],
    "paddq $2, $0",
    "=x,0,x",
    "%3 = add <2 x i64> %0, %1\n  ret <2 x i64> %3",
  ),
};

const typeOf = (operand: Operand): string =>
  operand === "address" ? "ptr" : operand === "index" || operand === "constant" ? "i64" : operand;

/** What statements mean, in IR. */
export const meanings = Object.entries(statements)
  .map(([name, { result, operands, meaning }]) => {
    const body = `${meaning}\n`.replaceAll(/%(\d+)/g, "%v$1");
    const parameters = operands.map((operand, i) => `${typeOf(operand)} %v${i}`).join(", ");
    return `define internal ${result} @asm.${name}(${parameters}) {\n  ${body}}\n`;
  })
  .join("");

/** The same program with assembly in place of what it means. */
export const withAssembly = (text: string): string =>
  text.replaceAll(/\bcall (.*?) @asm\.([\w-]+)\((.*)\)/g, (_, result: string, name: string, args: string) => {
    const { template, constraints } = statements[name]!;
    const operands = constraints.includes("*m") ? args.replace("ptr ", "ptr elementtype(i64) ") : args;
    const effect = result === "void" || constraints.includes("memory") ? " sideeffect" : "";
    return `call ${result} asm${effect} "${template}", "${constraints}"(${operands})`;
  });

/** Values that a statement may use, by type; none: there is no such value. */
type Values = (type: string) => readonly string[];

/** The address of a word of memory by its number: of what begins there, of what ends there, or of one of two words. */
function randomAddress(w: FunctionWriter, random: Random, index: string): string {
  const word = w.emit(`getelementptr i64, ptr %memory, i64 ${index}`);
  switch (random.below(3)) {
    case 0:
      return word;
    case 1: {
      const back = w.emit(`sub i64 ${index}, 8`);
      const end = w.emit("getelementptr i64, ptr %memory, i64 8");
      return w.emit(`getelementptr i64, ptr ${end}, i64 ${back}`);
    }
    default: {
      const isSecond = w.emit(`icmp ugt i64 ${index}, 1`);
      return w.emit(`select i1 ${isSecond}, ptr ${word}, ptr %memory`);
    }
  }
}

/** Writes a statement. @returns the type of its result and the value, or null if it has none. */
export function randomAssembly(
  w: FunctionWriter,
  random: Random,
  values: Values,
): readonly [string, string] | null {
  const possible = Object.keys(statements).filter((name) =>
    statements[name]!.operands.every(
      (operand) => typeOf(operand) === "ptr" || values(typeOf(operand)).length > 0,
    ),
  );
  const name = random.pick(possible);
  const { result, operands } = statements[name]!;
  const args = operands.map((operand) => {
    const value = (): string => random.pick(values(typeOf(operand)));
    const index = (): string =>
      w.emit(`and i64 ${random.pick(values("i64"))}, ${operands.includes("index") ? 3 : 7}`);
    switch (operand) {
      case "address":
        return `ptr ${randomAddress(w, random, index())}`;
      case "index":
        return `i64 ${index()}`;
      case "constant":
        return `i64 ${random.below(1 << 16) - (1 << 15)}`;
      default:
        return `${operand} ${value()}`;
    }
  });
  const call = `call ${result} @asm.${name}(${args.join(", ")})`;
  if (result !== "void") return [result, w.emit(call)];
  w.lines.push(`  ${call}`);
  return null;
}
