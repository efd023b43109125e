/** A link's cache whose code goes to others, too: what this link makes they need not make. */
import { encodeEntry } from "../../formats/unit/entry.js";
import type { CodeCache, CodeEntry, FunctionIdentity } from "../../lto/codegen/program/code-cache.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import type { CodeStore } from "./engine.js";

export class KeptCache implements CodeCache {
  constructor(
    private readonly own: CodeCache,
    private readonly store: CodeStore,
  ) {}

  identify(fn: Func): FunctionIdentity | null {
    return this.own.identify(fn);
  }
  headerOf(symbol: GlobalValue): string {
    return this.own.headerOf(symbol);
  }
  find(name: string): GlobalValue | undefined {
    return this.own.find(name);
  }
  keyOf(digest: string, cacheKeyInputs: readonly number[]): string {
    return this.own.keyOf(digest, cacheKeyInputs);
  }
  has(key: string): boolean {
    return this.own.has(key);
  }
  get(key: string): CodeEntry | undefined {
    return this.own.get(key);
  }
  put(key: string, entry: CodeEntry): void {
    this.own.put(key, entry);
    this.store.keep(key, encodeEntry(entry));
  }
}
