/** A fault that ends the process ends the programs that it runs, and leaves no temporary file. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { builtPackage } from "../support/built.js";
import { temporaryFolder } from "../support/command.js";

const built = builtPackage();
const folder = temporaryFolder();

it("ends what was started", () => {
  const script = join(folder, "fault.mjs");
  writeFileSync(
    script,
    `import { spawn } from "node:child_process";
import { startProgram, temporaryFile } from ${JSON.stringify(join(built(), "dist/bin/host/interrupts.js"))};
const output = temporaryFile(process.cwd(), ".o");
// Writes when its input ends, as an assembler does.
const program = startProgram(() =>
  spawn("sh", ["-c", "cat > /dev/null; sleep 0.2; echo late > $0", output], { stdio: ["pipe", "ignore", "ignore"], detached: true }));
process.stdout.write(String(program.pid), () => setTimeout(() => { throw new Error("a fault"); }, 50));
`,
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { cwd: folder, encoding: "utf8" });
  expect(status).not.toBe(0);
  expect(stderr).toContain("a fault");
  // Whoever is dead and not waited for yet is a zombie.
  const state = (): string => {
    try {
      return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${stdout}/status`, "latin1"))?.[1] ?? "";
    } catch {
      return "gone";
    }
  };
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  expect(["gone", "Z", "X"]).toContain(state());
  expect(readdirSync(folder)).toEqual(["fault.mjs"]);
});
