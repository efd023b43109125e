/**
 * What straight-line code stores, as expressions of what it loads: two compilers' code for one function is compared by them where no
 * machine is there to run it. Registers, the order of instructions and whether an operand is memory make no difference; instructions, the
 * order of their operands, their immediates, rounding modes, and masks with what is left where they are clear do.
 *
 * Reads the text of `llvm-objdump` for x86-64, AT&T syntax.
 */
import { run } from "./process.js";

/** By function, a line for each place that is written, or that an instruction without a result names. */
export async function storesOf(object: string, objdump: string): Promise<Map<string, string[]>> {
  const command = [objdump, "-d", "--no-show-raw-insn", "--no-leading-addr", "--no-print-imm-hex", object];
  const { status, stdout, stderr } = await run(command);
  if (status !== 0) throw new Error(stderr);
  const found = new Map<string, string[]>();
  for (const part of stdout.toString().split(/^(?=<\w+>:$)/m)) {
    const [, name, body] = /^<(\w+)>:\n([\s\S]*)$/.exec(part) ?? [];
    if (name !== undefined) found.set(name, storesIn(body!));
  }
  return found;
}

const letters = ["a", "c", "d", "b"];

/** One name for all widths of a general register, `m` and a number for a vector's. */
function canonical(register: string): string {
  const vector = /^[xyz]mm(\d+)$/.exec(register);
  if (vector !== null) return `m${vector[1]}`;
  const numbered = /^r(\d+)[bwd]?$/.exec(register);
  if (numbered !== null) return `r${numbered[1]}`;
  const low = /^([abcd])[lh]$/.exec(register)?.[1] ?? /^[re]?([abcd])x$/.exec(register)?.[1];
  if (low !== undefined && letters.includes(low)) return `r${low}x`;
  const pointer = /^[re]?(si|di|bp|sp)l?$/.exec(register)?.[1];
  return pointer === undefined ? register : `r${pointer}`;
}

const moves = /^(?:v?mov(?:[au]p[sd]|dq[au](?:8|16|32|64)?|[dqwlb]|z[bw]l|absq)|kmov[bwdq]|v?lddqu)$/;
/** Results are a source as well. */
const accumulates =
  /^(?:vfn?m(?:add|sub)\d|vf?c?maddc|vpdp|vdp(?:ph|bf)|vpmadd52|vsha512|vsm3|vpermi2|vpermt2|vpternlog|aes\w+kl|tdp|tcmm|cmov|(?:or|xor|add|sub|sh[lr])[bwlq]$)/;
const zeroing = /^(?:v?xorp[sd]|v?pxor[dq]?|xor[lq])$/;
const ignored = /^(?:ret[qw]?|vzeroupper|nop\w*|endbr64|int3|\.*)$/;

function storesIn(body: string): string[] {
  const registers = new Map<string, string>();
  const memory = new Map<string, string>();
  const effects: string[] = [];
  const value = (register: string): string => registers.get(canonical(register)) ?? canonical(register);
  let flags = "";
  const address = (text: string): string => {
    const [, displacement, base, index] = /^(-?\w*)\(%(\w+)(?:,\s*%(\w+))?.*\)$/.exec(text) ?? [];
    if (base === undefined) return text;
    // What `lea` made of a register is that register.
    const [, start, before] = /^(r\w+)\+(-?\d+)$/.exec(value(base)) ?? [undefined, value(base), 0];
    return `${start}+${Number(displacement || 0) + Number(before)}${index === undefined ? "" : `+${value(index)}`}`;
  };
  /** The bits of a mask: those above its lanes say nothing. */
  const maskOf = (register: string): string => value(register).replace(/^and\(\$(?:1|3|15), (.*)\)$/, "$1");
  const source = (text: string): string => {
    if (text.startsWith("$")) return `$${Number(text.slice(1)) & 0xff}`;
    if (text.startsWith("{")) return text;
    if (text.startsWith("%")) return value(text.slice(1));
    const at = address(text);
    return memory.get(at) ?? `[${at}]`;
  };
  for (const line of body.split("\n")) {
    const [, mnemonic, rest] = /^\s*(?:\{\w+\}\s+)?(\S+)\s*([^<#]*)/.exec(line) ?? [];
    if (mnemonic === undefined || mnemonic === "" || ignored.test(mnemonic)) continue;
    const [, list, mask, zeroes] = /^(.*?)\s*(?:\{%(k\d)\})?\s*(\{z\})?\s*$/.exec(rest!)!;
    const operands = list!.split(/,\s*(?![^(]*\))/).map((text) => text.trim());
    const target = operands.at(-1)!;
    const sources = operands.slice(0, -1);
    const isRegister = target.startsWith("%");
    const before = isRegister ? value(target.slice(1)) : source(target);
    let result: string;
    if (moves.test(mnemonic)) result = source(sources[0]!);
    else if (mnemonic === "leaq") result = address(sources[0]!);
    else if (/^set/.test(mnemonic)) result = `${mnemonic}(${flags})`;
    else if (/^and[bwlq]$/.test(mnemonic))
      result = `and(${[before, ...sources.map(source)].sort().join(", ")})`;
    else if (/^vperm[it]2/.test(mnemonic)) {
      const [upper, other] = sources.map(source) as [string, string];
      const [lower, index] = mnemonic[5] === "i" ? [other, before] : [before, other];
      result = `${mnemonic.replace("i2", "t2")}(${upper}, ${index}, ${lower})`;
    } else if (zeroing.test(mnemonic) && new Set(operands).size === 1) result = "0";
    else if (/^vpblendm|^vblendm/.test(mnemonic)) {
      const [set, clear] = sources.map(source) as [string, string];
      result = `mask(${maskOf(mask!)}, ${clear}, ${set})`;
    } else {
      const letter = /^%([xyzk])(?:mm)?\d+$/.exec(target)?.[1] ?? (/^%r/.test(target) ? "q" : "l");
      const widest = sources
        .map((text) => /^%([xyz])mm/.exec(text)?.[1] ?? "")
        .sort()
        .at(-1)!;
      // How wide memory is the mnemonic says, where the result does not.
      const suffix =
        /^v(?:cvt\w*|fpclass\w*)[xyz]$/.test(mnemonic) && !/[^x]2ps2phx$/.test(mnemonic)
          ? mnemonic.at(-1)!
          : "";
      const name = suffix === "" ? mnemonic : mnemonic.slice(0, -1);
      const from = letter === "x" || letter === "k" ? suffix || widest || letter : "";
      const all = sources.map(source);
      if (accumulates.test(mnemonic) || sources.length === 0) all.push(before);
      result = `${name}.${letter}${from}(${all.join(", ")})`;
    }
    if (mask !== undefined && !/^v(?:pc|c)mp|^vfpclass|blendm/.test(mnemonic))
      result = `mask(${maskOf(mask)}, ${zeroes === undefined ? before : "0"}, ${result})`;
    else if (mask !== undefined && !/blendm/.test(mnemonic))
      result = `and(${[maskOf(mask), result].sort().join(", ")})`;
    if (/^v?u?com/.test(mnemonic)) flags = result.replace(/\)$/, `, ${before})`);
    else if (isRegister) registers.set(canonical(target.slice(1)), result);
    else if (target === "") effects.push(mnemonic);
    else {
      const at = address(target);
      memory.set(
        at,
        moves.test(mnemonic) || mask !== undefined
          ? result
          : `${mnemonic}(${sources.map(source).join(", ")})`,
      );
    }
  }
  return [
    ...effects,
    ...[...memory].filter(([at]) => !at.startsWith("rsp")).map(([at, what]) => `${at}: ${what}`),
  ].sort();
}
