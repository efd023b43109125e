/** The program as a tree of directories, files and functions, and what its parts are worth by what is measured. */
import type { PageData } from "../../formats/size-report/page-data.js";

export interface Node {
  readonly name: string;
  /** Null: the whole. */
  readonly parent: Node | null;
  /** Empty for functions and variables. */
  readonly children: Node[];
  /** Among the leaves of the data; -1 for directories and files. */
  readonly leaf: number;
  bytes: number;
  before: number;
  /** Leaves in it. */
  count: number;
  /** Of the file, for its colour; -1 above. */
  file: number;
}

const makeNode = (name: string, parent: Node | null, leaf: number, file: number): Node => ({
  name,
  parent,
  children: [],
  leaf,
  bytes: 0,
  before: 0,
  count: 0,
  file,
});

export class Tree {
  readonly root: Node;
  /** By leaf. */
  readonly leaves: Node[] = [];
  readonly hasBefore: boolean;

  constructor(private readonly data: PageData) {
    this.root = makeNode(data.program, null, -1, -1);
    this.hasBefore = data.before !== null;
    const known = new Map<string, Node>();
    const files = data.files.map((file, number) => {
      let at = this.root;
      let path = "";
      const parts = file.split("/").filter((part) => part !== "" && part !== ".");
      parts.forEach((part, i) => {
        path += `/${part}`;
        const isFile = i === parts.length - 1;
        const key = isFile ? `${path}/` : path;
        let child = known.get(key);
        if (child === undefined) {
          known.set(key, (child = makeNode(part, at, -1, isFile ? number : -1)));
          at.children.push(child);
        }
        at = child;
      });
      return at;
    });
    data.leaves.names.forEach((name, leaf) => {
      const file = files[data.leaves.files[leaf]!]!;
      const node = makeNode(name, file, leaf, data.leaves.files[leaf]!);
      file.children.push(node);
      this.leaves.push(node);
    });
    collapse(this.root);
  }

  /** Sums what is measured. @param use one of the data's, or "loaded" for all */
  measure(use: string): void {
    const { uses, leaves } = this.data;
    const at = (uses as readonly string[]).indexOf(use);
    const chosen = (columns: readonly (readonly number[])[]): readonly (readonly number[])[] =>
      at < 0 ? columns : columns.length === 0 ? [] : [columns[at]!];
    const bytes = chosen(leaves.bytes);
    const grown = chosen(leaves.grown);
    const visit = (node: Node): void => {
      if (node.leaf >= 0) {
        node.bytes = 0;
        for (const column of bytes) node.bytes += column[node.leaf]!;
        node.before = node.bytes;
        for (const column of grown) node.before -= column[node.leaf]!;
        node.count = node.bytes > 0 ? 1 : 0;
        return;
      }
      node.bytes = node.before = node.count = 0;
      for (const child of node.children) {
        visit(child);
        node.bytes += child.bytes;
        node.before += child.before;
        node.count += child.count;
      }
    };
    visit(this.root);
  }

  /** As deep as the path leads. */
  find(path: readonly string[]): Node {
    let at = this.root;
    for (const part of path) {
      const next = at.children.find(({ name }) => name === part);
      if (next === undefined) break;
      at = next;
    }
    return at;
  }
}

/** Directories with nothing but one directory in them become one. */
function collapse(node: Node): void {
  node.children.forEach((child, i) => {
    let at = child;
    let name = child.name;
    while (at.file < 0 && at.children.length === 1 && at.children[0]!.leaf < 0) {
      at = at.children[0]!;
      name = `${name}/${at.name}`;
    }
    if (at !== child) {
      const whole = { ...at, name, parent: node };
      for (const inner of whole.children) (inner as { parent: Node }).parent = whole;
      node.children[i] = whole;
    }
    collapse(node.children[i]!);
  });
}

export function pathOf(node: Node): string[] {
  const path: string[] = [];
  for (let at = node; at.parent !== null; at = at.parent) path.unshift(at.name);
  return path;
}

export function* leavesIn(node: Node): Iterable<Node> {
  if (node.leaf >= 0) yield node;
  else for (const child of node.children) yield* leavesIn(child);
}
