/** Each function pass, and sequences of them, on random functions: what they do stays the same. */
import { describe, expect, it } from "vitest";
import { Random } from "../support/random.js";
import { passesNamed, validate } from "./validation.js";

/** Those that the functions have something for: none is without its end, or branches twice to one place. */
const names = ["dce", "dse", "gvn", "hoist-sink", "ipsccp", "licm", "simplify", "simplify-cfg", "sroa"];
const functionsEach = 25;

describe("random functions do after a pass what they did before", () => {
  it.each(names)("%s", (name) => {
    const list = passesNamed([name]);
    let compared = 0;
    let changed = 0;
    for (let seed = 1; seed <= functionsEach; seed++) {
      const result = validate(seed, list, seed % 2 === 0 ? "minsize" : "speed");
      expect(result.problem).toBeNull();
      compared += result.compared;
      if (result.changed) changed++;
    }
    // Neither has every pass something to do everywhere.
    expect(changed).toBeGreaterThan(0);
    // Undefined behaviour voids some runs, not most.
    expect(compared).toBeGreaterThan(4 * functionsEach);
  });

  it("in random orders", () => {
    const all = passesNamed(names);
    for (let seed = 1; seed <= functionsEach; seed++) {
      const random = new Random(seed);
      const order = Array.from({ length: 2 + random.below(6) }, () => random.pick(all));
      expect(validate(1000 + seed, order, "minsize").problem).toBeNull();
    }
  });
});
