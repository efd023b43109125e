/** Solvers: PicoSAT, from formulas that an awk program writes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Recipe } from "./recipe.js";
import { program, unitsOf } from "./recipe.js";

/** Pigeons that do not fit, and random clauses that can be met. */
const formulas = `
awk 'BEGIN { n = 6; print "p cnf", n * (n + 1), (n + 1) + n * (n + 1) * n / 2
  for (i = 0; i <= n; i++) { for (j = 1; j <= n; j++) printf "%d ", i * n + j; print 0 }
  for (j = 1; j <= n; j++) for (i = 0; i <= n; i++) for (k = i + 1; k <= n; k++) print -(i * n + j), -(k * n + j), 0 }' > pigeons.cnf
awk 'BEGIN { x = 7; v = 120; c = 420; print "p cnf", v, c
  for (i = 0; i < c; i++) { for (j = 0; j < 3; j++) { x = (x * 1103515245 + 12345) % 2147483648; s = int(x / 65536); printf "%d ", (s % 2 ? 1 : -1) * (1 + int(s / 2) % v) } print 0 } }' > random.cnf
`;

export const picosat: Recipe = {
  name: "picosat",
  debian: "picosat",
  main: "picosat",
  async prepare(dir) {
    writeFileSync(
      join(dir, "config.h"),
      '#define PICOSAT_CC "cc"\n#define PICOSAT_CFLAGS ""\n#define PICOSAT_VERSION "0"\n',
    );
    const files = ["picosat", "app", "main", "version"].map((name) => `${name}.c`);
    return new Map([["picosat", program(unitsOf(dir, files, ["-DNDEBUG"]))]]);
  },
  checks: () => [
    {
      name: "formulas",
      script: `${formulas}
for f in pigeons random; do for o in "" "-n" "-i 1 -s 3"; do $PICOSAT_ $o $f.cnf 2>&1 | grep -v ^c || true; done; done`,
    },
  ],
};
