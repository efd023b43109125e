/**
 * Operations of 16 bytes beyond SSE2 that programs ask for by name (`rows/vector-extensions.ts`), from `tsc.x64.<mnemonic>`, or
 * `tsc.x64.<mnemonic>.<condition>` where the result is a flag.
 */
import { MInst, RegOperand } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { type CallInst, callArguments } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { opFeature, rowOf } from "../isa/op-info.js";
import { type Cc, ccNames, Format, X } from "../isa/ops.js";
import { maskOf, RAX, RCX, RDX, XMM0 } from "../isa/registers.js";
import { Takes } from "../isa/row.js";
import { vectorExtensionRows } from "../isa/rows/vector-extensions.js";
import { address } from "./address.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { foldLowEnd, foldScalar, setVectorSource } from "./source.js";

const byName = new Map<string, X>(vectorExtensionRows.map(({ name, op }) => [name, op]));

/** Whether the function may use it: a processor's name brings the features of SSE, too. */
function isThere({ features, vectorFeatures: { ssse3, sse41, sse42 } }: Selector, feature: string): boolean {
  if (features.has(feature)) return true;
  const named: Readonly<Record<string, boolean>> = { sse3: ssse3, ssse3, "sse4.1": sse41, "sse4.2": sse42 };
  return named[feature] ?? false;
}

/** The last argument, which has to be a number. */
function immediateOf(s: Selector, name: string, args: readonly Value[]): number {
  const n = constantNumber(args.at(-1)!);
  if (n === null) s.unsupported(`${name} with an immediate that is no constant`);
  return (n ?? 0) & 0xff;
}

/** The second source: memory only where all of it is read, at an aligned place, or a number. */
function setSource(s: Selector, inst: MInst, value: Value): void {
  const { takes, sourceBytes } = rowOf(inst.op);
  const mayFold = (takes & Takes.Memory) !== 0;
  if (mayFold && sourceBytes === 16) return setVectorSource(s, inst, value, 16);
  const fold = s.isGeneral(value.type) ? foldScalar : foldLowEnd;
  const mem = mayFold ? fold(s, value, sourceBytes) : null;
  if (mem !== null) inst.mem = mem;
  else inst.uses.push(s.use(value));
}

/** Lowers a call of `tsc.x64.<name>`; false when there is no such operation. */
export function selectExtension(s: Selector, call: CallInst, name: string): boolean {
  const [mnemonic, flag] = name.split(".") as [string, string?];
  const op = byName.get(mnemonic);
  if (op === undefined) return false;
  if (!isThere(s, opFeature[op]!)) s.unsupported(`${mnemonic} without feature ${opFeature[op]}`);
  const args = callArguments(call);
  const { format, sizes, result: width } = rowOf(op);
  const result = s.resultOf(call);
  const machine = new MInst(op, sizes[0]!);
  const [a, b] = args as [Value, Value];
  switch (format) {
    case Format.Mov:
    case Format.MovImm:
      machine.defs = [new RegOperand(result)];
      if (op === X.Lddqu) machine.mem = address(s, a);
      else setSource(s, machine, a);
      if (format === Format.MovImm) machine.imm = immediateOf(s, name, args);
      break;
    case Format.Alu:
    case Format.AluImm:
      machine.defs = [RegOperand.tied(result)];
      machine.uses.push(s.use(a));
      setSource(s, machine, b);
      if (format === Format.AluImm) machine.imm = immediateOf(s, name, args);
      break;
    case Format.ByXmm0:
      machine.defs = [RegOperand.tied(result)];
      machine.uses.push(s.use(a));
      setSource(s, machine, b);
      machine.uses.push(new RegOperand(s.reg(args[2]!), maskOf(XMM0)));
      break;
    case Format.Compare:
      machine.uses.push(s.use(a));
      setSource(s, machine, b);
      break;
    case Format.CompareImm: {
      const given = flag === undefined ? result : width === 4 ? s.newGpr(4) : s.newXmm();
      machine.defs = [new RegOperand(given, maskOf(width === 4 ? RCX : XMM0))];
      // With lengths: text, its length, text, its length.
      const hasLengths = op === X.Pcmpestri || op === X.Pcmpestrm;
      machine.uses.push(s.use(a));
      setSource(s, machine, hasLengths ? args[2]! : b);
      if (hasLengths)
        for (const [i, register] of [
          [1, RAX],
          [3, RDX],
        ] as const)
          machine.uses.push(new RegOperand(s.reg(args[i]!), maskOf(register)));
      machine.imm = immediateOf(s, name, args);
      break;
    }
    default:
      return false;
  }
  s.emit(machine);
  if (flag !== undefined) {
    const bit = s.newGpr(4);
    setCondition(s, bit, { first: ccNames.indexOf(flag) as Cc, second: -1, and: false });
    s.unary(X.Movzx8, 4, result, bit);
  }
  return true;
}
