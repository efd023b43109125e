/**
 * A distributor that runs jobs in processes of this machine, as many at a time as there are cores: `tsc-lto distribute`. It
 * knows nothing of what the jobs are, so lld can call it with clang's, too.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { InputError } from "../../lto/ir/errors.js";
import { settle, startProgram } from "../host/interrupts.js";
import type { Slots } from "../host/slots.js";
import { reasonOf } from "../host/system-errors.js";

interface Job {
  readonly args: readonly string[];
}

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((word) => typeof word === "string");

/** The commands of a description. @throws InputError */
function readJobs(file: string): Job[] {
  let told: unknown;
  try {
    told = JSON.parse(readFileSync(file, "utf8"));
  } catch (e) {
    throw new InputError(`cannot read the description of jobs: ${reasonOf(e)}`, file);
  }
  const { common, jobs } = (told ?? {}) as { common?: { args?: unknown }; jobs?: unknown };
  if (!isWords(common?.args) || common.args.length === 0 || !Array.isArray(jobs))
    throw new InputError("this is no description of jobs", file);
  const shared = common.args;
  return jobs.map((job: { args?: unknown } | null) => {
    if (!isWords(job?.args)) throw new InputError("a job has no arguments", file);
    return { args: [...shared, ...job.args] };
  });
}

/** @returns whether all went well @throws InputError */
export async function distributeHere(
  file: string,
  slots: Slots,
  complain: (message: string) => void,
): Promise<boolean> {
  const jobs = readJobs(file);
  let failed = false;
  await slots.run(jobs.length, async (index) => {
    if (failed) return;
    const { args } = jobs[index]!;
    const why = await runJob(args);
    if (why === null) return;
    failed = true;
    complain(`${args.join(" ")}: ${why}`);
  });
  slots.close();
  await settle();
  return !failed;
}

/** @returns why it failed; null: it did not */
function runJob([program, ...args]: readonly string[]): Promise<string | null> {
  return new Promise((ended) => {
    const child = startProgram(() =>
      spawn(program!, args, { stdio: ["ignore", "inherit", "inherit"], detached: true }),
    );
    child.on("error", (e) => ended(reasonOf(e)));
    child.on("close", (code, signal) => ended(code === 0 ? null : `ended with ${signal ?? `code ${code}`}`));
  });
}
