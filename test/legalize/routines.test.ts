/**
 * Every routine that legalisation calls is among those that the IR was said to ask for (analysis/routines.ts): for each intrinsic and
 * operation, on types that the machine has and has not, and for random functions.
 */
import { describe, expect, it } from "vitest";
import { parseModule } from "../../formats/text/index.js";
import { reachableGlobals } from "../../lto/analysis/reachable.js";
import { scanBody } from "../../lto/analysis/references.js";
import { Routines } from "../../lto/analysis/routines.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import { isCall } from "../../lto/ir/instructions.js";
import { intrinsics } from "../../lto/ir/intrinsics.js";
import { Func, type GlobalValue, type Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { isRoutine } from "../../lto/link/index.js";
import { legalized } from "../support/lowering.js";
import { Random } from "../support/random.js";
import { generators, randomModule } from "./random-ir.js";

/** Library functions that the module's functions call once they are legal. */
function called(module: Module): Set<string> {
  const own = new Set(module.globals.map(({ name }) => name));
  const names = new Set<string>();
  for (const fn of module.functions) {
    if (fn.isDeclaration) continue;
    try {
      for (const { insts } of legalized(fn, module.dataLayout).body.blocks)
        for (const inst of insts) {
          const callee = isCall(inst) ? inst.operands[0]! : null;
          if (callee?.valueKind !== "global") continue;
          // Copies that selection may make calls of.
          const copy = /^llvm\.(mem(?:cpy|move|set))\./.exec(callee.name)?.[1];
          if (copy !== undefined) names.add(copy);
          else if (!/^(?:llvm|tsc)\./.test(callee.name) && !own.has(callee.name)) names.add(callee.name);
        }
    } catch (e) {
      if (!(e instanceof UnsupportedError)) throw e;
    }
  }
  return names;
}

/** Which of the routines of some names are not asked for, as the last pass on the program finds it. */
function unasked(module: Module, names: ReadonlySet<string>): string[] {
  const definitions = [...names].map((name) => new Func(name, functionType(voidType, [])));
  for (const definition of definitions) {
    module.globals.push(definition);
    module.routines.set(definition.name, [definition]);
  }
  const routines = new Routines(module);
  const mentioned = (global: GlobalValue, show: (other: GlobalValue) => void): void => {
    if (global.kind !== "function" || global.isDeclaration) return;
    const body = global.view();
    for (const callee of scanBody(global, body).calls) show(callee);
    routines.ofOperations(body, show);
  };
  const live = finish(reachableGlobals(module, module.pinned, mentioned, routines));
  return definitions.filter((definition) => !live.has(definition)).map(({ name }) => name);
}

/** Compiles it twice: once for what it calls, once for what it was said to ask for. */
function check(source: string): Set<string> {
  const names = called(parseModule(source, "a.ll"));
  expect(
    [...names].filter((name) => !isRoutine(name, true)),
    "no routine",
  ).toEqual([]);
  expect(unasked(parseModule(source, "b.ll"), names), source).toEqual([]);
  return names;
}

const floats = "half bfloat float double x86_fp80 fp128".split(" ");
const floatVectors = ["<2 x half>", "<3 x float>", "<2 x double>", "<2 x x86_fp80>", "<2 x fp128>"];
const ints = "i8 i24 i32 i64 i65 i128".split(" ");
const intVectors = ["<4 x i32>", "<2 x i64>", "<2 x i128>"];

/** Signatures in the notation of the table of intrinsics, for those whose rows have none. */
const further: Readonly<Record<string, string>> = {
  ...Object.fromEntries("fadd fsub fmul fdiv frem".split(" ").map((name) => [name, "F00"])),
  fptosi: "NF",
  fptoui: "NF",
  sitofp: "FN",
  uitofp: "FN",
  fpext: "FG",
  fptrunc: "FG",
  frexp: "SF",
  modf: "DF",
  sincos: "DF",
  canonicalize: "F0",
  fcmp: "BFF",
  fcmps: "BFF",
};

const laneCount = (type: string): number => Number(/^<(\d+)/.exec(type)?.[1] ?? 0);
const lanes = (count: number, element: string): string => (count === 0 ? element : `<${count} x ${element}>`);

/** Calls of an intrinsic on types that fit its signature. */
function* callsOf(name: string, signature: string): Generator<string> {
  const base = name.slice(name.lastIndexOf("constrained.") + 1).replace(/^onstrained\./, "");
  const isConstrained = name.startsWith("experimental.constrained.");
  const hasFloats = /[FGSD]/.test(signature);
  for (const float of hasFloats ? [...floats, ...floatVectors] : [""])
    for (const int of /[Ni]/.test(signature) ? [...ints, ...intVectors] : [""]) {
      const count = laneCount(hasFloats ? float : int);
      if (hasFloats && int !== "" && (laneCount(int) !== count || (signature.includes("i") && count > 0))) {
        // `powi` has one exponent for all lanes.
        if (!(signature.includes("i") && laneCount(int) === 0)) continue;
      }
      const spelled = (letter: string, types: readonly string[]): string => {
        switch (letter) {
          case "F":
          case "f":
            return float;
          case "G":
            return lanes(count, "float");
          case "N":
          case "i":
            return int;
          case "S":
            return `{ ${float}, ${lanes(count, "i32")} }`;
          case "D":
            return `{ ${float}, ${float} }`;
          case "B":
            return lanes(count, "i1");
          case "O":
            return `{ ${int}, ${lanes(count, "i1")} }`;
          case "b":
            return "i1";
          case "c":
            return "i8";
          case "h":
            return "i16";
          case "w":
            return "i32";
          case "x":
            return "i64";
          case "d":
            return "double";
          case "p":
            return "ptr";
          case "v":
            return "void";
          default:
            return types[Number(letter)] ?? "";
        }
      };
      const types: string[] = [];
      const [first, ...letters] = signature;
      // `1` in a result is the first parameter.
      const result = first === "1" ? spelled(letters[0]!, types) : spelled(first!, types);
      types.push(result);
      for (const letter of letters) types.push(letter === "1" ? types[1]! : spelled(letter, types));
      if (types.includes("") || (first !== "v" && letters.length === 0 && !/^[a-z]/.test(result))) continue;
      const immediates = intrinsics[name as keyof typeof intrinsics].immediates;
      const parameters = types.slice(1);
      const isConstant = (i: number): boolean => ((immediates >> i) & 1) === 1;
      const values = parameters.map((type, i) =>
        isConstant(i)
          ? `${type} ${type === "i1" ? "true" : type.startsWith("i") ? "3" : "zeroinitializer"}`
          : `${type} %p${i}`,
      );
      const notes = isConstrained
        ? [
            ...(base.startsWith("fcmp") ? ['metadata !"olt"'] : []),
            ...(/^(?:fptosi|fptoui|fpext|fcmps?|ceil|floor|round|roundeven|trunc|l?lround|minimum.*|maximum.*|m..num)$/.test(
              base,
            )
              ? []
              : ['metadata !"round.dynamic"']),
            'metadata !"fpexcept.strict"',
          ]
        : [];
      const all = [...parameters, ...notes.map(() => "metadata")].join(", ");
      const symbol = `@llvm.${name}.i1`;
      const taken = parameters.flatMap((type, i) => (isConstant(i) ? [] : [`${type} %p${i}`]));
      const call = `call ${result} ${symbol}(${[...values, ...notes].join(", ")})${isConstrained ? " strictfp" : ""}`;
      const body = result === "void" ? `${call}\n ret void` : `%r = ${call}\n ret ${result} %r`;
      yield `declare ${result} ${symbol}(${all})
define ${result} @main(${taken.join(", ")})${isConstrained ? " strictfp" : ""} {
 ${body}
}
`;
    }
}

it("intrinsics call the routines of their names, and those that their types need", () => {
  const names = new Set<string>();
  let count = 0;
  for (const [name, { signatures }] of Object.entries(intrinsics)) {
    const plain = name.replace("experimental.constrained.", "");
    const row = intrinsics[plain as keyof typeof intrinsics] as
      | { readonly signatures: readonly string[] }
      | undefined;
    const all = signatures.length > 0 ? signatures : (row?.signatures ?? []).concat(further[plain] ?? []);
    for (const signature of all)
      for (const source of callsOf(name, signature)) {
        count++;
        for (const called of check(source)) names.add(called);
      }
  }
  expect(count).toBeGreaterThan(1500);
  const expected =
    "sin cosf powl fmodf fminl fmax lroundf frexp modfl ldexp floor fma fegetenv fesetmode memcpy memset " +
    "__powidf2 __extendhfsf2 __truncsfhf2 __addtf3 __lttf2 __fixtfti __floattixf __divti3 sinf128";
  for (const name of expected.split(" ")) expect(names, name).toContain(name);
});

it("operations call those that their types need", () => {
  const lines: string[] = [];
  for (const type of [...floats, ...floatVectors]) {
    for (const op of ["fadd", "fdiv", "frem"])
      lines.push(
        `define ${type} @F(${type} %a, ${type} %b) {\n %r = ${op} ${type} %a, %b\n ret ${type} %r\n}`,
      );
    lines.push(
      `define ${lanes(laneCount(type), "i1")} @F(${type} %a, ${type} %b) {\n %r = fcmp ult ${type} %a, %b\n ret ${lanes(laneCount(type), "i1")} %r\n}`,
    );
    for (const element of ["i16", "i64", "i128"]) {
      const int = lanes(laneCount(type), element);
      lines.push(`define ${int} @F(${type} %a) {\n %r = fptoui ${type} %a to ${int}\n ret ${int} %r\n}`);
      lines.push(`define ${type} @F(${int} %a) {\n %r = sitofp ${int} %a to ${type}\n ret ${type} %r\n}`);
    }
  }
  for (const type of [...ints, "i256", ...intVectors])
    for (const op of ["mul", "udiv", "srem", "shl"])
      lines.push(
        `define ${type} @F(${type} %a, ${type} %b) {\n %r = ${op} ${type} %a, %b\n ret ${type} %r\n}`,
      );
  lines.push(
    "define i128 @F(ptr %p) {\n %r = load atomic i128, ptr %p seq_cst, align 16\n ret i128 %r\n}",
    "define i128 @F(ptr %p) {\n %r = atomicrmw nand ptr %p, i128 5 seq_cst, align 16\n ret i128 %r\n}",
    "define void @F(ptr %p, { half, [2 x i128] } %v) {\n store { half, [2 x i128] } %v, ptr %p\n ret void\n}",
  );
  const names = new Set<string>();
  for (const line of lines) for (const name of check(line.replaceAll("@F", "@main"))) names.add(name);
  for (const name of ["fmod", "fmodf", "fmodl", "__udivti3", "__modti3", "__divtf3", "__fixunsdfti"])
    expect(names).toContain(name);
});

describe("random functions", () => {
  it.each(Object.keys(generators))("%s", (generator) => {
    for (let seed = 1; seed <= 40; seed++) check(randomModule(generator, new Random(seed)).source);
  });
});

it("operations that the machine has call nothing", () => {
  for (const [op, type] of [
    ["fadd", "double"],
    ["fdiv", "x86_fp80"],
    ["udiv", "i64"],
    ["srem", "i33"],
  ])
    expect([
      ...check(
        `define ${type} @main(${type} %a, ${type} %b) {\n %r = ${op} ${type} %a, %b\n ret ${type} %r\n}`,
      ),
    ]).toEqual([]);
});
