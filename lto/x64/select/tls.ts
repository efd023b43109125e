/**
 * Addresses of thread-local variables, in the four models of the ELF TLS ABI
 * (Drepper, "ELF Handling For Thread-Local Storage"; System V ABI AMD64 section 3.4.6).
 */

import { MInst, RegOperand, routineCall, type VReg } from "../../codegen/mir.js";
import { union } from "../../codegen/register-set.js";
import { tlsModel } from "../../codegen/select/symbols.js";
import type { GlobalValue } from "../../ir/module.js";
import { memory } from "../isa/memory-operand.js";
import { X } from "../isa/ops.js";
import { callClobbers, maskOf, RAX, RDI } from "../isa/registers.js";
import type { Selector } from "./selector.js";

/** Address of a thread-local variable in a fresh register. */
export function tlsAddress(s: Selector, global: GlobalValue): VReg {
  switch (tlsModel(s, global)) {
    case "localexec": {
      const base = threadPointer(s);
      const result = s.newGpr();
      const lea = new MInst(X.Lea, 8);
      lea.defs = [new RegOperand(result)];
      lea.mem = memory(new RegOperand(base), null, 1, 0, s.globalSymbol(global, "tls-offset"));
      s.emit(lea);
      return result;
    }
    case "initialexec": {
      const base = threadPointer(s);
      const result = s.newGpr();
      const add = new MInst(X.Add, 8);
      add.defs = [RegOperand.tied(result)];
      add.uses = [new RegOperand(base)];
      add.mem = memory(null, null, 1, 0, s.globalSymbol(global, "tls-offset-entry"), true);
      s.emit(add);
      return result;
    }
    default:
      return generalDynamic(s, global);
  }
}

/** The thread control block's address: the word at %fs:0. */
export function threadPointer(s: Selector): VReg {
  const result = s.newGpr();
  s.load(X.Mov, 8, result, memory(null, null, 1, 0, null, false, -1, "fs"));
  return result;
}

/**
 * General dynamic (and local dynamic, which is only a cheaper form of it): the linker may relax the fixed
 * instruction sequence, so it is one instruction here; emission prints its prefixes.
 */
function generalDynamic(s: Selector, global: GlobalValue): VReg {
  const result = s.newGpr();
  const call = new MInst(X.TlsGetAddr, 8);
  call.defs = [new RegOperand(result, maskOf(RAX))];
  call.symbol = s.globalSymbol(global, "tls-dynamic");
  call.clobbers = union(callClobbers, maskOf(RDI));
  call.extra = routineCall;
  s.mf.hasCalls = true;
  s.emit(call);
  return result;
}
