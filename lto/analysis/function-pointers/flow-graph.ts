/**
 * Inclusion constraints between pointer values, and their least solution (Andersen, "Program analysis and
 * specialization for the C programming language", 1994), for function addresses and for the memory that holds them.
 *
 * A node stands for the values that one variable can have in the whole run: a parameter, a result, an instruction,
 * a word of an object. Its solution is a set of tokens: functions, and locations (object, byte offset). Objects are
 * internal globals and stack slots of all activations at once. Everything else is the *world*: one object that
 * anything may read and write.
 *
 *   unknown  flag of a node: it may also hold any address that the world knows of, or code outside of the program;
 *   leak     the node of everything the world knows. A function in it can be called by anybody with anything; an
 *            object in it holds anything, and what it holds leaks, too.
 *
 * Offsets within objects are kept; elements of an array are one (offsets modulo the element size), and a location
 * whose offset is not known stands for the whole object. Bytes that are read as something other than a pointer leak
 * what they hold; bytes that are written as something else hold the unknown.
 *
 * Obligations of whoever adds constraints: each way in which an address can get from one node to another, by
 * instructions, constants, memory or calls, is an edge, or leads to `leakNode`, and a value of doubtful origin is
 * `unknownNode`'s. Undefined behaviour (access outside of an object) is assumed absent; data that is called is
 * unknown code.
 *
 * Cost: linear in edges for the unknown; tokens visit a node once each, and no node has more than a few locations
 * of one object.
 */
import { leakNode, noNode, unknownNode } from "./nodes.js";
import { anyScale, ObjectTable, type Range } from "./objects.js";

const enum Edge {
  /** `to` holds what the node holds. */
  Copy,
  /** `to` holds its locations displaced by the operands: bytes, and multiples of a number (0: none). */
  Offset,
  /** `to` is loaded from it as a pointer; `LoadAll`: from any offset. */
  Load,
  LoadAll,
  /** `to` is stored to it as a pointer; `StoreAny`: at any offset. */
  Store,
  StoreAny,
  /** `to` bytes at it are read or written as something that is no pointer; 0: any number, at any offset. */
  ReadBytes,
  WriteBytes,
  /** Call number `to` calls it. */
  Call,
}

/** Any address that the world knows of, or code outside of the program; any address of data in the world. */
const unknownToken = -1;
const worldToken = -2;
/** Tokens of one object in one node; more become one of unknown offset. */
const maxOffsets = 6;
/** Longer sets are searched by hashing. */
const smallSet = 16;

/** What the solver asks about calls and functions. */
export interface CallHandler {
  /** The call may reach this function: to be bound with `connect`. */
  reaches(call: number, fn: number): void;
  /** The call may reach code outside of the program, or any function that leaked. */
  reachesUnknown(call: number): void;
  /** Anybody may call the function. */
  leaks(fn: number): void;
}

export class FlowGraph {
  readonly objects: ObjectTable;
  private head = new Int32Array(1 << 12).fill(-1);
  /** 2: holds what is unknown, which includes data in the world; 1: holds that at most. */
  private flags = new Uint8Array(1 << 12);
  private count = 0;
  /** Edges: next one of the same node, kind, target; of `Offset` also the operands. */
  private edges = new Int32Array(3 << 14);
  private edgeEnd = 0;
  /** Tokens of each node: index in `lists`, 0 for none. */
  private listOf = new Int32Array(1 << 12);
  private readonly lists: number[][] = [[]];
  private readonly large = new Map<number, Set<number>>();
  private readonly workNodes: number[] = [];
  private readonly workTokens: number[] = [];
  private readonly leakedObjects = new Set<number>();
  private handler: CallHandler | null = null;
  /** Holds the address of unknown data. */
  readonly worldNode: number;

  /** @param functions number of functions: their tokens are 0 … functions − 1 */
  constructor(
    private readonly functions: number,
    wordBytes: number,
  ) {
    this.addNodes(2);
    this.objects = new ObjectTable(this, wordBytes);
    this.add(unknownNode, unknownToken);
    this.worldNode = this.addNodes(1);
    this.add(this.worldNode, worldToken);
  }

  /** @returns the first of `n` new nodes */
  addNodes(n: number): number {
    const first = this.count;
    this.count += n;
    if (this.count > this.head.length) {
      const size = Math.max(this.count, 2 * this.head.length);
      const head = new Int32Array(size).fill(-1);
      head.set(this.head);
      this.head = head;
      const flags = new Uint8Array(size);
      flags.set(this.flags);
      this.flags = flags;
      const listOf = new Int32Array(size);
      listOf.set(this.listOf);
      this.listOf = listOf;
    }
    return first;
  }

  // ── Constraints ──

  private edge(kind: Edge, from: number, to: number, bytes = 0, scale = 0): void {
    if (from === noNode) return;
    const index = this.edgeEnd;
    if (index + 5 > this.edges.length) {
      const edges = new Int32Array(2 * this.edges.length);
      edges.set(this.edges);
      this.edges = edges;
    }
    this.edgeEnd += kind === Edge.Offset ? 5 : 3;
    this.edges[index] = this.head[from]!;
    this.edges[index + 1] = kind;
    this.edges[index + 2] = to;
    this.edges[index + 3] = bytes;
    this.edges[index + 4] = scale;
    this.head[from] = index;
    if (this.handler === null) return;
    // A constraint found while solving: what the node holds already goes along.
    if (this.flags[from] !== 0) this.follow(index, this.flags[from] === 2 ? unknownToken : worldToken);
    const known = this.tokensOf(from);
    for (let i = 0; i < known.length; i++) this.follow(index, known[i]!);
  }

  private tokensOf(node: number): readonly number[] {
    return this.lists[this.listOf[node]!]!;
  }

  copy(from: number, to: number): void {
    if (to !== noNode && from !== to) this.edge(Edge.Copy, from, to);
  }
  offset(from: number, to: number, bytes: number, scale: number): void {
    if (bytes === 0 && scale === 0) {
      this.edge(Edge.Copy, from, to);
      return;
    }
    const known = bytes === (bytes | 0) && scale === (scale | 0);
    this.edge(Edge.Offset, from, to, known ? bytes : 0, known ? scale : anyScale);
  }
  load(pointer: number, to: number): void {
    this.edge(Edge.Load, pointer, to);
  }
  loadAll(pointer: number, to: number): void {
    this.edge(Edge.LoadAll, pointer, to);
  }
  store(value: number, pointer: number): void {
    if (value !== noNode) this.edge(Edge.Store, pointer, value);
  }
  storeAny(value: number, pointer: number): void {
    if (value !== noNode) this.edge(Edge.StoreAny, pointer, value);
  }
  readBytes(pointer: number, bytes: number): void {
    this.edge(Edge.ReadBytes, pointer, bytes);
  }
  writeBytes(pointer: number, bytes: number): void {
    this.edge(Edge.WriteBytes, pointer, bytes);
  }
  call(pointer: number, call: number): void {
    this.edge(Edge.Call, pointer, call);
  }
  addFunction(node: number, fn: number): void {
    this.add(node, fn);
  }
  addLocation(node: number, location: number): void {
    this.add(node, this.functions + location);
  }
  leak(node: number): void {
    this.copy(node, leakNode);
  }

  // ── Solution ──

  /** Computes the least solution; constraints that the handler adds on the way are part of it. */
  solve(handler: CallHandler): void {
    this.handler = handler;
    for (const fn of this.tokensOf(leakNode)) handler.leaks(fn);
    for (let node = this.workNodes.pop(); node !== undefined; node = this.workNodes.pop()) {
      const token = this.workTokens.pop()!;
      for (let e = this.head[node]!; e >= 0; e = this.edges[e]!) this.follow(e, token);
    }
  }

  /** Whether a call of what the node holds may reach code that is not among `functionsOf`. */
  callsUnknown(node: number): boolean {
    return this.flags[node] !== 0 || this.tokensOf(node).some((token) => token >= this.functions);
  }
  /** Functions whose addresses a node may hold, in no particular order. */
  functionsOf(node: number): number[] {
    return this.tokensOf(node).filter((token) => token < this.functions);
  }

  private add(node: number, token: number): void {
    if (token < 0) {
      this.addFlag(node, token);
      return;
    }
    if (token >= this.functions) {
      const object = this.objects.objectOf(token - this.functions);
      // What leaked is as good as the rest of the world.
      if (node === leakNode) {
        this.leakObject(object);
        return;
      }
      if (this.leakedObjects.has(object)) {
        this.addFlag(node, worldToken);
        return;
      }
    }
    const added = this.insert(node, token);
    if (added < 0) return;
    this.push(node, added);
    if (node === leakNode) this.handler?.leaks(added);
  }

  private addFlag(node: number, token: number): void {
    const flag = token === unknownToken ? 2 : 1;
    if (this.flags[node]! >= flag) return;
    this.flags[node] = flag;
    this.push(node, token);
  }

  private push(node: number, token: number): void {
    this.workNodes.push(node);
    this.workTokens.push(token);
  }

  /** @returns the token that was inserted, which may be a wider one; -1 if there was nothing to do */
  private insert(node: number, token: number): number {
    if (this.listOf[node] === 0) {
      this.listOf[node] = this.lists.length;
      this.lists.push([]);
    }
    const list = this.lists[this.listOf[node]!]!;
    if (this.holds(node, list, token)) return -1;
    let added = token;
    if (token >= this.functions && list.length >= maxOffsets) {
      added = this.widened(list, token);
      if (added !== token && this.holds(node, list, added)) return -1;
    }
    list.push(added);
    if (list.length > smallSet) {
      const set = this.large.get(node);
      if (set === undefined) this.large.set(node, new Set(list));
      else set.add(added);
    }
    return added;
  }

  private holds(node: number, list: readonly number[], token: number): boolean {
    return list.length > smallSet ? this.large.get(node)!.has(token) : list.includes(token);
  }

  /** A location of unknown offset, if the list has many of the object already. */
  private widened(list: readonly number[], token: number): number {
    const { objects, functions } = this;
    const object = objects.objectOf(token - functions);
    let same = 0;
    for (const other of list)
      if (other >= functions && objects.objectOf(other - functions) === object) same++;
    return same < maxOffsets ? token : functions + objects.anywhere(object);
  }

  /** Gives an object to the world. */
  leakObject(object: number): void {
    if (this.leakedObjects.has(object)) return;
    this.leakedObjects.add(object);
    this.copy(this.objects.everything(object), leakNode);
    this.copy(unknownNode, this.objects.anything(object));
  }

  /** What a token in a node means for one of its edges. */
  private follow(e: number, token: number): void {
    const kind: Edge = this.edges[e + 1]!;
    const to = this.edges[e + 2]!;
    if (kind === Edge.Copy) this.add(to, token);
    else if (kind === Edge.Call) {
      // What is called is code, whatever it is declared as: defined in assembly, or made at run time.
      if (token < 0 || token >= this.functions) this.handler?.reachesUnknown(to);
      else this.handler?.reaches(to, token);
    } else if (token < 0) this.followUnknown(kind, to, token);
    else if (token >= this.functions) this.followLocation(e, kind, to, token - this.functions);
    // Code is not data: what is read from it is anything.
    else if (kind <= Edge.LoadAll) this.add(to, unknownToken);
    else if (kind <= Edge.StoreAny) this.leak(to);
    if (token >= 0 && token < this.functions && kind === Edge.Offset) this.add(leakNode, token);
  }

  private followUnknown(kind: Edge, to: number, token: number): void {
    switch (kind) {
      case Edge.Offset:
        this.add(to, token);
        break;
      case Edge.Load:
      case Edge.LoadAll:
        this.add(to, unknownToken);
        break;
      case Edge.Store:
      case Edge.StoreAny:
        this.leak(to);
        break;
    }
  }

  private followLocation(e: number, kind: Edge, to: number, location: number): void {
    const { objects } = this;
    switch (kind) {
      case Edge.Offset:
        this.addLocation(to, objects.displaced(location, this.edges[e + 3]!, this.edges[e + 4]!));
        break;
      case Edge.Load: {
        const word = objects.wordAt(location);
        this.copy(word === noNode ? objects.everything(objects.objectOf(location)) : word, to);
        break;
      }
      case Edge.LoadAll:
        this.copy(objects.everything(objects.objectOf(location)), to);
        break;
      case Edge.Store: {
        const word = objects.wordAt(location);
        this.copy(to, word === noNode ? objects.anything(objects.objectOf(location)) : word);
        break;
      }
      case Edge.StoreAny:
        this.copy(to, objects.anything(objects.objectOf(location)));
        break;
      case Edge.ReadBytes:
        this.touchBytes(objects.read(location, to), leakNode, -1);
        break;
      case Edge.WriteBytes:
        this.touchBytes(objects.written(location, to), -1, unknownNode);
        break;
    }
  }

  /** Connects words that bytes were read from with `to`, words that were written with `from`. */
  private touchBytes({ words, object }: Range, to: number, from: number): void {
    if (object >= 0) {
      if (to >= 0) this.copy(this.objects.everything(object), to);
      else this.copy(from, this.objects.anything(object));
    }
    for (const word of words)
      if (to >= 0) this.copy(word, to);
      else this.copy(from, word);
  }
}
