/**
 * The checker of interprocedural register allocation. From an assembled object alone it recomputes which
 * registers each function may leave changed — the least fixpoint over direct calls, with saves and restores
 * seen through (preserve.ts) — and holds against it:
 *   1. what each call site was told, if the claims are given: a call may change no more than its mask says;
 *   2. the code of each caller: nothing is kept in a register that the callee changes (live.ts);
 *   3. the platform's convention: functions that unknown code can enter preserve the callee-saved registers;
 *   4. functions that unknown code is said not to enter: nothing mentions them but compiled code;
 *   5. the stack pointer on every way out, and its alignment where it is relied on: at calls of unknown code and
 *      at aligned accesses, through any chain of calls;
 *   6. exceptions, in all of this: at each call the unwinder finds the frame and the registers that it says it has
 *      stored; what it does not put back of what is changed inside counts as changed; a landing pad needs nothing of
 *      what the callee, the frames below it or the unwinder change.
 *   7. asynchronous unwind tables (rows.ts): at every instruction they lead to the frame and the caller's registers.
 * Calls of unknown code change what the convention allows (System V ABI AMD64, section 3.2.1).
 *
 * It shares nothing with allocation, frames or the tables of instructions; registers are decoded by iced-x86.
 * Trusted are the claims about indirect targets, about calls that do not return or throw, and about which registers
 * hold arguments and results. x87, flags and the direction flag are not followed.
 */
import type { FunctionClaim, SiteClaim } from "./claims.js";
import {
  calleeSaved,
  conventionClobbers,
  conventionResults,
  indirectRoutineClobbers,
  indirectRoutines,
  transparentRoutines,
} from "./convention.js";
import { InstructionDecoder } from "./decode.js";
import { type CallSite, type CodeFunction, hex, readFunctions, type SiteKind } from "./functions.js";
import { findLostRegisters, type OutlinedCode, type SiteRegisters } from "./live.js";
import { readCodeObject } from "./object.js";
import { analyseFunction, type FunctionEffect, type SiteEffect } from "./preserve.js";
import { RowChecker } from "./rows.js";
import type { SiteUnwind } from "./site-unwind.js";

export interface CheckOptions {
  /** Visible definitions may be replaced at load time. */
  readonly interposable: boolean;
  /** How often compiled code mentions each symbol (mentions.ts); absent: sealed functions are not looked at. */
  readonly mentions?: ReadonlyMap<string, number>;
}

export interface CheckReport {
  /** One message each: function, register, call site. */
  readonly violations: readonly string[];
  /** Functions and constructs that could not be checked. */
  readonly unchecked: readonly string[];
  /** Registers each function may leave changed, by symbol. */
  readonly clobbers: ReadonlyMap<string, number>;
  readonly functions: number;
  readonly sites: number;
}

const names = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];
const registerName = (r: number): string => `%${r >= 16 ? `xmm${r - 16}` : (names[r] ?? `r${r}`)}`;

function registerNames(mask: number): string {
  const out: string[] = [];
  for (let r = 0; r < 32; r++) if (((mask >> r) & 1) !== 0) out.push(registerName(r));
  return out.join(", ");
}

/**
 * @param object bytes of a relocatable ELF64 object for x86-64
 * @param claims of the functions in it, in any order; what is not claimed follows the convention
 * @throws InputError when the object is malformed
 */
export function checkObject(
  object: Uint8Array,
  claims: readonly FunctionClaim[],
  options: CheckOptions,
): CheckReport {
  const followers = new Map(claims.map(({ symbol, fallsInto }) => [symbol, fallsInto ?? ""]));
  const { functions, problems } = readFunctions(
    readCodeObject(object),
    new InstructionDecoder(),
    options.interposable,
    (symbol) => followers.get(symbol),
  );
  return new Checker(functions, problems, claims, options.mentions).run();
}

class Checker {
  private readonly violations: string[] = [];
  private readonly unchecked: string[];
  private readonly effects: FunctionEffect[];
  /** Jumps to the start of their own function that are no calls. */
  private readonly loops = new Set<CallSite>();
  private readonly claimOf = new Map<CallSite, SiteClaim>();
  private readonly functionClaims: (FunctionClaim | undefined)[];
  private readonly numberOf = new Map<string, number>();

  constructor(
    private readonly functions: readonly CodeFunction[],
    problems: readonly string[],
    claims: readonly FunctionClaim[],
    private readonly mentions: ReadonlyMap<string, number> | undefined,
  ) {
    this.unchecked = [...problems];
    const nothing: FunctionEffect = {
      clobbers: 0,
      returns: false,
      stackAt: new Map(),
      alignedAt: new Map(),
      reached: new Uint8Array(0),
      inFrame: new Uint8Array(0),
      inFrameFrom: new Map(),
      problems: [],
    };
    this.effects = functions.map(() => nothing);
    for (const fn of functions) for (const name of fn.names) this.numberOf.set(name, fn.index);
    const bySymbol = new Map(claims.map((c) => [c.symbol, c]));
    this.functionClaims = functions.map((fn) => {
      const name = fn.names.find((n) => bySymbol.has(n));
      return name === undefined ? undefined : bySymbol.get(name);
    });
  }

  run(): CheckReport {
    for (const fn of this.functions) this.matchClaims(fn);
    this.solve();
    for (const fn of this.functions) {
      this.checkSeal(fn);
      this.checkFunction(fn);
    }
    this.checkAlignment();
    const clobbers = new Map<string, number>();
    let sites = 0;
    for (const fn of this.functions) {
      sites += fn.sites.length;
      for (const name of fn.names) clobbers.set(name, this.effects[fn.index]!.clobbers);
    }
    const { violations, unchecked, functions } = this;
    return { violations, unchecked, clobbers, functions: functions.length, sites };
  }

  /** Pairs the sites of the code with the claims, which come in the same order. */
  private matchClaims(fn: CodeFunction): void {
    const claim = this.functionClaims[fn.index];
    if (claim === undefined) return;
    if (claim.sites === null) {
      this.unchecked.push(`@${fn.names[0]}: inline assembly with calls or jumps`);
      return;
    }
    let next = 0;
    const pairs: [CallSite, SiteClaim][] = [];
    for (const site of fn.sites) {
      const told = claim.sites[next];
      const loop = site.landings.length === 1 && site.landings[0] === 0;
      if (told !== undefined && this.agrees(site, told)) {
        pairs.push([site, told]);
        next++;
      } else if (loop) this.loops.add(site);
      else break;
    }
    if (
      next < claim.sites.length ||
      pairs.length + fn.sites.filter((s) => this.loops.has(s)).length < fn.sites.length
    ) {
      this.violations.push(`@${fn.names[0]}: its calls are not those that code generation lists`);
      return;
    }
    for (const [site, told] of pairs) this.claimOf.set(site, told);
  }

  /** Its control flow is not known: it is taken for unknown code. */
  private opaque(number: number): boolean {
    return this.functionClaims[number]?.sites === null || this.functions[number]!.insts.length === 0;
  }

  private agrees(site: CallSite, claim: SiteClaim): boolean {
    if ((site.kind === "call") !== (claim.kind === "call")) return false;
    // Of direct jumps only those that leave are sites, and those to the routine that jumps where a register says.
    const { name } = site.target;
    if (claim.kind === "jump" && name !== "" && !indirectRoutines.has(name)) return false;
    if (site.target.fn < 0 || claim.callee === null) return true;
    return this.functions[site.target.fn]!.names.includes(claim.callee);
  }

  private readonly kindOf = (site: CallSite): SiteKind =>
    this.loops.has(site) ? "jump" : (this.claimOf.get(site)?.kind ?? site.kind);

  private readonly unwindOf = (site: CallSite): SiteUnwind | null =>
    this.claimOf.get(site)?.throws === false ? null : site.unwind;

  /** The function that a site calls or jumps to; -1 where a pointer decides, or it is not here. */
  private calleeOf({ target }: CallSite): number {
    return indirectRoutines.has(target.name) ? -1 : target.fn;
  }

  /** What happens to registers at a site, by what is known so far of its callees. */
  private readonly effectAt = (site: CallSite): SiteEffect => {
    const claim = this.claimOf.get(site);
    const returns = claim?.returns ?? true;
    if (transparentRoutines.has(site.target.name)) return { clobbers: 0, returns };
    const fn = this.calleeOf(site);
    const own = indirectRoutines.has(site.target.name) ? indirectRoutineClobbers : 0;
    if (fn >= 0 && this.opaque(fn)) return { clobbers: claim?.clobbers ?? conventionClobbers, returns };
    if (fn >= 0) {
      const effect = this.effects[fn]!;
      return { clobbers: effect.clobbers, returns: effect.returns && returns };
    }
    const targets = claim?.targets ?? null;
    if (targets === null) return { clobbers: conventionClobbers, returns };
    let clobbers = own;
    let any = false;
    for (const name of targets) {
      const effect = this.effects[this.numberOf.get(name) ?? -1];
      clobbers |= effect === undefined ? conventionClobbers : effect.clobbers;
      any ||= effect === undefined || effect.returns;
    }
    return { clobbers, returns: any && returns };
  };

  /** Least fixpoint: functions after their callees where possible, again when a callee's effect grew. */
  private solve(): void {
    const callers: number[][] = this.functions.map(() => []);
    const reached = (site: CallSite): number[] => {
      const targets = this.claimOf.get(site)?.targets ?? [];
      const own = [site.target.fn, ...targets.map((name) => this.numberOf.get(name) ?? -1)];
      // Outlined code is executed in place: what it calls counts by itself.
      return [...own, ...(this.outlinedAt(site)?.fn.sites.flatMap(reached) ?? [])];
    };
    const callees = this.functions.map((fn) => [...new Set(fn.sites.flatMap(reached).filter((n) => n >= 0))]);
    callees.forEach((list, caller) => {
      for (const callee of list) callers[callee]!.push(caller);
    });
    let pending = postorder(callees);
    while (pending.length > 0) {
      const again = new Set<number>();
      const order = pending;
      const position = new Map(order.map((n, i) => [n, i]));
      order.forEach((number, i) => {
        again.delete(number);
        const before = this.effects[number]!;
        const after = this.opaque(number)
          ? { ...before, clobbers: conventionClobbers, returns: true }
          : analyseFunction(
              this.functions[number]!,
              this.kindOf,
              this.effectAt,
              this.unwindOf,
              this.outlinedAt,
            );
        this.effects[number] = after;
        if (after.clobbers === before.clobbers && after.returns === before.returns) return;
        // Callers that come later in this round see the change anyway.
        for (const caller of callers[number]!) if ((position.get(caller) ?? -1) <= i) again.add(caller);
      });
      pending = [...again];
    }
  }

  /** What mentions a function besides compiled code is assembly, which can enter it or give its address away. */
  private checkSeal(fn: CodeFunction): void {
    const claim = this.functionClaims[fn.index];
    if (claim?.sealed !== true || this.mentions === undefined) return;
    const compiled = fn.names.reduce((sum, name) => sum + (this.mentions!.get(name) ?? 0), 0);
    if (fn.mentions > compiled)
      this.violations.push(
        `@${fn.names[0]}: assembly mentions it, though unknown code is said not to enter the function`,
      );
  }

  private checkFunction(fn: CodeFunction): void {
    if (this.opaque(fn.index)) return;
    const name = `@${fn.names[0]}`;
    const effect = this.effects[fn.index]!;
    const claim = this.functionClaims[fn.index];
    for (const problem of effect.problems) this.violations.push(problem);
    if (claim !== undefined) this.checkUnwind(fn, effect, claim);
    const lost = effect.clobbers & calleeSaved & ~(claim?.givenAway ?? 0);
    if (fn.open && claim?.closed !== true && lost !== 0)
      this.violations.push(
        `${name}: ${registerNames(lost)} not preserved, though unknown code can call the function`,
      );
    for (const site of fn.sites) {
      const told = this.claimOf.get(site);
      if (told === undefined || told.kind === "jump" || effect.reached[site.at] !== 1) continue;
      const changed = this.effectAt(site).clobbers & ~told.clobbers;
      // Where upper halves of vector registers are zeroed, no more than 128 bits of them are in use.
      const more = changed !== 0 && this.zeroesUpperHalves(site) ? changed & 0xffff : changed;
      const comesBack = this.effectAt(site).returns || this.unwindOf(site) !== null;
      if (more !== 0 && told.kind === "call" && comesBack)
        this.violations.push(
          `${this.describe(fn, site)} changes ${registerNames(more)}, which the caller was told it preserves`,
        );
    }
    // Of outlined code that is looked at where it stands, too, where the frame is can be told there alone.
    if (this.lookedThrough.has(fn)) return;
    // What is computed from a value without meaning has none either, in whatever register it is.
    const undefinedRegisters = claim?.undefinedRegisters ?? 0;
    const excused = undefinedRegisters === 0 ? 0 : undefinedRegisters | conventionClobbers;
    findLostRegisters(
      fn,
      effect.reached,
      this.kindOf,
      (site) => this.registersAt(site),
      this.unwindOf,
      claim?.results ?? 0,
      (site, registers) => {
        const known = this.claimOf.get(site)?.clobbers ?? 0;
        const kept = registers & ~(known & excused);
        if (kept !== 0)
          this.violations.push(
            `${this.describe(fn, site)} changes ${registerNames(kept)}, in which the caller keeps a value`,
          );
      },
      this.outlinedAt,
      effect.inFrame,
      effect.inFrameFrom,
    );
  }

  /** Outlined code whose effects on registers are followed from functions that lead to it. */
  private get lookedThrough(): ReadonlySet<CodeFunction> {
    this.allLookedThrough ??= new Set(
      this.functions
        .filter((fn) => !this.opaque(fn.index))
        .flatMap((fn) => fn.sites.flatMap((site) => this.outlinedAt(site)?.fn ?? [])),
    );
    return this.allLookedThrough;
  }
  private allLookedThrough: ReadonlySet<CodeFunction> | undefined;

  /** Whether it leads to outlined code that does it: functions say that of themselves. */
  private zeroesUpperHalves(site: CallSite): boolean {
    const fn = this.outlinedAt(site)?.fn;
    if (fn === undefined) return false;
    return (
      fn.insts.some((inst) => inst.zeroesUpperHalves) ||
      fn.sites.some((inner) => this.zeroesUpperHalves(inner))
    );
  }

  private checkUnwind(fn: CodeFunction, { clobbers, returns }: FunctionEffect, claim: FunctionClaim): void {
    if (claim.unwind === "none" && fn.rows !== null)
      this.violations.push(`@${fn.names[0]}: another function's unwind description covers it`);
    if (claim.unwind !== "async") return;
    const checker = new RowChecker(
      fn,
      fn.open && claim.closed !== true && returns ? calleeSaved & ~clobbers : 0,
    );
    analyseFunction(fn, this.kindOf, this.effectAt, this.unwindOf, this.outlinedAt, checker.look);
    for (const violation of checker.violations) this.violations.push(violation);
  }

  /**
   * On entry rsp is 8 more than a multiple of 16, if the caller keeps to the convention. A function relies on
   * that when it calls unknown code, or accesses its stack in aligned units, or calls a function that relies.
   * Outlined code is entered from where its code was, and relies on whatever alignment is right inside.
   */
  private checkAlignment(): void {
    const relies = new Uint8Array(this.functions.length);
    /** rsp on entry less what the convention has there, modulo 16: other than 0 for outlined code only. */
    const shifts = new Uint8Array(this.functions.length);
    /** The shift that a site needs of its callee; null: it does not rely on the stack. */
    const shiftOf = (site: CallSite): number | null => {
      if (this.kindOf(site) === "jump" || transparentRoutines.has(site.target.name)) return null;
      const callee = this.calleeOf(site);
      if (callee >= 0) return relies[callee] === 1 ? shifts[callee]! : null;
      // Unknown code relies on it, too.
      const isFree = this.claimOf
        .get(site)
        ?.targets?.every((name) => relies[this.numberOf.get(name) ?? -1] === 0);
      return isFree === true ? null : 0;
    };
    /** The shifts that a function has to be entered with for its sites and accesses, by instruction. */
    const needs = (fn: CodeFunction): [at: number, site: CallSite | null, shift: number][] => {
      const { stackAt, alignedAt } = this.effects[fn.index]!;
      const list: [number, CallSite | null, number][] = [];
      for (const [at, distance] of alignedAt) list.push([at, null, (24 - distance) % 16]);
      for (const site of fn.sites) {
        const found = stackAt.get(site.at);
        const shift = found === undefined ? null : shiftOf(site);
        // A call leaves from a multiple of 16, a jump from where the function was entered.
        const right = this.kindOf(site) === "tail" ? 0 : 8;
        if (shift !== null) list.push([site.at, site, (right + shift + 16 - found!) % 16]);
      }
      return list;
    };
    for (let changed = true; changed; ) {
      changed = false;
      for (const fn of this.functions) {
        if (relies[fn.index] === 1) continue;
        const [first] = needs(fn);
        if (first === undefined && !this.opaque(fn.index)) continue;
        relies[fn.index] = 1;
        if (first !== undefined && this.functionClaims[fn.index]?.outlined === true)
          shifts[fn.index] = first[2];
        changed = true;
      }
    }
    for (const fn of this.functions) {
      // What such a routine calls is itself.
      if (fn.names.some((name) => indirectRoutines.has(name))) continue;
      for (const [at, site, shift] of needs(fn)) {
        if (shift === shifts[fn.index]) continue;
        this.violations.push(
          site === null
            ? `@${fn.names[0]}+${hex(fn.offsets[at]!)}: aligned access to an unaligned place`
            : `${this.describe(fn, site)} with the stack not aligned to 16 bytes`,
        );
      }
    }
  }

  private registersAt(site: CallSite): SiteRegisters {
    const claim = this.claimOf.get(site);
    const { clobbers, returns } = this.effectAt(site);
    if (claim === undefined) return { clobbers, returns, results: conventionResults, arguments: 0 };
    return { clobbers, returns, results: claim.results, arguments: claim.arguments };
  }

  private readonly outlinedAt = (site: CallSite): OutlinedCode | null => {
    const number = this.calleeOf(site);
    const claim = number < 0 ? undefined : this.functionClaims[number];
    if (claim?.outlined !== true) return null;
    const fn = this.functions[number]!;
    return fn.branches.size > 0 || fn.insts.length === 0 ? null : { fn, returned: claim.results };
  };

  private describe(fn: CodeFunction, site: CallSite): string {
    const target = site.target.name === "" ? "a pointer" : `@${site.target.name}`;
    return `@${fn.names[0]}+${hex(fn.offsets[site.at]!)}: call of ${target}`;
  }
}

/** Nodes after the nodes they lead to, except in cycles. */
function postorder(edges: readonly (readonly number[])[]): number[] {
  const state = new Uint8Array(edges.length);
  const next = new Int32Array(edges.length);
  const order: number[] = [];
  for (let root = 0; root < edges.length; root++) {
    if (state[root] !== 0) continue;
    const path = [root];
    state[root] = 1;
    while (path.length > 0) {
      const node = path[path.length - 1]!;
      const target = edges[node]![next[node]!++];
      if (target === undefined) {
        order.push(node);
        path.pop();
      } else if (state[target] === 0) {
        state[target] = 1;
        path.push(target);
      }
    }
  }
  return order;
}
