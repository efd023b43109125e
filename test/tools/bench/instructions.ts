/**
 * Executed instructions of a package's workload, counted by callgrind in the program's own code (not in libc or the
 * dynamic linker).
 *
 * The workload is a shell script that calls the program; a wrapper in its place runs it under valgrind and leaves
 * one profile a process. A profile lists self costs by object and function; lines after `calls=` are inclusive
 * costs of callees and are skipped. Counts are exact and repeatable, so each is taken once.
 */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Prepared } from "../prepared.js";
import { variableName } from "../prepared.js";
import { run } from "../process.js";
import { projectRoot } from "../root.js";

/** Self cost of the object `exe` in the text of a callgrind profile. */
export function selfCost(profile: string, exe: string): number {
  const objects = new Map<string, boolean>();
  let inside = false;
  let skip = false;
  let total = 0;
  for (const line of profile.split("\n")) {
    if (line.startsWith("ob=")) {
      const m = /^ob=(\(\d+\))?\s*(.*)$/.exec(line)!;
      if (m[2] !== "") objects.set(m[1] ?? "", m[2] === exe);
      inside = objects.get(m[1] ?? "") ?? false;
    } else if (line.startsWith("cob=")) {
      const m = /^cob=(\(\d+\))?\s*(.*)$/.exec(line)!;
      if (m[2] !== "") objects.set(m[1] ?? "", m[2] === exe);
    } else if (line.startsWith("calls=")) skip = true;
    else if (/^[+\-*\d]/.test(line)) {
      if (!skip && inside) total += Number(line.split(" ")[1] ?? 0);
      skip = false;
    }
  }
  return total;
}

/** Runs the package's workload with `exe` as its main program. NaN when the workload fails. */
export async function countInstructions(p: Prepared, exe: string): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "count-"));
  const wrapper = join(dir, "program");
  const profile = join(dir, "profile.%p");
  const valgrind = `valgrind -q --tool=callgrind --log-file=/dev/null --callgrind-out-file=${profile}`;
  writeFileSync(wrapper, `#!/bin/sh\nexec ${valgrind} ${exe} "$@"\n`);
  chmodSync(wrapper, 0o755);
  const cwd = mkdtempSync(join(dir, "work-"));
  const env = {
    SRC: p.dir,
    TESTS: join(projectRoot(), "test", "differential"),
    LC_ALL: "C",
    TZ: "UTC",
    [variableName(p.recipe.main)]: wrapper,
  };
  const script = p.recipe.workload ?? p.recipe.checks(p.dir)[0]!.script;
  const r = await run(["sh", "-e", "-c", script], { cwd, env, timeoutMs: 1_200_000 });
  let total = 0;
  for (const f of readdirSync(dir)) {
    if (f.startsWith("profile.")) total += selfCost(readFileSync(join(dir, f), "latin1"), exe);
  }
  rmSync(dir, { recursive: true, force: true });
  return r.status === 0 && total > 0 ? total : Number.NaN;
}
