/** `tsc-lto compile-unit` and `tsc-lto distribute`: what distributors run, and one of them. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import { Slots } from "../host/slots.js";
import { reasonOf } from "../host/system-errors.js";
import { parseJobs } from "../lto/option-table.js";
import { parseNumber } from "../size/forms.js";
import type { AddSubcommand } from "../size/main.js";

export const addCompileUnit: AddSubcommand = (command, { host }, finish) => {
  command
    .command("compile-unit")
    .description(
      "Do a unit of work for a link of the same build: compile the functions in it. Distributors run this, on whatever machine; it reads its input and writes its output, and nothing else.",
    )
    .argument("<unit>", "the unit of work")
    .requiredOption("-o, --output <file>", "where the answer goes")
    .action(async (unit: string, { output }: { output: string }) => {
      const { compileUnit } = await import("./compile-unit.js");
      const { writeWhole } = await import("../lto/cache-files.js");
      let bytes: Uint8Array;
      try {
        bytes = readFileSync(resolve(host.cwd, unit));
      } catch (e) {
        throw new InputError(`cannot read ${unit}: ${reasonOf(e)}`);
      }
      const answer = compileUnit(bytes);
      try {
        writeWhole(resolve(host.cwd, output), answer);
      } catch (e) {
        throw new InputError(`cannot write ${output}: ${reasonOf(e)}`);
      }
      finish(0);
    });
};

export const addWorker: AddSubcommand = (command, { host, print, complain }, finish) => {
  command
    .command("worker")
    .description(
      "Compile functions for links of this build that have the same farm (--farm): take units of work from its queue until SIGINT or SIGTERM. It is trusted as the links are; whoever may write to that Redis decides what code is in their programs. Needs the packages bullmq and ioredis.",
    )
    .requiredOption("--redis <url>", "the farm: redis://HOST:PORT/DB, rediss://… or unix:///SOCKET")
    .option("-j, --jobs <n>", "most units at a time (default: the number of cores)", parseJobs)
    .option(
      "--directory <dir>",
      "work for links with this --farm-directory, which have units and code there instead of in Redis",
    )
    .option("--idle-timeout <seconds>", "end after so long without a unit; 0: never", parseNumber, 0)
    .option("-q, --quiet", "say only what goes wrong")
    .action(
      async (words: {
        redis: string;
        directory?: string;
        jobs?: number;
        idleTimeout: number;
        quiet?: boolean;
      }) => {
        const { redisAddress } = await import("./redis/address.js");
        const { workForFarm } = await import("./redis/worker.js");
        await workForFarm({
          address: redisAddress(words.redis, host.env, host.cwd),
          name: words.redis,
          directory: words.directory === undefined ? null : resolve(host.cwd, words.directory),
          jobs: words.jobs ?? availableParallelism(),
          idleTimeout: words.idleTimeout,
          tell: (text) => words.quiet !== true && print(`${text}\n`),
          complain: (message) => complain("warning", message),
        });
        finish(0);
      },
    );
};

export const addDistribute: AddSubcommand = (command, { host, complain }, finish) => {
  command
    .command("distribute")
    .description(
      "A distributor for --thinlto-distributor, of tsc-lto and lld: runs the jobs of a description in processes of this machine.",
    )
    .argument("<file>", "description of the jobs (LLVM's DTLTO)")
    .option("-j, --jobs <n>", "most processes at a time (default: the number of cores)", parseJobs)
    .action(async (file: string, { jobs }: { jobs?: number }) => {
      const { distributeHere } = await import("./distribute.js");
      const slots = new Slots(jobs ?? availableParallelism(), host.env);
      const isDone = await distributeHere(resolve(host.cwd, file), slots, (why) => complain("error", why));
      finish(isDone ? 0 : 1);
    });
};
