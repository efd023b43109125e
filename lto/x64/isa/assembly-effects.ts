/**
 * What inline assembly changes without saying so.
 *
 * Authors forget clobbers, and get away with it: their assembly stands in a function of its own, and by the platform's convention
 * every call of it may change all registers that are not preserved. Callers that are told which registers a function changes would
 * take the others for kept. So
 *
 * - what instructions change besides their operands (`cpuid`, `syscall`, `rep movsb`) counts as changed by the assembly, whatever its
 *   list says: `impliedChanges`;
 * - towards callers, so do registers that it names or is given, and where it has anything that is not known here (calls, jumps out of
 *   it, data as code, other mnemonics), all that the convention lets a call change: `untoldChanges`.
 *
 * Registers that the convention preserves are not among those that it merely names: no compiler lets assembly change them in secret.
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
 */
import type { AsmData, MInst } from "../../codegen/mir.js";
import { intersect, noRegisters, type RegisterSet, union, withRegister } from "../../codegen/register-set.js";
import { callClobbers, maskOf, R11, RAX, RBX, RCX, RDI, RDX, RSI, registerNames, XMM0 } from "./registers.js";

/** Registers by all their names, in assembly and in constraints. */
export const registersByName: ReadonlyMap<string, number> = (() => {
  const byName = new Map<string, number>();
  for (const size of [1, 2, 4, 8, 32, 64])
    for (let r = 0; r < 48; r++) byName.set(registerNames[size]![r]!, r);
  for (const [i, letter] of [..."abcd"].entries()) {
    byName.set(`${letter}h`, [0, 3, 1, 2][i]!);
    byName.set(letter, [0, 3, 1, 2][i]!);
  }
  for (const short of ["si", "di", "bp", "sp"]) byName.set(short, byName.get(`r${short}`)!);
  return byName;
})();

interface Statement {
  /** Without prefixes; empty: only prefixes, which repeat what follows. */
  readonly mnemonic: string;
  readonly repeats: boolean;
  readonly operands: string;
}

const placeholder = /\$(?:\{[^}]*\}|\d+)/g;

/** Statements of a template, of both dialects where it has both; labels are left out. */
function statementsOf(template: string): Statement[] {
  const text = template
    .replace(/\$[(|)]/g, "\n")
    .replace(/\/\*[\s\S]*?\*\//g, " ")
    .replace(/\$\$/g, "")
    .toLowerCase();
  const statements: Statement[] = [];
  for (const line of text.split(/[\n;]/)) {
    let rest = line
      .replace(/(?:#|\/\/).*$/, "")
      .replace(/\{[^}]*\}\s*(?=[a-z])/g, (all, at: number) => (line[at - 1] === "$" ? all : ""))
      .trim();
    rest = rest.replace(labels, "");
    const prefix = prefixes.exec(rest)?.[0] ?? "";
    const repeats = prefix.includes("rep");
    rest = rest.substring(prefix.length);
    const [, mnemonic, operands] = /^([^\s]*)\s*([\s\S]*)$/.exec(rest)!;
    if (mnemonic !== "" || repeats) statements.push({ mnemonic: mnemonic!, repeats, operands: operands! });
  }
  return statements;
}

const labels = /^(?:(?:[\w.$]|\$\{:\w+\})+:\s*)+/;
const prefixes = /^(?:(?:lock|rep(?:n?[ez])?|xacquire|xrelease|notrack|data16)(?:\s+|$))+/;

/** What instructions change besides their operands. */
const implied: readonly (readonly [RegExp, RegisterSet])[] = [
  [/^cpuid$/, maskOf(RAX, RBX, RCX, RDX)],
  [/^syscall$/, maskOf(RAX, RCX, R11)],
  [/^(?:rdtsc|rdpmc|rdmsr|rdpkru|xgetbv)$/, maskOf(RAX, RDX)],
  [/^rdtscp$/, maskOf(RAX, RCX, RDX)],
  [/^cmpxchg[bwlq]?$/, maskOf(RAX)],
  [/^cmpxchg(?:8|16)b$/, maskOf(RAX, RDX)],
  [/^(?:xlatb?|lahf|cbw|cwde|cdqe|cbtw|cwtl|cltq)$/, maskOf(RAX)],
  [/^(?:cwd|cdq|cqo|cwtd|cltd|cqto)$/, maskOf(RDX)],
  [/^(?:loop(?:n?[ez])?)$/, maskOf(RCX)],
  [/^v?pcmp[ei]stri(?:64|q)?$/, maskOf(RCX)],
  [/^v?pcmp[ei]strm(?:64|q)?$/, maskOf(XMM0)],
];

/** Of one operand: the product or quotient is in rdx:rax. */
const wideArithmetic = /^(?:mul|imul|div|idiv)[bwlq]?$/;
const strings: readonly (readonly [RegExp, RegisterSet])[] = [
  [/^lods[bwlqd]?$/, maskOf(RAX, RSI)],
  [/^(?:stos|scas|ins)[bwlqd]?$/, maskOf(RDI)],
  [/^outs[bwlqd]?$/, maskOf(RSI)],
  [/^(?:movs|cmps)[bwlqd]?$/, maskOf(RSI, RDI)],
];

/** String instructions have no operands, or name their registers; others of the same names have other operands. */
const isString = (operands: string): boolean =>
  operands === "" || (/[([]\s*%?[re]?[sd]i\s*[)\]]/.test(operands) && !/mm\d/.test(operands));

/** Null: it changes nothing but its operands, as far as is known. */
function impliedBy({ mnemonic, operands }: Statement): RegisterSet | null {
  const found = implied.find(([name]) => name.test(mnemonic));
  if (found !== undefined) return found[1];
  if (wideArithmetic.test(mnemonic) && !operands.includes(",")) return maskOf(RAX, RDX);
  return isString(operands) ? (strings.find(([name]) => name.test(mnemonic))?.[1] ?? null) : null;
}

/** Instructions that change nothing but operands, flags and the x87 stack. */
const explicit = [
  /^(?:mov(?:abs|be|nt\w*|[sz](?:x|xd|[bwl][wlq])|[bwlq]|[ad]\w*|[uhl]\w*|q2dq|msk\w*|sh?dup|sl?dup|ss|sd)?|lea[bwlq]?|mulx[lq]?)$/,
  /^(?:add|sub|adc|sbb|and|or|xor|cmp|test|not|neg|inc|dec|xchg|xadd|imul|andn|adcx|adox)[bwlq]?$/,
  /^(?:sh[lr]d?|sa[lr]|ro[lr]|rc[lr]|rorx|sarx|sh[lr]x|bswap|bs[fr]|bt[crs]?|popcnt|[tl]zcnt|bextr|bls(?:i|r|msk)|pdep|pext|bzhi|crc32)[bwlq]?$/,
  /^(?:set|cmov)n?(?:[abgl]e?|[cepszo]|p[eo])[bwlq]?$/,
  /^(?:push|pop)f?[wq]?$/,
  /^(?:nop[wlq]?|pause|[lms]fence|endbr64|cl[cdi]|st[cdi]|cmc|sahf|hlt|int3|ud2|wbinvd|invlpg|verw|swapgs|serialize)$/,
  /^(?:cl(?:flush|flushopt|wb|demote|zero|rssbsy)|(?:rd|wr)(?:fs|gs)base[lq]?|rdrand[wlq]?|rdseed[wlq]?|rdpid|wrmsr|wrpkru|xsetbv|rdssp[dq]|incssp[dq])$/,
  /^(?:x(?:save|rstor)\w*|monitorx?|mwaitx?|umonitor|in[bwl]?|out[bwl]?|lock)$/,
  /^(?:l[gi]dt|s[gil]dt|lldt|ltr|str|smsw|lmsw|lar|lsl)[wlq]?$/,
  // SSE, without what has results in a fixed register (above).
  /^(?:add|sub|mul|div|min|max|sqrt|rcp|rsqrt|and|andn|or|xor|unpck[hl]|shuf|cmp\w{0,5}|u?comi|cvt\w*2|h?add|hsub|addsub|blendv?|dp|round|insert|extract)[ps][sd]$/,
  /^(?:cvtt?\w*2\w+|ld?mxcsr|stmxcsr|lddqu|maskmov\w*|aes\w*|sha(?:1|256)\w*|gf2p8\w*)$/,
  /^p(?!cmp[ei]str|ush|op|config|smash|validate|twrite|bndkb)[a-z0-9]+$/,
  /^f[a-z0-9]+$/,
  // AVX, masks.
  /^v(?!zero|pcmp[ei]str|m(?:call|clear|func|launch|load|mcall|ptr|read|resume|run|save|write|xo)|er[rw])[a-z0-9]+$/,
  /^k(?:mov|andn?|x?n?or|not|shift[lr]|add|test|ortest|unpck)[a-z]{1,2}$/,
  // What only assemblers see.
  /^\.(?:p2|b)?align[wl]?$/,
  /^\.(?:loc|cfi_\w+)$/,
];

const branches = /^(?:j[a-z]+|loop(?:n?[ez])?|xbegin)$/;
/** Within the assembly, or to a label that is an operand. */
const inside = /^(?:\d+[bf]|\$(?:\{\d+(?::\w+)?\}|\d+)|\.l[\w.$]*)$/;

const isKnown = (statement: Statement): boolean => {
  const { mnemonic, operands } = statement;
  if (branches.test(mnemonic)) return mnemonic !== "xbegin" && inside.test(operands.trim());
  return mnemonic === "" || impliedBy(statement) !== null || explicit.some((name) => name.test(mnemonic));
};

/** Registers that the instructions of a template change whatever their operands are. */
export function impliedChanges(template: string): RegisterSet {
  let changed = noRegisters;
  let repeats = false;
  for (const statement of statementsOf(template)) {
    const more = impliedBy(statement);
    if (more !== null) changed = union(changed, more);
    // The prefix may be a statement of its own; a string instruction counts in rcx.
    if ((statement.repeats || repeats) && strings.some(([name]) => name.test(statement.mnemonic)))
      changed = withRegister(changed, RCX);
    repeats = statement.repeats && statement.mnemonic === "";
  }
  return changed;
}

/** Registers that callers of a function with this instruction have to take for changed; after allocation. */
export function untoldChanges({ extra, uses }: MInst): RegisterSet {
  if (extra?.kind !== "asm") return noRegisters;
  const statements = statementsOf(extra.template);
  if (statements.length === 0) return noRegisters;
  const everything = !statements.every(isKnown);
  let changed = everything ? callClobbers : intersect(namedRegisters(extra, statements), callClobbers);
  // A function gets arguments in preserved registers by conventions that authors of assembly do not know of.
  for (const { loc } of uses) if (loc >= 0) changed = withRegister(changed, loc);
  return changed;
}

function namedRegisters({ intel }: AsmData, statements: readonly Statement[]): RegisterSet {
  let named = noRegisters;
  for (const { operands } of statements)
    for (const [, mark, name] of operands.replace(placeholder, "").matchAll(/(%?)\b([a-z]\w*)/g)) {
      const register = mark === "%" || intel ? registersByName.get(name!) : undefined;
      if (register !== undefined) named = withRegister(named, register);
    }
  return named;
}
