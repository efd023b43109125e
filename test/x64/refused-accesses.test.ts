/** Accesses and operands that would silently mean something else are refused. */
import { describe, expect, it } from "vitest";
import { compile, link } from "../ipra/compile.js";

const message = (text: string): string => {
  try {
    compile(link(text));
    return "";
  } catch (e) {
    return (e as Error).message;
  }
};
const main = (parameters: string, body: string): string =>
  `define i64 @main(${parameters}) {\n${body}\n  ret i64 0\n}\n`;

describe("atomic accesses", () => {
  const operations: Record<string, (type: string, align: number) => string> = {
    load: (type, align) => `  %r = load atomic ${type}, ptr %p seq_cst, align ${align}`,
    store: (type, align) => `  store atomic ${type} 1, ptr %p seq_cst, align ${align}`,
    "relaxed store": (type, align) => `  store atomic ${type} 1, ptr %p monotonic, align ${align}`,
    cmpxchg: (type, align) => `  %r = cmpxchg ptr %p, ${type} 1, ${type} 2 seq_cst seq_cst, align ${align}`,
    atomicrmw: (type, align) => `  %r = atomicrmw add ptr %p, ${type} 1 seq_cst, align ${align}`,
    "atomicrmw by a loop": (type, align) => `  %r = atomicrmw nand ptr %p, ${type} 1 seq_cst, align ${align}`,
  };
  it.each(Object.keys(operations))("%s", (name) => {
    const made = operations[name]!;
    for (const [bits, size] of [
      [16, 2],
      [32, 4],
      [64, 8],
      [128, 16],
    ] as const) {
      expect(message(main("ptr %p", made(`i${bits}`, size))), `i${bits}`).toBe("");
      expect(message(main("ptr %p", made(`i${bits}`, size / 2))), `i${bits}`).toMatch(
        /^unsupported: atomic access of .* aligned to \d only \(in (@main|function 'main')\)$/,
      );
    }
  });
});

it.each([270, 271])("pointers of 32 bits: address space %d", (space) => {
  const text = main(`ptr addrspace(${space}) %p`, `  %r = load volatile i32, ptr addrspace(${space}) %p`);
  expect(message(text)).toMatch(new RegExp(`^unsupported: 32-bit pointer \\(address space ${space}\\)`));
});

describe("operands of inline assembly", () => {
  const asm = (constraint: string, type: string): string =>
    main("", `  %r = call ${type} asm sideeffect "nop $0", "=${constraint}"()`);
  it.each(["k", "^Yk", "y"])("%s", (constraint) => {
    expect(message(asm(constraint, "i64"))).toBe(
      `unsupported: inline assembly constraint '${constraint}' (in function 'main')`,
    );
  });
  it("^Yz is the first vector register", () => {
    const { assembly } = compile(link(asm("^Yz", "<2 x i64>")));
    expect(assembly).toContain("nop %xmm0");
    expect(message(asm("^Yi", "<2 x i64>"))).toBe("");
  });
});
