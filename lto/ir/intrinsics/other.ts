/** Memory, control, markers and access to the machine (LLVM Language Reference, "Intrinsic Functions"). */
import { Memory, type MemoryEffects } from "../memory-effects.js";
import {
  computed,
  Demand,
  Fact,
  facts,
  type IntrinsicFacts,
  type IntrinsicRow,
  onMemory,
  onState,
  opaque,
  pure,
  row,
  wellBehaved,
} from "./facts.js";

/** Volatile variants count as communication with other threads, so no copy promises `NoSync`. */
const copies = facts(Memory.Argument, Fact.NoUnwind | Fact.WillReturn | Fact.NoFree | Fact.NoCallback);
const fills = facts(Memory.ArgumentWrite, copies.bits);
const fromTo = { noCapture: [0, 1], readOnly: [1], writeOnly: [0] };
const to = { noCapture: [0], writeOnly: [0] };

const memoryRows = {
  memcpy: row("vppib", copies, { ...fromTo, immediate: [3] }),
  memmove: row("vppib", copies, { ...fromTo, immediate: [3] }),
  "memcpy.inline": row("vppib", copies, { ...fromTo, immediate: [3] }),
  memset: row("vpcib", fills, { ...to, immediate: [3] }),
  "memset.inline": row("vpcib", fills, { ...to, immediate: [3] }),
  "memcpy.element.unordered.atomic": row("", copies, { ...fromTo, immediate: [3] }),
  "memmove.element.unordered.atomic": row("", copies, { ...fromTo, immediate: [3] }),
  "memset.element.unordered.atomic": row("", fills, { ...to, immediate: [3] }),
  objectsize: row("ipbbb|ipbb|ipb", pure, { immediate: [1, 2, 3] }),
  "load.relative": row("ppi", facts(Memory.ArgumentRead, wellBehaved)),
  ptrmask: row("P0N", pure),
  prefetch: row("vpwww", facts(Memory.Argument | Memory.Inaccessible, wellBehaved), {
    immediate: [1, 2, 3],
    noCapture: [0],
    readOnly: [0],
  }),
  "threadlocal.address": row("pp", pure),
  clear_cache: row("vpp", opaque),
} satisfies Record<string, IntrinsicRow>;

/** They end or begin the time in which a place in memory exists or holds its value. */
const marks = facts(Memory.Argument, wellBehaved);
/** Operands and result of one type: the first operand comes back. */
const passing = (memory: MemoryEffects, bits = 0): IntrinsicFacts =>
  facts(memory, wellBehaved | Fact.ReturnsFirst | bits);
const passes = passing(Memory.None);

const markerRows = {
  "lifetime.start": row("vxp|vp", marks, { noCapture: [0, 1] }),
  "lifetime.end": row("vxp|vp", marks, { noCapture: [0, 1] }),
  "invariant.start": row("pxp", marks, { immediate: [0], noCapture: [1] }),
  "invariant.end": row("vpxp", marks, { immediate: [1], noCapture: [2] }),
  // Two of them may give different results, but an unused one goes.
  "launder.invariant.group": row("pp", passing(Memory.Inaccessible, Fact.Speculatable | Fact.Removable)),
  "strip.invariant.group": row("pp", passing(Memory.None, Fact.Speculatable)),
  "experimental.noalias.scope.decl": row("vm", onState),
  assume: row("vb", onState),
  expect: row("i00", passes),
  "expect.with.probability": row("i00d", passes, { immediate: [2] }),
  "ssa.copy": row("*0", passes),
  "is.constant": row("b*", facts(Memory.None, wellBehaved, Demand.Convergent)),
  "type.test": row("bpm", pure),
  "public.type.test": row("bpm", pure),
  "type.checked.load": row("", facts(Memory.Read, wellBehaved)),
  "type.checked.load.relative": row("", facts(Memory.Read, wellBehaved)),
  "experimental.widenable.condition": row(
    "b",
    facts(Memory.Inaccessible, wellBehaved | Fact.Speculatable | Fact.Removable),
  ),
  "allow.runtime.check": row("", onState),
  "allow.ubsan.check": row("", onState),
  annotation: row("", passing(Memory.Inaccessible)),
  "ptr.annotation": row("", passing(Memory.Inaccessible)),
  "var.annotation": row("", onState),
  "codeview.annotation": row("vm", facts(Memory.Inaccessible, wellBehaved, Demand.NoDuplicate)),
  pseudoprobe: row("vxxwx", onState),
  "fake.use": row("", onState),
  sideeffect: row("v", onState),
  donothing: row("v", computed),
  "dbg.declare": row("", pure),
  "dbg.value": row("", pure),
  "dbg.assign": row("", pure),
  "dbg.label": row("", pure),
} satisfies Record<string, IntrinsicRow>;

const trap = facts(Memory.Inaccessible, Fact.NoUnwind, Demand.NoReturn);

const machineRows = {
  trap: row("v", trap),
  ubsantrap: row("vc", trap, { immediate: [0] }),
  debugtrap: row("v", opaque),
  va_start: row("vp", onMemory),
  va_end: row("vp", onMemory),
  va_copy: row("vpp", onMemory),
  // Its only effect is its order among allocations and restores, which an unused one does not need.
  stacksave: row("p", facts(Memory.Any, wellBehaved | Fact.Removable)),
  stackrestore: row("vp", onMemory),
  "get.dynamic.area.offset": row("i", facts(Memory.Any, wellBehaved | Fact.Removable)),
  frameaddress: row("pw", computed, { immediate: [0] }),
  returnaddress: row("pw", computed, { immediate: [0] }),
  addressofreturnaddress: row("p", computed),
  sponentry: row("p", computed),
  stackguard: row("p", opaque),
  stackprotector: row("vpp", opaque),
  "thread.pointer": row("p", computed),
  readcyclecounter: row("x", onMemory),
  readsteadycounter: row("x", onMemory),
  read_register: row("im", facts(Memory.Read, wellBehaved)),
  read_volatile_register: row("im", opaque),
  write_register: row("vmi", opaque),
  "init.trampoline": row("vppp", facts(Memory.Argument, wellBehaved), to),
  "adjust.trampoline": row("pp", facts(Memory.ArgumentRead, wellBehaved)),

  "eh.typeid.for": row("wp", facts(Memory.None, Fact.NoUnwind)),
  "eh.unwind.init": row("v", opaque),
  "eh.dwarf.cfa": row("pw", opaque),
  "eh.return.i32": row("vwp", facts(Memory.Any, 0, Demand.NoReturn)),
  "eh.return.i64": row("vxp", facts(Memory.Any, 0, Demand.NoReturn)),
  "eh.sjlj.setjmp": row("wp", facts(Memory.Any, Fact.NoUnwind, Demand.ReturnsTwice)),
  "eh.sjlj.longjmp": row("vp", facts(Memory.Any, Fact.NoUnwind, Demand.NoReturn)),
  "eh.sjlj.lsda": row("p", opaque),
  "eh.sjlj.callsite": row("vw", opaque, { immediate: [0] }),
  "eh.sjlj.functioncontext": row("vp", opaque),
  "eh.sjlj.setup.dispatch": row("v", opaque),
} satisfies Record<string, IntrinsicRow>;

export const otherRows = { ...memoryRows, ...markerRows, ...machineRows };
