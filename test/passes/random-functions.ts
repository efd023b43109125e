/**
 * Random functions with control flow, memory and calls, as IR text, for passes on functions.
 *
 * `@f` computes with few values over and over, so that identities, repeated expressions and known bits come up; its
 * conditionals, switches and bounded loops nest and end in phis; it reads and writes local variables (whole, in parts,
 * by address given to `@touch`), memory of its pointer arguments, which may be the same, a variable and a table. Local
 * variables are written first; their addresses are never seen outside.
 */
import type { Random } from "../support/random.js";

type IntType = "i1" | "i8" | "i16" | "i32" | "i64";
const widths: Readonly<Record<IntType, number>> = { i1: 1, i8: 8, i16: 16, i32: 32, i64: 64 };
const computed: readonly IntType[] = ["i8", "i16", "i32", "i32", "i32", "i64"];

const prelude = `
@g = internal global i32 7
@wide = internal global i64 9
@table = internal constant [8 x i32] [i32 1, i32 2, i32 4, i32 8, i32 16, i32 32, i32 64, i32 5]
declare i32 @get()
declare void @use(i32)
declare i64 @pure(i64) memory(none) nounwind willreturn
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.ctpop.i32(i32)
define internal void @touch(ptr %p, i32 %x) noinline {
  %old = load i32, ptr %p
  %new = add i32 %old, %x
  store i32 %new, ptr %p
  ret void
}
define internal i32 @look(ptr %p) noinline memory(argmem: read) nounwind willreturn {
  %x = load i32, ptr %p
  ret i32 %x
}
`;

interface Place {
  readonly pointer: string;
  readonly type: IntType;
}

class Writer {
  private lines: string[] = [];
  private names = 0;
  private labels = 0;
  private block = "entry";
  private budget: number;
  /** Values in scope, by type; the newest last. */
  private pool = new Map<IntType, string[]>();
  private places: Place[] = [];
  /** Addresses of local structures of 16 bytes. */
  private readonly structures: string[] = [];

  constructor(private readonly random: Random) {
    this.budget = 12 + random.below(40);
  }

  module(): string {
    this.value("i32", "%a");
    this.value("i32", "%b");
    this.value("i64", "%c");
    this.value("i1", "%d");
    this.variables();
    this.statements(3);
    const result = this.pick("i32");
    const wide = this.pick("i64");
    this.line(`store i64 ${wide}, ptr %q`);
    if (this.random.chance(0.5)) for (const place of this.places.slice(0, 3)) this.load(place);
    this.line(`call void @use(i32 ${this.pick("i32")})`);
    this.line(`ret i32 ${result}`);
    const text = this.lines.join("\n");
    const known = this.random.chance(0.5) ? " dereferenceable(16)" : "";
    return `${prelude}define i32 @f(i32 %a, i32 noundef %b, i64 %c, i1 %d, ptr${known} %p, ptr %q) {\nentry:\n${text}\n}\n`;
  }

  private line(text: string): void {
    this.lines.push(`  ${text}`);
  }
  private emit(type: IntType, code: string): string {
    const name = `%v${this.names++}`;
    this.line(`${name} = ${code}`);
    return this.value(type, name);
  }
  private address(code: string): string {
    const name = `%p${this.names++}`;
    this.line(`${name} = ${code}`);
    return name;
  }
  private value(type: IntType, name: string): string {
    const list = this.pool.get(type);
    if (list === undefined) this.pool.set(type, [name]);
    else list.push(name);
    return name;
  }
  private constant(type: IntType): string {
    if (type === "i1") return this.random.pick(["true", "false"]);
    const bits = widths[type];
    const log = this.random.below(bits);
    const n = this.random.pick([
      0n,
      1n,
      -1n,
      2n,
      BigInt(this.random.below(16)),
      1n << BigInt(log),
      (1n << BigInt(log)) - 1n,
      BigInt(this.random.bits()),
      -(1n << BigInt(bits - 1)),
      (1n << BigInt(bits - 1)) - 1n,
    ]);
    return String(BigInt.asIntN(bits, n));
  }
  private pick(type: IntType): string {
    const list = this.pool.get(type) ?? [];
    if (list.length === 0 || this.random.chance(0.12)) return this.constant(type);
    // The newest are most interesting.
    const back = Math.min(this.random.below(list.length), this.random.below(list.length));
    return list[list.length - 1 - back]!;
  }
  private operand(type: IntType): string {
    return this.random.chance(0.4) ? this.constant(type) : this.pick(type);
  }
  /** An integer type, or another one than this. */
  private type(other: IntType | null = null): IntType {
    const type = this.random.pick(computed);
    return type === other ? this.type(other) : type;
  }

  private variables(): void {
    const scalars: IntType[] = ["i32", "i64", "i8", "i16"];
    const count = this.random.below(4);
    for (let i = 0; i < count; i++) {
      const type = this.random.pick(scalars);
      const pointer = this.address(`alloca ${type}, align 8`);
      this.line(`store ${type} ${this.operand(type)}, ptr ${pointer}`);
      this.places.push({ pointer, type });
    }
    if (this.random.chance(0.5)) {
      const base = this.address("alloca { i32, i32, i64 }, align 8");
      this.line(`call void @llvm.memset.p0.i64(ptr ${base}, i8 ${this.random.below(3)}, i64 16, i1 false)`);
      this.fields(base);
      if (this.random.chance(0.6)) {
        const copy = this.address("alloca { i32, i32, i64 }, align 8");
        this.line(`call void @llvm.memcpy.p0.p0.i64(ptr ${copy}, ptr ${base}, i64 16, i1 false)`);
        if (this.random.chance(0.5)) this.fields(copy);
        else this.places.push({ pointer: copy, type: "i32" });
        this.structures.push(base, copy);
      }
    }
    for (const base of ["%p", "%q"])
      for (const at of [0, 4, 8])
        if (this.random.chance(0.4))
          this.places.push({
            pointer: this.address(`getelementptr inbounds i8, ptr ${base}, i64 ${at}`),
            type: this.type(),
          });
    this.places.push({ pointer: "@g", type: "i32" }, { pointer: "@wide", type: "i64" });
  }

  private fields(base: string): void {
    this.places.push({ pointer: base, type: "i32" });
    for (const [at, type] of [
      [4, "i32"],
      [8, "i64"],
      [6, "i16"],
    ] as const)
      if (this.random.chance(0.7))
        this.places.push({ pointer: this.address(`getelementptr i8, ptr ${base}, i64 ${at}`), type });
  }
  /** Something with a structure as a whole, or half of it. */
  private structure(): void {
    const base = this.random.pick(this.structures);
    const half = this.random.chance(0.3) ? 8 : 0;
    const at = half === 0 ? base : this.address(`getelementptr i8, ptr ${base}, i64 8`);
    switch (this.random.below(5)) {
      case 0: {
        const other = this.random.pick(
          [...this.structures, "%p", "%q"].filter((pointer) => pointer !== base),
        );
        const [to, from] = this.random.chance(0.5) ? [at, other] : [other, at];
        const size = half === 8 || this.random.chance(0.3) ? 8 : 16;
        const name = this.random.pick(["memcpy", "memmove"]);
        this.line(`call void @llvm.${name}.p0.p0.i64(ptr ${to}, ptr ${from}, i64 ${size}, i1 false)`);
        return;
      }
      case 1:
        this.line(`call void @llvm.memset.p0.i64(ptr ${at}, i8 ${this.random.below(3)}, i64 8, i1 false)`);
        return;
      case 2: {
        const vector = `%v${this.names++}`;
        this.line(`${vector} = load <2 x i32>, ptr ${at}, align 1`);
        this.emit("i32", `extractelement <2 x i32> ${vector}, i32 ${this.random.below(2)}`);
        return;
      }
      case 3: {
        const vector = `%v${this.names++}`;
        const first = this.random.chance(0.3) ? "poison" : this.constant("i32");
        const old = `<2 x i32> ${this.random.pick([`<i32 ${first}, i32 7>`, "poison"])}`;
        this.line(`${vector} = insertelement ${old}, i32 ${this.pick("i32")}, i32 ${this.random.below(2)}`);
        this.line(`store <2 x i32> ${vector}, ptr ${at}, align 1`);
        return;
      }
      default:
        this.emit("i64", `load i64, ptr ${at}, align 1`);
    }
  }

  private load({ pointer, type }: Place): string {
    return this.emit(type, `load ${type}, ptr ${pointer}, align 1`);
  }

  private statements(depth: number): void {
    const count = 1 + this.random.below(7);
    for (let i = 0; i < count && this.budget > 0; i++) this.statement(depth);
  }
  private statement(depth: number): void {
    this.budget--;
    const kind = this.random.below(depth > 0 ? 20 : 15);
    if (kind < 4) {
      if (this.structures.length > 0 && this.random.chance(0.5)) this.structure();
      else this.arithmetic();
    } else if (kind === 4) this.comparison();
    else if (kind === 5) this.cast();
    else if (kind === 6) this.select();
    else if (kind < 9) this.load(this.random.pick(this.places));
    else if (kind < 12) this.store();
    else if (kind === 12) this.call();
    else if (kind === 13) this.idiom();
    else if (kind === 14) this.tableLoad();
    else if (kind < 18) this.conditional(depth - 1);
    else if (kind === 18) this.loop(depth - 1);
    else this.switch(depth - 1);
  }

  private arithmetic(): void {
    const type = this.type();
    const op = this.random.pick(
      "add add sub sub mul and and or or xor xor shl lshr ashr udiv sdiv urem srem".split(" "),
    );
    const a = this.random.chance(0.15) ? this.constant(type) : this.pick(type);
    let b = this.operand(type);
    let flags = "";
    if (op.endsWith("div") || op.endsWith("rem")) {
      if (this.random.chance(0.5)) b = this.emit(type, `or ${type} ${b}, 1`);
      else b = String(1 + this.random.below(60));
    } else if (op === "shl" || op.endsWith("shr")) {
      if (this.random.chance(0.6)) b = String(this.random.below(widths[type]));
      else b = this.emit(type, `and ${type} ${b}, ${widths[type] - 1}`);
    }
    if (this.random.chance(0.12)) {
      if (op === "add" || op === "sub" || op === "mul" || op === "shl")
        flags = this.random.pick([" nsw", " nuw", " nuw nsw"]);
      else if (op === "lshr" || op === "ashr" || op === "udiv" || op === "sdiv") flags = " exact";
    }
    this.emit(type, `${op}${flags} ${type} ${a}, ${b}`);
  }
  private comparison(): string {
    const type = this.random.chance(0.15) ? "i1" : this.type();
    const predicate = this.random.pick("eq ne ugt uge ult ule sgt sge slt sle".split(" "));
    return this.emit("i1", `icmp ${predicate} ${type} ${this.pick(type)}, ${this.operand(type)}`);
  }
  private cast(): void {
    const from = this.random.chance(0.2) ? "i1" : this.type();
    const to = this.type(from);
    const op = widths[to] < widths[from] ? "trunc" : this.random.pick(["zext", "sext"]);
    this.emit(to, `${op} ${from} ${this.pick(from)} to ${to}`);
  }
  private select(): void {
    const type = this.random.chance(0.2) ? "i1" : this.type();
    this.emit(
      type,
      `select i1 ${this.pick("i1")}, ${type} ${this.operand(type)}, ${type} ${this.operand(type)}`,
    );
  }
  private store(): void {
    const { pointer, type } = this.random.pick(this.places);
    this.line(`store ${type} ${this.operand(type)}, ptr ${pointer}, align 1`);
  }
  private call(): void {
    switch (this.random.below(7)) {
      case 0:
        this.line(`call void @use(i32 ${this.pick("i32")})`);
        break;
      case 1:
        this.emit("i32", "call i32 @get()");
        break;
      case 2:
        this.emit("i32", `call i32 @llvm.umin.i32(i32 ${this.pick("i32")}, i32 ${this.operand("i32")})`);
        break;
      case 3:
        this.emit("i32", `call i32 @llvm.smax.i32(i32 ${this.pick("i32")}, i32 ${this.operand("i32")})`);
        break;
      case 4:
        this.emit("i32", `call i32 @llvm.ctpop.i32(i32 ${this.pick("i32")})`);
        break;
      default: {
        const place = this.random.pick(this.places);
        if (widths[place.type] < 32) break;
        if (this.random.chance(0.5))
          this.line(`call void @touch(ptr ${place.pointer}, i32 ${this.operand("i32")})`);
        else this.emit("i32", `call i32 @look(ptr ${place.pointer})`);
      }
    }
  }
  /** Pairs of operations that undo or repeat each other. */
  private idiom(): void {
    const type = this.type();
    const a = this.pick(type);
    const b = this.operand(type);
    const by = this.random.below(widths[type]);
    switch (this.random.below(9)) {
      case 0:
        this.emit(type, `sub ${type} ${this.emit(type, `add ${type} ${a}, ${b}`)}, ${a}`);
        break;
      case 1:
        this.emit(type, `lshr ${type} ${this.emit(type, `shl ${type} ${a}, ${by}`)}, ${by}`);
        break;
      case 2:
        this.emit(type, `ashr ${type} ${this.emit(type, `shl ${type} ${a}, ${by}`)}, ${by}`);
        break;
      case 3: {
        const not = this.emit(type, `xor ${type} ${a}, -1`);
        this.emit(type, `${this.random.pick(["and", "or", "xor"])} ${type} ${not}, ${a}`);
        break;
      }
      case 4: {
        const op = this.random.pick(["add", "sub", "mul", "and", "or", "xor"]);
        this.emit(type, `${op} ${type} ${a}, ${b}`);
        this.emit(type, `${op} ${type} ${a}, ${b}`);
        break;
      }
      case 5: {
        const masked = this.emit(type, `and ${type} ${a}, ${this.random.below(100)}`);
        this.emit("i1", `icmp ult ${type} ${masked}, ${this.random.below(120)}`);
        break;
      }
      case 6: {
        const op = this.random.pick(["add", "mul", "and", "or", "xor"]);
        const first = this.emit(type, `${op} ${type} ${a}, ${this.constant(type)}`);
        this.emit(type, `${op} ${type} ${first}, ${this.constant(type)}`);
        break;
      }
      case 7: {
        const place = this.random.pick(this.places);
        const value = this.load(place);
        this.line(`store ${place.type} ${value}, ptr ${place.pointer}, align 1`);
        break;
      }
      default: {
        const place = this.random.pick(this.places);
        this.line(`store ${place.type} ${this.operand(place.type)}, ptr ${place.pointer}, align 1`);
        this.load(place);
      }
    }
  }
  private tableLoad(): void {
    const at = this.emit("i64", `and i64 ${this.operand("i64")}, 7`);
    this.emit(
      "i32",
      `load i32, ptr ${this.address(`getelementptr [8 x i32], ptr @table, i64 0, i64 ${at}`)}`,
    );
  }

  private label(): string {
    return `l${this.labels++}`;
  }
  private begin(label: string): void {
    this.lines.push(`${label}:`);
    this.block = label;
  }
  /** Writes a nested part. @returns the values that it sees at its end, and its last block */
  private nested(depth: number): { pool: Map<IntType, string[]>; block: string } {
    const outer = this.pool;
    this.pool = this.seenFrom("").pool;
    this.statements(depth);
    const result = { pool: this.pool, block: this.block };
    this.pool = outer;
    return result;
  }
  private seenFrom(block: string): { pool: Map<IntType, string[]>; block: string } {
    return { pool: new Map([...this.pool].map(([type, list]) => [type, [...list]])), block };
  }
  private condition(): string {
    return this.random.chance(0.7) ? this.comparison() : this.pick("i1");
  }
  /** Phis of what arms see at their ends. */
  private join(arms: readonly { pool: Map<IntType, string[]>; block: string }[]): void {
    const count = this.random.below(3);
    for (let i = 0; i < count; i++) {
      const type = this.random.chance(0.15) ? "i1" : this.type();
      const entries = arms.map(({ pool, block }) => {
        const list = pool.get(type) ?? [];
        const value =
          list.length === 0 || this.random.chance(0.35)
            ? this.constant(type)
            : list[list.length - 1 - Math.min(this.random.below(list.length), 2)]!;
        return `[ ${value}, %${block} ]`;
      });
      this.emit(type, `phi ${type} ${entries.join(", ")}`);
    }
  }

  private conditional(depth: number): void {
    const condition = this.condition();
    const [then, otherwise, end] = [this.label(), this.label(), this.label()];
    const from = this.seenFrom(this.block);
    const isTriangle = this.random.chance(0.4);
    const shared = this.shared();
    this.line(`br i1 ${condition}, label %${then}, label %${isTriangle ? end : otherwise}`);
    this.begin(then);
    shared.begin();
    const arms = [this.random.chance(0.15) ? this.seenFrom(then) : this.nested(depth)];
    shared.end(arms[0]!.pool);
    this.line(`br label %${end}`);
    if (isTriangle) arms.push(from);
    else {
      this.begin(otherwise);
      shared.begin();
      arms.push(this.nested(depth));
      shared.end(arms[1]!.pool);
      this.line(`br label %${end}`);
    }
    this.begin(end);
    this.join(arms);
  }
  /** What arms may have in common: how they begin, and how they end. */
  private shared(): { begin(): void; end(pool: Map<IntType, string[]>): void } {
    const beginning = this.random.below(6);
    const ending = this.random.below(8);
    const place = this.random.pick(this.places);
    const chosen = this.operand("i32");
    return {
      begin: () => {
        if (beginning === 0)
          this.line(`%v${this.names++} = load ${place.type}, ptr ${place.pointer}, align 1`);
        else if (beginning === 1) this.line(`call void @use(i32 ${chosen})`);
      },
      end: (pool) => {
        const values = pool.get("i32") ?? [];
        const own = values[values.length - 1] ?? "3";
        const same = this.random.chance(0.5) ? chosen : own;
        if (ending === 0) this.line(`call void @use(i32 ${same})`);
        else if (ending === 1) this.line(`store i32 ${same}, ptr %q, align 1`);
        else if (ending === 2) {
          const name = `%v${this.names++}`;
          this.line(`${name} = mul i32 ${own}, ${chosen}`);
          pool.set("i32", [...values, name]);
        }
      },
    };
  }
  private switch(depth: number): void {
    const type = this.type();
    const value = this.pick(type);
    const labels = Array.from({ length: 1 + this.random.below(4) }, () => this.label());
    const [otherwise, end] = [this.label(), this.label()];
    const cases = labels.map((label, i) => `${type} ${i}, label %${label}`).join(" ");
    this.line(`switch ${type} ${value}, label %${otherwise} [ ${cases} ]`);
    const shared = this.shared();
    const arms = [...labels, otherwise].map((label) => {
      this.begin(label);
      const arm = this.random.chance(0.5) ? this.seenFrom(label) : this.nested(depth);
      if (this.random.chance(0.8)) shared.end(arm.pool);
      this.line(`br label %${end}`);
      return arm;
    });
    this.begin(end);
    this.join(arms);
  }
  /** A pointer that goes through the table beside a counter, and stays there. */
  private walker(step: number, trips: number): { name: string; start: string; bytes: number } {
    const scale = this.random.pick([1, 2, 4].filter((by) => Math.abs(by * step) * trips < 16)) ?? 1;
    const start = `getelementptr (i8, ptr @table, i64 ${this.random.pick([15, 16])})`;
    return { name: `%w${this.names++}`, start, bytes: step * scale };
  }
  private loop(depth: number): void {
    const [head, body, end] = [this.label(), this.label(), this.label()];
    const before = this.block;
    const trips = 1 + this.random.below(4);
    // Up from zero to a limit, or in steps to a number that it is in the end.
    const isExact = this.random.chance(0.5);
    const first = isExact ? this.random.below(20) - 10 : 0;
    const step = isExact ? this.random.pick([-3, -1, 1, 2, 4]) : 1;
    const limit = first + trips * step;
    const start = this.pick("i32");
    this.line(`br label %${head}`);
    this.begin(head);
    const counter = `%i${this.names++}`;
    const carried = `%k${this.names++}`;
    const walker = this.random.chance(0.4) ? this.walker(step, trips) : null;
    // Filled in when the end of the body is known.
    const at = this.lines.length;
    this.lines.push("", "");
    if (walker !== null) this.lines.push("");
    this.value("i32", carried);
    this.line(`%more${counter.slice(1)} = icmp ${isExact ? "ne" : "ult"} i32 ${counter}, ${limit}`);
    this.line(`br i1 %more${counter.slice(1)}, label %${body}, label %${end}`);
    this.begin(body);
    const outer = this.pool;
    this.pool = this.seenFrom("").pool;
    if (this.random.chance(0.5)) this.value("i32", counter);
    if (this.random.chance(0.5)) {
      const predicate = this.random.pick(["slt", "sgt", "ult", "ugt", "eq"]);
      this.emit("i1", `icmp ${predicate} i32 ${counter}, ${limit + this.random.below(5) - 2 - step}`);
    }
    if (walker !== null) this.load({ pointer: walker.name, type: "i8" });
    this.statements(depth);
    if (walker !== null && this.random.chance(0.5)) this.load({ pointer: walker.name, type: "i8" });
    const next = this.emit("i32", `add ${isExact ? "" : "nuw "}i32 ${counter}, ${step}`);
    const last = this.pick("i32");
    this.line(`br label %${head}`);
    this.lines[at] = `  ${counter} = phi i32 [ ${first}, %${before} ], [ ${next}, %${this.block} ]`;
    this.lines[at + 1] = `  ${carried} = phi i32 [ ${start}, %${before} ], [ ${last}, %${this.block} ]`;
    if (walker !== null) {
      this.lines[at + 2] =
        `  ${walker.name} = phi ptr [ ${walker.start}, %${before} ], [ ${walker.name}n, %${this.block} ]`;
      this.lines.splice(
        this.lines.length - 1,
        0,
        `  ${walker.name}n = getelementptr i8, ptr ${walker.name}, i64 ${walker.bytes}`,
      );
    }
    this.pool = outer;
    this.begin(end);
  }
}

export const randomFunction = (random: Random): string => new Writer(random).module();
