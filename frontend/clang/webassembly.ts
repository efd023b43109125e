/**
 * The part of the WebAssembly JavaScript API that is used here, typed by hand: the project's `lib` setting has no
 * DOM types, and Node's types do not declare it.
 */

/** Compiled code. Posting one to a worker thread shares the code. */
export interface WasmModule {
  readonly __brand: "WebAssembly.Module";
}
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}
export interface WasmInstance {
  readonly exports: Readonly<Record<string, unknown>>;
}
export type WasmImports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface WasmApi {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  readonly Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance;
}

export const WebAssembly = (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;
