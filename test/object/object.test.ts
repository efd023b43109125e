import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { splitObjects } from "../../formats/object/container.js";
import {
  formatVersion,
  isObject,
  readObject,
  readObjectContents,
  readSummary,
  writeObject,
} from "../../formats/object/index.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { summarizeModule } from "../../lto/analysis/summary.js";
import { InputError } from "../../lto/ir/errors.js";
import { Random } from "../support/random.js";
import { dumpModule, Generator } from "./random-module.js";

const seeds = Array.from({ length: 60 }, (_, i) => i + 1);

describe("IR objects", () => {
  it("give back the module that was written", () => {
    for (const seed of seeds) {
      const module = new Generator(seed).run();
      const bytes = writeObject(module);
      expect(isObject(bytes)).toBe(true);
      expect(dumpModule(readObject(bytes, "a.o")), `seed ${seed}`).toBe(dumpModule(module));
    }
  });

  it("have the same bytes for the same module, also after a round trip", () => {
    for (const seed of seeds) {
      const bytes = writeObject(new Generator(seed).run());
      expect(writeObject(new Generator(seed).run())).toEqual(bytes);
      expect(writeObject(readObject(bytes, "a.o"))).toEqual(bytes);
    }
  });

  it("hold the summary that the module has", () => {
    for (const seed of seeds) {
      const module = new Generator(seed).run();
      const stored = readSummary(writeObject(module), "a.o");
      const computed = summarizeModule(module);
      expect(stored.symbols.map((s) => ({ ...s, hash: "" }))).toEqual(computed.symbols);
      expect(stored.symbols[0]!.hash).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  it("copy bodies that are not decoded, and then decode none", () => {
    for (const seed of seeds.slice(0, 20)) {
      const bytes = writeObject(new Generator(seed).run());
      const { module, summary } = readObjectContents(bytes, "a.o");
      for (const fn of module.functions)
        if (fn.source !== null)
          fn.source.decode = () => {
            throw new Error("decoded");
          };
      expect(writeObject(module, summary)).toEqual(bytes);
    }
  });

  it("decode bodies only on demand", () => {
    const { module } = readObjectContents(writeObject(new Generator(3).run()), "a.o");
    const fn = module.functions[0]!;
    expect(fn.isDecoded).toBe(false);
    expect(fn.isDeclaration).toBe(false);
    fn.view();
    fn.release();
    expect(fn.isDecoded).toBe(false);
  });

  it("are refused when foreign, newer, truncated or padded", () => {
    const bytes = writeObject(new Generator(1).run());
    const fails = (data: Uint8Array, message: RegExp): void => {
      const read = (): unknown => readObject(data, "bad.o");
      expect(read).toThrow(InputError);
      expect(read).toThrow(message);
      try {
        read();
      } catch (error) {
        expect((error as InputError).file).toBe("bad.o");
      }
    };
    fails(new Uint8Array(0), /not an IR object/);
    fails(new TextEncoder().encode("BC\xc0\xde and so on, long enough to be"), /not an IR object/);
    for (const length of [8, 20, 30, 100, bytes.length - 1]) fails(bytes.slice(0, length), /truncated/);
    fails(new Uint8Array([...bytes, 0]), /trailing/);
    const newer = bytes.slice();
    newer[8] = formatVersion + 1;
    fails(newer, /newer than this program/);
    // Their headers were shorter, so where one ends they do not say.
    for (let version = 1; version < formatVersion; version++) {
      const older = bytes.slice();
      older[8] = version;
      fails(older, new RegExp(`format ${version} is older than this program.*: compile it again`));
      expect(() => splitObjects(Buffer.concat([older, older]))).toThrow(/older than this program/);
    }
  });

  /**
   * Objects that a build with this version of the format has written: constructs of all kinds, and debug information. When a build
   * reads or writes them otherwise, raise `formatVersion` and make them anew: BLESS=1, which replaces none of the same version.
   */
  it("are the same for all builds with one version of the format", () => {
    const folder = join(import.meta.dirname, "../../fixtures/object");
    const file = join(folder, `version-${formatVersion}.o`);
    if (process.env["BLESS"] === "1" && !existsSync(file)) {
      const debug = readBitcode(readFileSync(join(folder, "debug.bc")), "debug.bc");
      const modules = [...[1, 2, 3, 4, 5, 6].map((seed) => new Generator(seed).run()), ...debug];
      writeFileSync(file, Buffer.concat(modules.map((module) => writeObject(module))));
    }
    const objects = splitObjects(readFileSync(file));
    expect(objects.length).toBe(7);
    for (const bytes of objects) {
      const module = readObject(bytes, file);
      for (const fn of module.functions) if (!fn.isDeclaration) fn.rewrite();
      expect(Buffer.from(writeObject(module)).equals(bytes)).toBe(true);
    }
  });

  it("give a module or an InputError for any damaged bytes", () => {
    const random = new Random(42);
    const outcomes = { read: 0, refused: 0 };
    for (let round = 0; round < 6000; round++) {
      if (round % 300 === 0) originals.push(writeObject(new Generator(1000 + round).run()));
      const bytes = random.pick(originals).slice();
      for (let i = 1 + random.below(3); i > 0; i--) {
        const at = 24 + random.below(bytes.length - 24);
        bytes[at] = random.oneIn(3) ? random.below(256) : bytes[at]! ^ (1 << random.below(8));
      }
      try {
        const { module } = readObjectContents(bytes, "bad.o");
        for (const fn of module.functions) if (!fn.isDeclaration) fn.view();
        dumpModule(module);
        outcomes.read++;
      } catch (error) {
        if (!(error instanceof InputError)) throw new Error(`round ${round}: ${(error as Error).stack}`);
        outcomes.refused++;
      }
    }
    expect(outcomes.read).toBeGreaterThan(100);
    expect(outcomes.refused).toBeGreaterThan(1000);
  });
});

const originals: Uint8Array[] = [];
