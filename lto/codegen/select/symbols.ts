/** How symbols can be reached. */
import { leadsToLarge } from "../../analysis/large-data.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { CallInst } from "../../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import { type GlobalValue, hasLocalName, type ThreadLocalMode } from "../../ir/module.js";
import type { Constant } from "../../ir/values.js";
import type { SelectOptions } from "../target.js";

/** Where symbols may be. */
interface Placing {
  readonly layout: DataLayout;
  readonly options: SelectOptions;
}

/**
 * Whether the symbol's address is known at link time relative to the code (no GOT needed). What may stay undefined is
 * at address 0 then, which nothing that moves reaches by a distance, whatever its visibility.
 */
export function isLocalSymbol(s: Placing, global: GlobalValue): boolean {
  // Data and the GOT get what the resolver chose, where the symbol itself would be that of a stub.
  if (isChosenAtStart(global)) return false;
  if (s.options.codeModel !== "large" && leadsToLarge(global, s.layout, s.options.nearData)) return false;
  if (s.options.relocation === "static") return global.linkage !== "extern_weak" || global.dsoLocal;
  if (global.linkage === "extern_weak") return false;
  if (global.isLocal) return true;
  // In a shared library the symbol itself is another's to replace, whatever the module says: only a second name is near.
  if (global.dsoLocal) return s.options.relocation !== "pic" || isNearInLibrary(global);
  if (global.visibility !== "default") return !global.isDeclaration || global.visibility === "hidden";
  return false;
}

/** For what is said to be local to the library. */
const isNearInLibrary = (global: GlobalValue): boolean =>
  global.visibility !== "default"
    ? !global.isDeclaration || global.visibility === "hidden"
    : hasLocalName(global);

/** An indirect function, whatever its name. */
function isChosenAtStart(global: GlobalValue): boolean {
  let named: Constant = global;
  while (named.valueKind === "global" && named.kind === "alias") named = named.aliasee;
  return named.valueKind === "global" && named.kind === "ifunc";
}

/** `llvm.threadlocal.address` on a global. */
export function isThreadLocalAddress(call: CallInst): boolean {
  return (
    intrinsicOf(call.operands[0]!) === intrinsics["threadlocal.address"] &&
    call.operands[1]!.valueKind === "global"
  );
}

/** The model of a thread-local variable to use: the variable's own, strengthened by what the link knows. */
export function tlsModel(s: Placing, global: GlobalValue): ThreadLocalMode {
  const local = isLocalSymbol(s, global);
  if (s.options.relocation !== "pic") {
    // Executables know their own TLS block; others' variables sit at an offset fixed at start-up.
    return local && !global.isDeclaration
      ? "localexec"
      : global.threadLocal === "localexec"
        ? "localexec"
        : "initialexec";
  }
  if (global.threadLocal === "generaldynamic" && local && global.isLocal) return "generaldynamic";
  return global.threadLocal;
}
