/**
 * Random functions with control flow that no source has: blocks in any order that jump anywhere by `br`, `switch`,
 * `indirectbr` and `invoke`, loops with several entries, blocks that nothing reaches, some with their address taken.
 *
 * All blocks hand the same list of values of many types to each other, in phis, and change some; other values live
 * from the entry to the end. Every block counts down, so the function ends. What is left is stored to `%out`.
 */
import { FunctionWriter } from "../legalize/random-ir.js";
import type { Random } from "../support/random.js";
import { meanings, randomAssembly } from "./assembly.js";

const scalars = "i1 i8 i16 i24 i32 i32 i64 i64 i65 i128 float double double half".split(" ");
const vectors = [
  { count: 4, element: "i32" },
  { count: 2, element: "i64" },
  { count: 8, element: "i16" },
  { count: 2, element: "double" },
  { count: 4, element: "float" },
  { count: 3, element: "i8" },
];

interface Shape {
  readonly count: number;
  readonly element: string;
}
const text = (s: Shape): string => (s.count === 0 ? s.element : `<${s.count} x ${s.element}>`);
const isFloat = (s: Shape): boolean => !s.element.startsWith("i");

/** What all functions of a module may call, as text. */
export const helpers = `
define internal i64 @h0(i32 %a, i64 %b) noinline {
  %x = zext i32 %a to i64
  %y = mul i64 %x, 2654435761
  %z = xor i64 %y, %b
  ret i64 %z
}
define internal double @h1(double %a, i8 signext %b, double %c) noinline {
  %x = sitofp i8 %b to double
  %y = fadd double %a, %x
  %z = fsub double %y, %c
  ret double %z
}
define internal i128 @h2(<4 x i32> %a, i128 %b, i64 %c) noinline {
  %x = bitcast <4 x i32> %a to i128
  %y = add i128 %x, %b
  %w = zext i64 %c to i128
  %z = xor i128 %y, %w
  ret i128 %z
}
define internal void @h3(ptr %p, i64 %a) noinline {
  %x = load i64, ptr %p
  %y = call i64 @h0(i32 7, i64 %x)
  %z = add i64 %y, %a
  store i64 %z, ptr %p
  ret void
}
declare i32 @__gcc_personality_v0(...)
${meanings}`;

/** A function `NAME(ptr %in, ptr %out)` and what it declares. */
export function irregularFunction(name: string, random: Random): { text: string; declarations: string[] } {
  return new Writer(name, random).run();
}

class Writer {
  private readonly w: FunctionWriter;
  private readonly slots: Shape[] = [];
  /** Values of the entry, by slot's number, which dominate all. */
  private readonly early: string[] = [];
  private state: string[] = [];
  private readonly landings: number[] = [];
  /** One of both in a function: the IPRA checker takes entries of tables for what any computed jump may go to. */
  private readonly choice: "switch" | "indirectbr";

  constructor(
    private readonly name: string,
    private readonly random: Random,
  ) {
    this.w = new FunctionWriter(random);
    this.choice = random.pick(["switch", "indirectbr"]);
  }

  run(): { text: string; declarations: string[] } {
    const { w, random } = this;
    const count = 3 + random.below(12);
    const shape = (): Shape =>
      random.chance(0.25) ? random.pick(vectors) : { count: 0, element: random.pick(scalars) };
    this.slots.push({ count: 0, element: "i32" }, { count: 0, element: "i64" });
    for (let n = random.below(8); n >= 0; n--) this.slots.push(shape());
    w.lines.push("  %memory = alloca [8 x i64]", "  store [8 x i64] zeroinitializer, ptr %memory");
    for (const slot of this.slots) this.early.push(w.load(slot));
    const fuel = String(3 + random.below(40));
    const successors = Array.from({ length: count }, () => this.terminator(count));
    const first = random.below(count);
    w.lines.push(`  br label %b${first}`);
    // Which edges lead to each block: the label before, and whose state comes along.
    const edges = Array.from({ length: count }, (): { from: string; block: number }[] => []);
    edges[first]!.push({ from: "entry", block: -1 });
    successors.forEach((list, block) => {
      for (const to of list.targets) edges[to]!.push({ from: `x${block}`, block });
    });
    // Phis mention what is written later, so blocks are written first, with names for what comes in.
    const ends: { state: string[]; fuel: string }[] = [];
    const bodies: string[][] = [];
    for (let block = 0; block < count; block++) {
      const alone = edges[block]!.length === 0;
      this.state = alone ? [...this.early] : this.slots.map((_, i) => `%p${block}.${i}`);
      const begin = w.lines.length;
      for (let n = random.below(6); n > 0; n--) this.change();
      const left = w.emit(`sub i32 ${alone ? "1" : `%p${block}.fuel`}, 1`);
      const empty = w.emit(`icmp eq i32 ${left}, 0`);
      w.lines.push(`  br i1 ${empty}, label %exit, label %x${block}`, `x${block}:`);
      this.branch(successors[block]!);
      bodies.push(w.lines.splice(begin));
      ends.push({ state: this.state, fuel: left });
    }
    const order = Array.from({ length: count }, (_, i) => i).sort(() => random.below(3) - 1);
    for (const block of order) {
      w.lines.push(`b${block}:`);
      const incoming = (of: (block: number) => string): string =>
        edges[block]!.map((edge) => `[ ${of(edge.block)}, %${edge.from} ]`).join(", ");
      if (edges[block]!.length > 0) {
        this.slots.forEach((slot, i) => {
          const values = incoming((from) => (from < 0 ? this.early[i]! : ends[from]!.state[i]!));
          w.lines.push(`  %p${block}.${i} = phi ${text(slot)} ${values}`);
        });
        w.lines.push(
          `  %p${block}.fuel = phi i32 ${incoming((from) => (from < 0 ? fuel : ends[from]!.fuel))}`,
        );
      }
      for (const line of bodies[block]!) w.lines.push(line);
    }
    w.lines.push(
      "pad:",
      "  %caught = landingpad { ptr, i32 } cleanup",
      "  resume { ptr, i32 } %caught",
      "exit:",
    );
    const last = this.slots.map((slot, i) =>
      w.emit(`phi ${text(slot)} ${ends.map((end, b) => `[ ${end.state[i]}, %b${b} ]`).join(", ")}`),
    );
    last.forEach((value, i) => {
      w.store(this.slots[i]!, value);
    });
    this.early.forEach((value, i) => {
      if (random.chance(0.5)) w.store(this.slots[i]!, value);
    });
    const memory = w.emit("load i64, ptr %memory");
    w.store({ count: 0, element: "i64" }, memory);
    const lines = ["entry:", ...w.lines, "  ret void"].join("\n");
    return {
      text: `define internal void @${this.name}(ptr %in, ptr %out) personality ptr @__gcc_personality_v0 {\n${lines}\n}\n`,
      declarations: [...w.declarations],
    };
  }

  /** Where a function's indirect branches may go: the same for all, as in clang's code and for the IPRA checker. */
  private labels(count: number): number[] {
    if (this.landings.length === 0)
      this.landings.push(...new Set(Array.from({ length: 3 }, () => this.random.below(count))));
    return [...this.landings];
  }

  private terminator(count: number): Terminator {
    const { random } = this;
    const drawn = random.pick([
      "br",
      "br",
      "condbr",
      "condbr",
      "condbr",
      "switch",
      "indirectbr",
      "invoke",
    ] as const);
    const kind = drawn === "switch" || drawn === "indirectbr" ? this.choice : drawn;
    const targets = (n: number): number[] => Array.from({ length: n }, () => random.below(count));
    switch (kind) {
      case "br":
      case "invoke":
        return { kind, targets: targets(1) };
      case "condbr":
        return { kind, targets: targets(2) };
      case "switch":
        return { kind, targets: targets(2 + random.below(7)) };
      case "indirectbr":
        return { kind, targets: this.labels(count) };
    }
  }

  private branch({ kind, targets }: Terminator): void {
    const { w, random } = this;
    const label = (i: number): string => `label %b${targets[i]}`;
    const word = this.state[0]!;
    switch (kind) {
      case "br":
        w.lines.push(`  br ${label(0)}`);
        break;
      case "invoke":
        w.lines.push(`  invoke void @h3(ptr %memory, i64 ${this.state[1]}) to ${label(0)} unwind label %pad`);
        break;
      case "condbr":
        w.lines.push(`  br i1 ${this.condition()}, ${label(0)}, ${label(1)}`);
        break;
      case "switch": {
        const spread = random.pick([1, 1, 1, 1000, 50_000_000]);
        const masked = w.emit(`and i32 ${word}, 7`);
        const value = spread === 1 ? masked : w.emit(`mul i32 ${masked}, ${spread}`);
        const cases = targets.slice(1).map((_, i) => `i32 ${i * spread}, ${label(i + 1)}`);
        w.lines.push(`  switch i32 ${value}, ${label(0)} [ ${cases.join(" ")} ]`);
        break;
      }
      case "indirectbr": {
        let address = `blockaddress(@${this.name}, %b${targets[0]})`;
        for (const target of targets.slice(1))
          address = w.emit(
            `select i1 ${this.condition()}, ptr ${address}, ptr blockaddress(@${this.name}, %b${target})`,
          );
        w.lines.push(`  indirectbr ptr ${address}, [${targets.map((_, i) => label(i)).join(", ")}]`);
      }
    }
  }

  private condition(): string {
    const { w, random } = this;
    const at = random.below(this.slots.length);
    const slot = this.slots[at]!;
    const other = random.chance(0.5) ? this.early[at]! : random.pick(this.same(slot));
    if (slot.count > 0 || random.chance(0.2)) {
      const masked = w.emit(`and i32 ${this.state[0]}, ${1 << random.below(8)}`);
      return w.emit(`icmp ne i32 ${masked}, 0`);
    }
    if (isFloat(slot))
      return w.emit(
        `fcmp ${random.pick(["oeq", "olt", "ult", "une", "ord"])} ${text(slot)} ${this.state[at]}, ${other}`,
      );
    const predicate = random.pick(["eq", "ne", "slt", "ult", "sge", "ugt"]);
    const value = random.chance(0.3) ? w.constant(slot) : other;
    return w.emit(`icmp ${predicate} ${text(slot)} ${this.state[at]}, ${value}`);
  }

  /** Values of a slot's type that may be used here. */
  private same(slot: Shape): string[] {
    return this.slots.flatMap((s, i) => (text(s) === text(slot) ? [this.state[i]!, this.early[i]!] : []));
  }

  /** Gives a slot another value. */
  private change(): void {
    const { w, random } = this;
    const at = random.below(this.slots.length);
    const slot = this.slots[at]!;
    const type = text(slot);
    const a = this.state[at]!;
    const b = random.pick(this.same(slot));
    const set = (value: string): void => {
      this.state[at] = value;
    };
    if (random.chance(0.15)) {
      this.call();
      return;
    }
    if (random.chance(0.12)) {
      this.assembly();
      return;
    }
    if (isFloat(slot)) {
      set(w.emit(`${random.pick(["fadd", "fsub", "fmul"])} ${type} ${a}, ${b}`));
      return;
    }
    const name = `${slot.count === 0 ? "" : `v${slot.count}`}${slot.element}`;
    switch (random.below(8)) {
      case 0:
        set(w.emit(`select i1 ${this.condition()}, ${type} ${a}, ${type} ${b}`));
        break;
      case 1:
        if (slot.element !== "i1")
          set(w.emit(`${random.pick(["shl", "lshr", "ashr"])} ${type} ${a}, ${w.amount(slot, b)}`));
        break;
      case 2: {
        const args = [type, type].map((t, i) => [t, [a, b][i]!] as [string, string]);
        const which = random.pick(["smax", "umin", "uadd.sat", "ssub.sat", "fshl"]);
        if (which === "fshl") args.push([type, a]);
        set(w.call(`llvm.${which}.${name}`, type, args));
        break;
      }
      case 3: {
        const which = random.pick(["ctpop", "ctlz", "cttz", "bitreverse", "abs"]);
        const args: [string, string][] = [[type, a]];
        if (!/^(ctpop|bitr)/.test(which)) args.push(["i1", "false"]);
        set(w.call(`llvm.${which}.${name}`, type, args));
        break;
      }
      case 4: {
        // A word of local memory.
        const index = w.emit(`and i64 ${this.state[1]}, 7`);
        const place = w.emit(`getelementptr i64, ptr %memory, i64 ${index}`);
        if (random.chance(0.5)) w.lines.push(`  store i64 ${this.state[1]}, ptr ${place}`);
        else {
          const old = w.emit(`load i64, ptr ${place}`);
          this.state[1] = w.emit(`add i64 ${old}, ${this.state[1]}`);
        }
        break;
      }
      default: {
        const value = random.chance(0.3) ? w.constant(slot) : b;
        set(w.emit(`${random.pick(["add", "sub", "mul", "and", "or", "xor"])} ${type} ${a}, ${value}`));
      }
    }
  }

  private assembly(): void {
    const of = (type: string): string[] =>
      this.slots.flatMap((s, i) => (text(s) === type ? [this.state[i]!, this.early[i]!] : []));
    const made = randomAssembly(this.w, this.random, of);
    if (made !== null) this.state[this.slots.findIndex((s) => text(s) === made[0])] = made[1];
  }

  private call(): void {
    const { w, random } = this;
    const find = (type: string): number => this.slots.findIndex((s) => text(s) === type);
    const set = (type: string, value: string): void => {
      this.state[find(type)] = value;
    };
    const [wide, double, four] = [find("i128"), find("double"), find("<4 x i32>")];
    const which = random.below(3);
    if (which === 0 && double >= 0) {
      const byte = w.emit(`trunc i32 ${this.state[0]} to i8`);
      set(
        "double",
        w.emit(
          `call double @h1(double ${this.state[double]}, i8 signext ${byte}, double ${this.early[double]})`,
        ),
      );
    } else if (which === 1 && wide >= 0 && four >= 0)
      set(
        "i128",
        w.emit(
          `call i128 @h2(<4 x i32> ${this.state[four]}, i128 ${this.state[wide]}, i64 ${this.state[1]})`,
        ),
      );
    else if (random.oneIn(2)) w.lines.push(`  call void @h3(ptr %memory, i64 ${this.state[1]})`);
    else set("i64", w.emit(`call i64 @h0(i32 ${this.state[0]}, i64 ${this.state[1]})`));
  }
}

interface Terminator {
  readonly kind: "br" | "condbr" | "switch" | "indirectbr" | "invoke";
  /** Numbers of blocks, with repetitions. */
  readonly targets: number[];
}
