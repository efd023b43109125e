/** Malformed input: nothing but InputError comes out, quickly and without much memory. */

import { describe, expect, test } from "vitest";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import { Random } from "../support/random.js";
import { BitWriter, basicTypes, moduleFile } from "./bit-writer.js";
import { fixtureBytes } from "./fixture.js";

/** Reads everything, all bodies twice. */
function readAll(bytes: Uint8Array): void {
  for (const module of readBitcode(bytes, "hostile.bc"))
    for (const fn of module.functions)
      if (!fn.isDeclaration) {
        fn.view();
        fn.release();
        fn.view();
      }
}

/** A variable of type i32 with the initialiser of value id `init - 1`, named by the first byte of the names. */
const variable = (w: BitWriter, type: number, init: number): BitWriter =>
  w.record(7, 0, 1, type, 2, init, 0, 0, 0);

describe("crafted modules", () => {
  const rejects = (what: string | RegExp, content: (w: BitWriter) => void, names = "abcd"): void => {
    let caught: unknown;
    try {
      readAll(moduleFile(content, names));
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(InputError);
    expect((caught as InputError).message).toMatch(what);
  };

  test("the frame of these tests is sound", () => {
    readAll(
      moduleFile((w) => {
        basicTypes(w);
        variable(w, 0, 3);
        w.record(8, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0);
        w.block(11, () => w.record(1, 0).record(4, 14));
        w.block(12, () => w.record(1, 1).record(2, 1, 1, 0).record(10, 1));
      }, "ab").slice(),
    );
  });

  test("a type that contains itself", () => {
    rejects("contains itself", (w) => {
      w.block(17, () => w.record(1, 2).record(20, 0, 1).record(20, 0, 0));
      variable(w, 0, 0);
    });
  });

  test("types nested too deeply", () => {
    rejects("nested too deeply", (w) => {
      w.block(17, () => {
        w.record(7, 8);
        for (let i = 0; i < 5000; i++) w.record(11, 1, i);
      });
      variable(w, 5000, 0);
    });
  });

  test("a type whose size does not exist", () => {
    rejects("too large", (w) => {
      w.block(17, () =>
        w
          .record(7, 8)
          .record(11, 2 ** 40, 0)
          .record(11, 2 ** 40, 1),
      );
      variable(w, 2, 0);
    });
  });

  test("an exponentially large empty type", () => {
    rejects("too large", (w) => {
      w.block(17, () => {
        w.record(18, 0);
        for (let i = 0; i < 100; i++) w.record(18, 0, i, i);
      });
      variable(w, 100, 0);
    });
  });

  test("a count of types that are not there", () => {
    rejects("undefined type 7", (w) => {
      w.block(17, () => w.record(1, 2 ** 40).record(7, 32));
      variable(w, 7, 0);
    });
  });

  test("a constant that contains itself", () => {
    rejects("contains itself", (w) => {
      w.block(17, () => w.record(25, 0).record(18, 0, 0));
      variable(w, 0, 2);
      w.block(11, () => w.record(1, 0).record(10, 0, 1, 1).record(11, 11, 0, 1));
    });
  });

  test("constants nested too deeply", () => {
    rejects("nested too deeply", (w) => {
      w.block(17, () => w.record(25, 0).record(7, 8));
      variable(w, 0, 2);
      w.block(11, () => {
        w.record(1, 0);
        for (let i = 1; i <= 2000; i++) w.record(32, 1, 0, 0, i + 1);
        w.record(2);
      });
    });
  });

  test("an exponentially large constant", () => {
    rejects("too large", (w) => {
      const depth = 40;
      basicTypes(w);
      variable(w, 0, depth + 2);
      w.block(11, () => {
        // Each constant adds the one before to itself.
        w.record(1, 0).record(4, 2);
        for (let i = 1; i <= depth; i++) w.record(10, 0, i, i);
      });
    });
  });

  test("aliases in a circle", () => {
    rejects("stands for itself", (w) => {
      basicTypes(w);
      w.record(14, 0, 1, 0, 0, 1, 0, 0).record(14, 1, 1, 0, 0, 0, 0, 0);
    });
  });

  test("an initialiser of another type", () => {
    rejects("another type", (w) => {
      basicTypes(w);
      variable(w, 0, 2);
      w.block(11, () => w.record(1, 1).record(2));
    });
  });

  test("a name outside the string table", () => {
    rejects("outside the string table", (w) => {
      basicTypes(w);
      w.record(7, 3, 100, 0, 2, 0, 0, 0, 0);
    });
  });

  test("names that add up to far more than the string table", () => {
    rejects("names overlap", (w) => {
      basicTypes(w);
      for (let i = 0; i < 100; i++) w.record(7, 0, 4, 0, 2, 0, 0, 0, 0);
    });
  });

  test("functions without bodies and bodies without functions", () => {
    rejects("1 functions but 0 bodies", (w) => {
      basicTypes(w);
      w.record(8, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0);
    });
    rejects("0 functions but 1 bodies", (w) => {
      basicTypes(w);
      w.block(12, () => w.record(1, 1).record(10));
    });
  });

  const body = (what: string | RegExp, content: (w: BitWriter) => void): void =>
    rejects(what, (w) => {
      basicTypes(w);
      w.record(8, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0);
      w.block(12, () => content(w));
    });

  test("bodies", () => {
    body("number of blocks", (w) => w.record(1, 2 ** 31).record(10, 1));
    body("number of blocks", (w) => w.record(1, 0));
    body("block without terminator", (w) => w.record(1, 2).record(10, 1));
    body("outside any block", (w) => w.record(1, 1).record(10, 1).record(10, 1));
    body("outside any block", (w) => w.record(10, 1));
    body("undefined block", (w) => w.record(1, 1).record(11, 5));
    body("branch to the entry", (w) => w.record(1, 1).record(11, 0));
    body("later value", (w) =>
      w
        .record(1, 1)
        .record(2, 2 ** 32 - 9, 0, 2 ** 32 - 9, 0)
        .record(10, 1),
    );
    body("too few operands", (w) => w.record(1, 1).record(2, 1));
    body("phi", (w) => w.record(1, 1).record(16, 0, 2, 0).record(10, 1));
    body("operand of type ptr", (w) => w.record(1, 1).record(2, 1, 2, 0).record(10, 1));
    body("ret", (w) => w.record(1, 1).record(10, 2));
    body("undefined type", (w) => w.record(1, 1).record(19, 99, 0, 1, 64).record(10, 1));
    body("tag of an operand bundle", (w) => {
      w.record(1, 1);
      w.record(55, 0);
    });
  });

  test("constructs that are not supported are named", () => {
    const unsupported = (construct: string, code: number): void => {
      try {
        readAll(
          moduleFile((w) => {
            basicTypes(w);
            w.record(8, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0);
            w.block(12, () => w.record(1, 1).record(code, 1));
          }, "f"),
        );
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(UnsupportedError);
        expect((error as UnsupportedError).construct).toBe(construct);
      }
    };
    unsupported("cleanupret", 48);
    unsupported("catchswitch", 52);
    unsupported("instruction record 200", 200);
  });
});

describe("crafted containers", () => {
  const rejects = (what: string, content: (w: BitWriter) => void): void => {
    const writer = new BitWriter();
    content(writer);
    expect(() => readAll(writer.bytes())).toThrow(what);
  };
  const inModule = (content: (w: BitWriter) => void) => (w: BitWriter) => {
    w.block(8, () => content(w));
  };

  test("a record of more operands than bits", () => {
    rejects(
      "unexpected end",
      inModule((w) =>
        w
          .fixed(3, 3)
          .vbr(5, 6)
          .vbr(2 ** 31, 6),
      ),
    );
  });

  test("an array of more elements than bits", () => {
    rejects(
      "unexpected end",
      inModule((w) => {
        w.define(3).fixed(1, 1).vbr(5, 8).fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(4, 3);
        w.use(4).vbr(2 ** 31, 6);
      }),
    );
  });

  test("an array of elements without bits", () => {
    rejects(
      "misplaced array",
      inModule((w) =>
        w.define(3).fixed(1, 1).vbr(5, 8).fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(1, 3).vbr(0, 5),
      ),
    );
  });

  test("an abbreviation of many literals", () => {
    rejects(
      "too many literals",
      inModule((w) => {
        w.define(100);
        for (let i = 0; i < 100; i++) w.fixed(1, 1).vbr(5, 8);
      }),
    );
  });

  test("a blob that is longer than its block", () => {
    rejects(
      "unexpected end",
      inModule((w) =>
        w
          .defineBlob(5)
          .use(4)
          .vbr(2 ** 30, 6),
      ),
    );
  });

  test("an undefined abbreviation, a number without end, a stray end", () => {
    rejects(
      "undefined abbreviation",
      inModule((w) => w.use(7)),
    );
    rejects(
      "more than 64 bits",
      inModule((w) => {
        w.fixed(3, 3);
        for (let i = 0; i < 40; i++) w.fixed(32, 6);
      }),
    );
    rejects("end of block outside any block", (w) => w.fixed(0, 64));
  });
});

/** Deterministic numbers (Numerical Recipes' linear congruential generator). */
function mutate(base: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  const bytes = base.slice();
  switch (random.below(4)) {
    case 0:
    case 1:
      for (let n = 1 + random.below(4); n > 0; n--)
        bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      return bytes;
    case 2:
      return bytes.subarray(0, random.below(bytes.length));
    default: {
      const at = random.below(bytes.length);
      const from = random.below(other.length);
      const length = Math.min(1 + random.below(64), bytes.length - at, other.length - from);
      bytes.set(other.subarray(from, from + length), at);
      return bytes;
    }
  }
}

test("mutated files are rejected properly or read completely", () => {
  const inputs = [
    ...["constructs-15.bc", "constructs-19.bc", "constructs-22.bc", "debug-15.bc", "debug-22.bc"],
    ...["older-15.bc", "newer-22.bc", "split-19.bc", "typed-pointers-14.bc"],
  ].map((name) => new Uint8Array(fixtureBytes(name)));
  const random = new Random(20241);
  let rejected = 0;
  for (let i = 0; i < 1500; i++) {
    const bytes = mutate(inputs[random.below(inputs.length)]!, inputs[random.below(inputs.length)]!, random);
    try {
      readAll(bytes);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      rejected++;
    }
  }
  expect(rejected).toBeGreaterThan(500);
  expect(rejected).toBeLessThan(1500);
});
