/** How often bodies are decoded: a link in one thread decodes each once, whether passes change it or not. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { link } from "../../bin/api.js";
import { bodyCodec, EncodedBody, inMemoryCodec, RestingBody } from "../../formats/object/body-codec.js";
import { readObjectContents, writeObject } from "../../formats/object/index.js";
import { parseModule } from "../../formats/text/index.js";
import { BodyPool } from "../../lto/ir/body-pool.js";
import type { Body } from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";

const target = `target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
@state = internal global i32 0
declare void @use(i32)
`;
/** What no pass changes. */
const stable = `define internal i32 @one(i32 %a) noinline optsize {
  %r = load volatile i32, ptr @state
  call void @use(i32 %r)
  %s = add i32 %r, %a
  %t = xor i32 %s, 1
  ret i32 %t
}
define internal i32 @two(i32 %a) noinline optsize {
  call void @use(i32 %a)
  %r = load volatile i32, ptr @state
  store volatile i32 %a, ptr @state
  %s = mul i32 %r, %a
  call void @use(i32 %s)
  ret i32 %s
}
`;
const changed = `define i32 @main(i32 %n) optsize {
  %r = call i32 @one(i32 %n)
  %s = call i32 @two(i32 %r)
  %x = mul i32 %s, 1
  ret i32 %x
}
`;
const objectOf = (text: string): Uint8Array => writeObject(parseModule(text, "a.ll"));

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a link", () => {
  it("decodes each body once, those that passes change too", async () => {
    const counts = new Map<string, number>();
    const count = (source: { decode(fn: Func): Body }): void => {
      const { decode } = source;
      vi.spyOn(source, "decode").mockImplementation(function (this: typeof source, fn: Func) {
        counts.set(fn.name, (counts.get(fn.name) ?? 0) + 1);
        return decode.call(this, fn);
      });
    };
    count(EncodedBody.prototype);
    count(RestingBody.prototype);
    const bytes = objectOf(target + stable + changed);
    const { text } = await link([{ name: "a.o", bytes }]);
    expect(text).toContain("two:");
    expect(Object.fromEntries(counts)).toEqual({ one: 1, two: 1, main: 1 });
  });
});

describe("the pool", () => {
  const functions = (): Func[] =>
    readObjectContents(objectOf(target + stable + changed), "a.o").module.functions.filter(
      (fn) => !fn.isDeclaration,
    );

  it("keeps what fits, first come, first served", () => {
    const [one, two, main] = functions();
    const pool = new BodyPool(11);
    for (const fn of [one!, two!, main!]) {
      fn.view();
      pool.rest(fn);
    }
    expect([one, two, main].map((fn) => fn!.isDecoded)).toEqual([true, true, false]);
    // One that is there already does not count twice.
    pool.rest(two!);
    expect(two!.isDecoded).toBe(true);
    pool.empty();
    expect([one, two].map((fn) => fn!.isDecoded)).toEqual([false, false]);
    main!.view();
    pool.rest(main!);
    expect(main!.isDecoded).toBe(true);
  });

  it("encodes what comes from a foreign source once, so that it is not read from there again", () => {
    const [one, two] = functions();
    const pool = new BodyPool(0);
    const own = one!.source!;
    const foreign = { isForeign: true, decode: vi.fn((fn: Func) => own.decode(fn)) };
    one!.defineEncoded(foreign);
    const codec = inMemoryCodec();
    const { revision } = one!;
    for (let i = 0; i < 3; i++) {
      one!.view();
      pool.rest(one!, codec);
      expect(one!.isDecoded).toBe(false);
    }
    expect(foreign.decode).toHaveBeenCalledTimes(1);
    expect(one!.revision).toBe(revision);
    const { source } = two!;
    two!.view();
    pool.rest(two!, codec);
    expect(two!.source).toBe(source);
  });

  it("keeps a changed body, without its use lists, or encodes it", () => {
    const [one, two] = functions();
    const pool = new BodyPool(5);
    one!.edit();
    pool.rest(one!, bodyCodec());
    expect(one!.source).toBeNull();
    expect(one!.view()).toHaveProperty("editor", null);
    two!.edit();
    pool.rest(two!);
    expect(two!.source).toBeNull();
    pool.rest(two!, bodyCodec());
    expect(two!.isDecoded).toBe(false);
    expect(two!.source).not.toBeNull();
  });
});
