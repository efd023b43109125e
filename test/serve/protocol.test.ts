/** Frames and requests as they arrive from anybody. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameReader, frame, kinds, ProtocolError, parseRequest } from "../../bin/serve/protocol.js";

describe("frames", () => {
  it("are the same however they are cut", () => {
    const kind = fc.constantFrom(...Object.values(kinds));
    const frames = fc.array(fc.record({ kind, contents: fc.uint8Array({ maxLength: 40 }) }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(frames, fc.array(fc.nat(30), { minLength: 1 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(({ kind: each, contents }) => frame(each, contents)));
        const reader = new FrameReader(40);
        const got: { kind: number; contents: number[] }[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const end = at + 1 + cuts[i % cuts.length]!;
          for (const { kind: each, contents } of reader.push(bytes.subarray(at, end)))
            got.push({ kind: each, contents: [...contents] });
          at = end;
        }
        expect(got).toEqual(
          sent.map(({ kind: each, contents }) => ({ kind: each, contents: [...contents] })),
        );
      }),
    );
  });

  it("that are too large are refused before they arrive, and those before them are not", () => {
    const reader = new FrameReader(10);
    const head = Buffer.from([11, 0, 0, 0, kinds.out]);
    const got: number[] = [];
    const read = () => {
      for (const { contents } of reader.push(Buffer.concat([frame(kinds.out, "0123456789"), head])))
        got.push(contents.length);
    };
    expect(read).toThrow(ProtocolError);
    expect(got).toEqual([10]);
  });
});

describe("a request", () => {
  const good = { command: "lto", args: ["a.o"], cwd: "/tmp", env: { A: "b" }, umask: 0o22, colour: false };
  const parse = (value: unknown) => parseRequest(Buffer.from(JSON.stringify(value)));

  it("is taken as it is", () => expect(parse(good)).toEqual(good));

  it.each<[string, unknown]>([
    ["nothing", null],
    ["a number", 3],
    ["another command", { ...good, command: "rm" }],
    ["an inherited name", { ...good, command: "constructor" }],
    ["an argument that is none", { ...good, args: [1] }],
    ["zero bytes", { ...good, args: ["a\0b"] }],
    ["a relative directory", { ...good, cwd: "tmp" }],
    ["a variable without a name", { ...good, env: { "": "x" } }],
    ["a variable that is no text", { ...good, env: { A: {} } }],
    ["a mask that is none", { ...good, umask: 0o1777 }],
    ["a part left out", { ...good, colour: undefined }],
  ])("is refused: %s", (_, value) => expect(() => parse(value)).toThrow(ProtocolError));

  it("is refused where it is no JSON", () =>
    expect(() => parseRequest(Buffer.from("{"))).toThrow(ProtocolError));
});
