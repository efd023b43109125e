/** Requests to persistent workers as they arrive from build tools, and from anybody. */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  largestRequest,
  WorkMessageError,
  WorkMessages,
  type WorkRequest,
} from "../../bin/serve/work-messages.js";

/** What Bazel 4.2 sends for a link, with the digests of its inputs. */
const recorded =
  "wAIKBXAxLmxsCgItbwoiYmF6ZWwtb3V0L2s4LWZhc3RidWlsZC9iaW4vcHJvZzEucxJvCitiYXplbC1vdXQvazgtZmFzdGJ1aWxkL2Jpbi9wcm9nMS5zLTAucGFyYW1zEkBhYTNiMDY4NTlmNDNiYWJmMjFiZmNiMTIxM2FjOTJkMWVlZGJjNmFhMWQ3MjJhNWJjNzc0ZDhjNmY0NzM2OGViEkkKBXAxLmxsEkBhMzBlMjc2YTQwYWEyZWFkMzg5MDJmNGY1NGZkNzAxMzU4M2E4MTBlMzkwOTZmMjZhOWI3ZjgyNjFhYjgzMDk4ElEKDXRvb2xzL3RzYy1sdG8SQGZkOWRiMjQzM2YzNGY1NTAyZGRkYWYxZjg0MWVhZTUwNWFmZTQ5Zjg4ZTUyZWI2YWUwZmEzNzdkYjUzNWY4NzgYAQ==";

function protobuf({ arguments: words, requestId, cancel, sandboxDir }: WorkRequest): Buffer {
  const message = new BinaryWriter();
  for (const word of words) message.tag(1, WireType.LengthDelimited).string(word);
  const input = new BinaryWriter().tag(1, WireType.LengthDelimited).string("a.o").finish();
  message.tag(2, WireType.LengthDelimited).bytes(input);
  if (requestId !== 0) message.tag(3, WireType.Varint).int32(requestId);
  if (cancel) message.tag(4, WireType.Varint).bool(true);
  message.tag(5, WireType.Varint).int32(10);
  if (sandboxDir !== "") message.tag(6, WireType.LengthDelimited).string(sandboxDir);
  // A field of the future.
  message.tag(77, WireType.LengthDelimited).string("?");
  return Buffer.from(new BinaryWriter().bytes(message.finish()).finish());
}

const json = (request: WorkRequest): Buffer =>
  Buffer.from(JSON.stringify({ ...request, inputs: [{ path: 'a}"{.o', digest: "AA==" }], verbosity: 10 }));

const read = (...chunks: Buffer[]): WorkRequest[] => {
  const messages = new WorkMessages();
  const requests = chunks.flatMap((chunk) => [...messages.push(chunk)]);
  messages.end();
  return requests;
};
const varint = (n: number): Buffer => Buffer.from(new BinaryWriter().uint32(n).finish());

describe("requests", () => {
  it.each([
    ["protobuf", protobuf],
    ["JSON", json],
  ] as const)("in %s are the same however they are cut", (_, encode) => {
    const text = fc.string({ unit: "grapheme" }).filter((word) => !word.includes("\0"));
    const request: fc.Arbitrary<WorkRequest> = fc.record({
      arguments: fc.array(text, { maxLength: 4 }),
      requestId: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      cancel: fc.boolean(),
      sandboxDir: text,
    });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 5 }),
        fc.array(fc.nat(40), { minLength: 1 }),
        (requests, cuts) => {
          const bytes = Buffer.concat(requests.map(encode));
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const end = at + 1 + cuts[i % cuts.length]!;
            chunks.push(bytes.subarray(at, end));
            at = end;
          }
          expect(read(...chunks)).toEqual(requests);
        },
      ),
    );
  });

  it("are understood as Bazel sends them, and as JSON lines with proto names", () => {
    expect(read(Buffer.from(recorded, "base64"))).toEqual([
      {
        arguments: ["p1.ll", "-o", "bazel-out/k8-fastbuild/bin/prog1.s"],
        requestId: 1,
        cancel: false,
        sandboxDir: "",
      },
    ]);
    expect(read(Buffer.from('{"request_id": 3, "sandbox_dir": "s"}\n {"cancel":true}\n'))).toEqual([
      { arguments: [], requestId: 3, cancel: false, sandboxDir: "s" },
      { arguments: [], requestId: 0, cancel: true, sandboxDir: "" },
    ]);
  });

  it.each<[string, Buffer]>([
    ["text", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["an endless length", Buffer.alloc(20, 255)],
    ["a huge one", Buffer.concat([varint(largestRequest + 1), Buffer.alloc(10)])],
    ["the largest length there is", Buffer.concat([varint(2 ** 32 - 1), Buffer.alloc(10)])],
    ["fields without numbers", Buffer.from([2, 0, 0])],
    ["a field longer than its message", Buffer.from([2, 10, 100])],
    ["a type that there is not", Buffer.from([2, 15, 0])],
    ["a number that should be text", Buffer.from([2, 8, 1])],
    ["groups in groups", Buffer.concat([varint(1000), Buffer.alloc(1000, 0x7b)])],
    ["zero bytes in a word", protobuf({ arguments: ["a\0b"], requestId: 0, cancel: false, sandboxDir: "" })],
    [
      "half of one",
      protobuf({ arguments: ["abc"], requestId: 0, cancel: false, sandboxDir: "" }).subarray(0, 5),
    ],
    ["a single byte", Buffer.from([5])],
    ["JSON that ends early", Buffer.from('{"arguments":["a"')],
    ["JSON that does not match", Buffer.from('{"arguments":["a"}}')],
    ["JSON and then none", Buffer.from('{"arguments":[]} yes')],
    ["arguments that are none", Buffer.from('{"arguments":[1]}')],
    ["a number that is none", Buffer.from('{"requestId":1.5}')],
    ["a number that is text", Buffer.from('{"requestId":"1"}')],
    ["a sandbox that is none", Buffer.from('{"sandboxDir":{}}')],
  ])("are refused: %s", (_, bytes) => expect(() => read(bytes)).toThrow(WorkMessageError));

  it("are refused or taken, whatever the bytes", () => {
    const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
    const braced = noise.map((bytes) => Buffer.concat([Buffer.from('{"'), bytes]));
    fc.assert(
      fc.property(fc.oneof(noise, braced), (bytes) => {
        try {
          read(bytes);
        } catch (e) {
          expect(e).toBeInstanceOf(WorkMessageError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("responses", () => {
  const response = { requestId: 7, exitCode: 1, output: "what it says: ä\n", wasCancelled: false };
  const answering = (request: Buffer): WorkMessages => {
    const messages = new WorkMessages();
    for (const _ of messages.push(request));
    return messages;
  };

  it("are JSON for JSON, and name a cancellation only where there is one", () => {
    const messages = answering(Buffer.from('{"requestId":7}'));
    const { requestId, exitCode, output } = response;
    expect(JSON.parse(Buffer.from(messages.write(response)).toString())).toEqual({
      requestId,
      exitCode,
      output,
    });
    const cancelled = { requestId: 7, exitCode: 0, output: "", wasCancelled: true };
    expect(JSON.parse(Buffer.from(messages.write(cancelled)).toString())).toEqual(cancelled);
  });

  it("are protobuf for protobuf", () => {
    const messages = answering(Buffer.from(recorded, "base64"));
    const reader = new BinaryReader(messages.write({ ...response, wasCancelled: true }));
    expect(reader.uint32()).toBe(reader.len - reader.pos);
    expect([reader.tag(), reader.int32()]).toEqual([[1, WireType.Varint], 1]);
    expect([reader.tag(), reader.string()]).toEqual([[2, WireType.LengthDelimited], response.output]);
    expect([reader.tag(), reader.int32()]).toEqual([[3, WireType.Varint], 7]);
    expect([reader.tag(), reader.bool()]).toEqual([[4, WireType.Varint], true]);
    // All is usual: nothing but the length.
    const usual = { requestId: 0, exitCode: 0, output: "", wasCancelled: false };
    expect([...messages.write(usual)]).toEqual([0]);
  });
});
