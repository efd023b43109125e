/** Folders and tokens that are not the user's alone are not used. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isEligible } from "../../bin/serve/eligible.js";
import { type Place, placeOf, readToken, Unusable } from "../../bin/serve/place.js";

let folder: string;
let bundles: string;
const before = { ...process.env };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "place-"));
  bundles = join(folder, "bundles");
  for (const command of ["lto", "cc", "ld"]) build(command, "one");
  mkdirSync(join(folder, "run"), { mode: 0o700 });
  process.env["XDG_RUNTIME_DIR"] = join(folder, "run");
});

afterEach(() => {
  for (const name of ["XDG_RUNTIME_DIR", "NODE_OPTIONS"])
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  rmSync(folder, { recursive: true, force: true });
});

function build(command: string, contents: string): void {
  mkdirSync(join(bundles, command), { recursive: true });
  writeFileSync(join(bundles, command, "bundle.cjs"), `/*${contents.padEnd(40)}*/`);
}

const own = (): string => join(folder, "run/tsc-lto");

describe("a folder", () => {
  it("is made for the user alone", () => {
    expect(placeOf(bundles).folder).toBe(own());
    expect(placeOf(bundles).folder).toBe(own());
  });

  it("that others can enter is refused", () => {
    mkdirSync(own());
    chmodSync(own(), 0o710);
    expect(() => placeOf(bundles)).toThrow(/open to others; it must have mode 0700/);
  });

  it("that is a link or a file is refused", () => {
    mkdirSync(join(folder, "other"), { mode: 0o700 });
    symlinkSync(join(folder, "other"), own());
    expect(() => placeOf(bundles)).toThrow(/not a folder/);
    rmSync(own());
    writeFileSync(own(), "");
    expect(() => placeOf(bundles)).toThrow(/not a folder/);
  });

  it("that others can replace is refused, unless they may only remove what is theirs", () => {
    chmodSync(join(folder, "run"), 0o777);
    expect(() => placeOf(bundles)).toThrow(/others could put another folder/);
    chmodSync(join(folder, "run"), 0o1777);
    expect(placeOf(bundles).folder).toBe(own());
  });

  it("whose path is too long for a socket is refused", () => {
    const long = join(folder, "run", "l".repeat(100));
    mkdirSync(long);
    process.env["XDG_RUNTIME_DIR"] = long;
    expect(() => placeOf(bundles)).toThrow(/too long/);
  });
});

describe("a name", () => {
  it("is another for another build of any command, another place and other options of Node", () => {
    const names = new Set([placeOf(bundles).name]);
    for (const command of ["lto", "cc", "ld"]) {
      build(command, "two");
      names.add(placeOf(bundles).name);
    }
    process.env["NODE_OPTIONS"] = "--no-warnings";
    names.add(placeOf(bundles).name);
    expect(names.size).toBe(5);
  });

  it("needs bundles", () => {
    rmSync(join(bundles, "ld"), { recursive: true });
    expect(() => placeOf(bundles)).toThrow(Unusable);
  });
});

describe("a token", () => {
  const halves = ["0".repeat(32), "f".repeat(32)];
  let place: Place;
  beforeEach(() => {
    place = placeOf(bundles);
    writeFileSync(place.token, halves.join(""), { mode: 0o600 });
  });

  it("is read", () => expect(readToken(place)).toEqual(halves));

  it("that others can read is refused", () => {
    chmodSync(place.token, 0o640);
    expect(() => readToken(place)).toThrow(Unusable);
  });

  it("that is too short, or a link, is refused", () => {
    writeFileSync(place.token, "0123");
    expect(() => readToken(place)).toThrow(Unusable);
    rmSync(place.token);
    symlinkSync("/etc/passwd", place.token);
    expect(() => readToken(place)).toThrow();
  });
});

describe("a command line", () => {
  it.each([
    [true, "a.o -o a.s"],
    [true, "a.o -o -"],
    [true, "a.o -o /dev/null"],
    [false, "- -o a.s"],
    [false, "a.o -o /dev/stdout"],
    [false, "a.o --version-script=/dev/fd/63"],
    [false, "@/dev/fd/63"],
    [false, "/proc/self/fd/0"],
    [false, "/dev/zero"],
    [false, "size a.o"],
    [false, "serve"],
  ])("is the service's business: %s %s", (expected, words) =>
    expect(isEligible("lto", words.split(" "), true)).toBe(expected),
  );

  it("with large inputs is, where it is always asked", () => {
    const large = join(folder, "large.o");
    writeFileSync(large, Buffer.alloc(9e6));
    expect([true, false].map((always) => isEligible("lto", [large], always))).toEqual([true, false]);
  });
});
