/** Moves on a condition: which of the two values they are made in the place of, and what they compute. */
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/command.js";
import { bodyOf, type WordFunction, WordProgram } from "./word-functions.js";

/** A result that is copied where it could have been made. */
const copied = /cmov\w+\t%\w+, (%\w+)\n(?:.*\n){0,3}\tmov[lq]\t\1, %/;

const cases: Record<string, WordFunction & { readonly has: RegExp }> = {
  // What a loop keeps stays where it is; the other value is needed after the choice.
  least: {
    body: ` %end = and i64 %b, 31
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %j, %head ]
  %x = phi i64 [ %a, %0 ], [ %y, %head ]
  %least = phi i64 [ %b, %0 ], [ %next, %head ]
  %where = phi i64 [ -1, %0 ], [ %at, %head ]
  %c = icmp slt i64 %x, %least
  %next = select i1 %c, i64 %x, i64 %least
  %at = select i1 %c, i64 %i, i64 %where
  %m = mul i64 %x, 1103515245
  %y = add i64 %m, 12345
  %j = add i64 %i, 1
  %d = icmp ugt i64 %j, %end
  br i1 %d, label %out, label %head
out:
  %r = xor i64 %next, %at
  ret i64 %r`,
    has: /cmov(?:l|g)q/,
  },
  numbers: {
    body: ` %end = and i64 %b, 31
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %j, %head ]
  %x = phi i64 [ %a, %0 ], [ %y, %head ]
  %least = phi double [ 4.0, %0 ], [ %next, %head ]
  %where = phi i64 [ -1, %0 ], [ %at, %head ]
  %f = uitofp i64 %x to double
  %c = fcmp olt double %f, %least
  %next = select i1 %c, double %f, double %least
  %at = select i1 %c, i64 %i, i64 %where
  %m = mul i64 %x, 1103515245
  %y = add i64 %m, 12345
  %j = add i64 %i, 1
  %d = icmp ugt i64 %j, %end
  br i1 %d, label %out, label %head
out:
  ret i64 %at`,
    has: /cmov(?:a|b)q/,
  },
  // Unordered comparisons take two moves.
  unordered: {
    body: `%x = bitcast i64 %a to double
  %y = bitcast i64 %b to double
  %c = fcmp une double %x, %y
  %s = select i1 %c, i64 %a, i64 %b
  %r = add i64 %s, %a
  ret i64 %r`,
    has: /cmovp/,
  },
  ordered: {
    body: `%x = bitcast i64 %a to double
  %y = bitcast i64 %b to double
  %c = fcmp oeq double %x, %y
  %s = select i1 %c, i64 %b, i64 %a
  %r = add i64 %s, %b
  ret i64 %r`,
    has: /cmovn?p/,
  },
  half: {
    body: `%x = trunc i64 %a to i32
  %y = trunc i64 %b to i32
  %c = icmp sgt i32 %x, %y
  %s = select i1 %c, i32 %x, i32 %y
  %w = zext i32 %s to i64
  %r = mul i64 %w, %a
  ret i64 %r`,
    has: /cmov(?:g|le?|ge)l/,
  },
};

const values = ["0", "1", "-1", "99", "4294967296", "4607182418800017408", "9221120237041090560", "-16"];
const program = new WordProgram(temporaryFolder(), cases, values);

describe("a move on a condition", () => {
  test("computes what it did, with its sources exchanged", async () => {
    const plain = await program.output("O0");
    expect(plain.split("\n").length).toBe(program.lines + 1);
    for (const level of ["O2", "Oz"] as const) expect(await program.output(level), level).toBe(plain);
  });

  test("is made in the place of the value that is not needed after it", () => {
    const assembly = program.assembly("Oz");
    for (const [name, { has }] of Object.entries(cases)) {
      expect(bodyOf(assembly, name), name).toMatch(has);
      expect(bodyOf(assembly, name), name).not.toMatch(copied);
    }
  });
});
