/** What a killed worker leaves is removed, also what it could not tell of to the end. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { markName } from "../../bin/serve/jobs.js";
import { Journal } from "../../bin/serve/journal.js";
import { temporaryFolder } from "../support/command.js";

const folder = temporaryFolder();

/** A program in a group of its own, as workers start them. */
function start(journal: Journal, env: Record<string, string> = { [markName]: journal.mark }) {
  const child = spawn("sleep", ["100"], { env: { ...process.env, ...env }, detached: true, stdio: "ignore" });
  const ended = new Promise<[ChildProcess["exitCode"], ChildProcess["signalCode"]]>((resolve) =>
    child.on("close", (...how) => resolve(how)),
  );
  return { child, ended };
}

describe("a worker that was killed", () => {
  it("while it made a temporary file or folder leaves neither", async () => {
    const journal = new Journal();
    const [file, directory, removed] = ["a", "b", "c"].map((name) => join(folder, name));
    for (const path of [file!, directory!, removed!, join(folder, "never made")])
      expect(journal.take({ kind: "temporary", path, exists: true })).toBe(true);
    journal.take({ kind: "temporary", path: removed!, exists: false });
    for (const path of [file!, removed!]) writeFileSync(path, "");
    mkdirSync(join(directory!, "inner"), { recursive: true });
    await journal.clean();
    expect([file!, directory!, removed!].map((path) => existsSync(path))).toEqual([false, false, true]);
  });

  it("while it started a program leaves neither that nor its output", async () => {
    const journal = new Journal();
    const path = join(folder, "output");
    const output = { path, before: "" };
    journal.take({ kind: "program", id: "1", runs: true, group: undefined, output });
    const { ended } = start(journal);
    const other = start(journal, { [markName]: "another" });
    writeFileSync(path, "half");
    await journal.clean();
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(existsSync(path)).toBe(false);
    expect(other.child.exitCode ?? other.child.signalCode).toBe(null);
    other.child.kill();
    await other.ended;
  });

  it("while programs ran leaves none, whatever their environment", async () => {
    const journal = new Journal();
    const { child, ended } = start(journal, {});
    journal.take({ kind: "program", id: "1", runs: true, group: undefined, output: undefined });
    journal.take({ kind: "program", id: "1", runs: true, group: child.pid, output: undefined });
    await journal.clean();
    expect(await ended).toEqual([null, "SIGKILL"]);
  });

  it("after its programs have ended leaves their output", async () => {
    const journal = new Journal();
    const path = join(folder, "whole");
    const output = { path, before: "" };
    journal.take({ kind: "program", id: "1", runs: true, group: 1, output });
    journal.take({ kind: "program", id: "1", runs: false, group: undefined, output: undefined });
    writeFileSync(path, "whole");
    await journal.clean();
    expect(existsSync(path)).toBe(true);
  });
});
