/** Rules for globals (LLVM Language Reference, "Linkage Types", "Global Variables", "Functions", "Aliases"). */
import type { Alias, Comdat, Func, GlobalValue, GlobalVariable, IFunc, Linkage } from "../ir/module.js";
import type { Constant } from "../ir/values.js";
import { attributeProblem } from "./calls.js";
import type { ConstantVerifier } from "./constants.js";
import { describeType } from "./describe.js";
import { intrinsicBodyProblem } from "./intrinsics.js";
import { isFirstClass, isPowerOfTwo, type Problem } from "./rules.js";

/** Linkages that a symbol without a definition here can have. */
const declarationLinkages: ReadonlySet<Linkage> = new Set(["external", "extern_weak"]);
const aliasLinkages: ReadonlySet<Linkage> = new Set([
  "external",
  "internal",
  "private",
  "weak",
  "weak_odr",
  "linkonce",
  "linkonce_odr",
  "available_externally",
]);

export class GlobalVerifier {
  private readonly names = new Set<string>();
  private readonly comdats = new Map<string, Comdat>();

  constructor(private readonly constants: ConstantVerifier) {}

  /** What is wrong with a global; bodies are not looked at. */
  check(global: GlobalValue): Problem {
    if (global.name !== "") {
      if (this.names.has(global.name)) return "defined twice";
      this.names.add(global.name);
    }
    if (!global.type.isPointer) return `its address has type ${describeType(global.type)}`;
    if (global.isLocal && global.visibility !== "default")
      return "a local symbol that is not of default visibility";
    return this.comdat(global) ?? this.linkage(global) ?? this.byKind(global);
  }

  private byKind(global: GlobalValue): Problem {
    switch (global.kind) {
      case "function":
        return this.fn(global);
      case "variable":
        return this.variable(global);
      case "alias":
        return this.alias(global);
      case "ifunc":
        return this.ifunc(global);
      default:
        return "of unknown kind";
    }
  }

  private comdat(global: GlobalValue): Problem {
    const { comdat } = global;
    if (comdat === null) return null;
    if (global.isDeclaration) return "a declaration in a comdat";
    const first = this.comdats.get(comdat.name) ?? comdat;
    this.comdats.set(comdat.name, first);
    return first === comdat ? null : `comdat ${comdat.name.slice(0, 60)} exists twice`;
  }

  private linkage(global: GlobalValue): Problem {
    const { linkage } = global;
    if (global.kind === "alias" || global.kind === "ifunc")
      return aliasLinkages.has(linkage) ? null : `an ${global.kind} cannot have linkage ${linkage}`;
    if (global.isDeclaration)
      return declarationLinkages.has(linkage) ? null : `a declaration cannot have linkage ${linkage}`;
    if (linkage === "extern_weak") return "a definition cannot have linkage extern_weak";
    if (global.kind === "function")
      return linkage === "common" || linkage === "appending"
        ? `a function cannot have linkage ${linkage}`
        : null;
    if (linkage === "appending" && global.valueType.kind !== "array")
      return "only arrays can have linkage appending";
    if (linkage !== "common") return null;
    if (global.isConstant) return "a constant cannot have linkage common";
    if (global.comdat !== null) return "a variable of linkage common cannot be in a comdat";
    return isNull(global.initializer!) ? null : "a variable of linkage common is not zero";
  }

  private variable(global: GlobalVariable): Problem {
    if (!isFirstClass(global.valueType)) return `of type ${describeType(global.valueType)}`;
    if (global.align !== 0 && !isPowerOfTwo(global.align)) return `alignment ${global.align}`;
    const { initializer } = global;
    if (initializer === null) return null;
    if (initializer.type !== global.valueType)
      return `its initializer has type ${describeType(initializer.type)} instead of ${describeType(global.valueType)}`;
    return this.constants.check(initializer) ?? specialVariableProblem(global);
  }

  private fn(fn: Func): Problem {
    if (fn.valueType.kind !== "function") return `of type ${describeType(fn.valueType)}`;
    const { parameters, result } = fn.valueType;
    if (
      fn.args.length !== parameters.length ||
      fn.args.some((arg, i) => arg.type !== parameters[i] || arg.index !== i)
    )
      return "its arguments do not match its type";
    if (result.kind !== "void" && !isFirstClass(result) && result.kind !== "token")
      return `it returns ${describeType(result)}`;
    const intrinsic = fn.isDeclaration && fn.intrinsic !== null;
    if (!intrinsic) {
      if (result.kind === "token") return "it returns a token";
      for (const type of parameters)
        if (!isFirstClass(type)) return `a parameter has type ${describeType(type)}`;
    }
    if (fn.threadLocal !== "none") return "a function cannot be thread-local";
    if (fn.align !== 0 && !isPowerOfTwo(fn.align)) return `alignment ${fn.align}`;
    if (fn.isDeclaration && fn.personality !== null) return "a declaration with a personality";
    for (const operand of [fn.prefix, fn.prologue, fn.personality]) {
      const problem = operand === null ? null : this.constants.check(operand);
      if (problem !== null) return problem;
    }
    return intrinsicBodyProblem(fn) ?? attributeProblem(fn.attributes, parameters);
  }

  private alias(global: Alias): Problem {
    const target = global.aliasee as Constant | undefined;
    if (target === undefined || target === null) return "an alias of nothing";
    const problem = this.constants.check(target);
    if (problem !== null) return problem;
    if (!target.type.isPointer) return `an alias of a value of type ${describeType(target.type)}`;
    if (target.type !== global.type) return "an alias in another address space than what it stands for";
    return targetProblem(global, target, global.linkage === "available_externally");
  }

  private ifunc(global: IFunc): Problem {
    const target = global.resolver as Constant | undefined;
    if (target === undefined || target === null) return "an ifunc without a resolver";
    const problem = this.constants.check(target) ?? targetProblem(global, target, false);
    if (problem !== null) return problem;
    const resolver = baseOf(target);
    return resolver?.valueType.kind === "function" ? null : "its resolver is not a function";
  }
}

/** The variables whose contents LLVM gives a meaning. */
function specialVariableProblem(global: GlobalVariable): Problem {
  const { type } = global.initializer!;
  switch (global.name) {
    case "llvm.used":
    case "llvm.compiler.used":
      return global.linkage === "appending" && type.kind === "array" && type.element.isPointer
        ? null
        : "not an appending array of pointers";
    case "llvm.global_ctors":
    case "llvm.global_dtors": {
      const entry = type.kind === "array" ? type.element : type;
      const [priority, fn, data] = entry.elements;
      return global.linkage === "appending" &&
        entry.kind === "struct" &&
        entry.elements.length === 3 &&
        priority!.isInt(32) &&
        fn!.isPointer &&
        data!.isPointer
        ? null
        : "not an appending array of { i32, ptr, ptr }";
    }
    default:
      return null;
  }
}

/** The only global that a constant is an address in, or null. */
function baseOf(constant: Constant): GlobalValue | null {
  let at: Constant = constant;
  while (at.valueKind === "expr") {
    const next: Constant | undefined = at.operands[0];
    if (next === undefined) return null;
    at = next;
  }
  return at.valueKind === "global" ? at : null;
}

/** Whether an alias or ifunc leads, over further aliases, to a definition. */
function targetProblem(global: Alias | IFunc, target: Constant, declared: boolean): Problem {
  const seen = new Set<GlobalValue>([global]);
  let base = baseOf(target);
  // An alias of an expression that is not an address in one global, such as a difference, has no base.
  if (base === null)
    return target.valueKind === "expr" ? null : `an ${global.kind} of something that is not a global`;
  while (base !== null && (base.kind === "alias" || base.kind === "ifunc")) {
    if (seen.has(base)) return `an ${global.kind} of itself`;
    seen.add(base);
    if (base.kind === "ifunc") return null;
    if (base.aliasee === undefined) return `an ${global.kind} of nothing`;
    base = baseOf(base.aliasee);
  }
  if (base?.isDeclaration === true && !declared) return `an ${global.kind} of a declaration`;
  return null;
}

/** Whether a constant is all zero bits in LLVM's sense. */
function isNull(constant: Constant): boolean {
  switch (constant.valueKind) {
    case "zero":
      return true;
    case "int":
      return constant.value === 0n;
    case "float":
      return constant.bits === 0n;
    case "data":
      return constant.bytes.every((byte) => byte === 0);
    case "aggregate":
      return constant.elements.every(isNull);
    default:
      return false;
  }
}
