/** `tsc-lto serve`: starts the service, asks after it, and ends it. */
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import { parseBytes, parseJobs } from "../lto/option-table.js";
import { ownPackage } from "../package.js";
import { parseNumber } from "../size/forms.js";
import type { AddSubcommand } from "../size/main.js";
import { converse } from "./client.js";
import { type Place, placeOf, Unusable } from "./place.js";
import { usualMemoryLimit } from "./pool.js";
import { awaitStart, start } from "./starting.js";
import type { ServiceOptions } from "./supervisor.js";

interface Words extends Omit<ServiceOptions, "jobs"> {
  readonly jobs?: number;
  readonly foreground?: boolean;
  readonly status?: boolean;
  readonly stop?: boolean;
}

/** Seconds without a question after which the service ends. */
const usualIdleTimeout = 600;

const bundles = (): string => join(ownPackage().directory, "dist/bundle");

export const addServe: AddSubcommand = (command, { print, complain }, finish) => {
  command
    .command("serve")
    .description(
      "Start a service in which links are fast, since it stays warm; where TSC_LTO_SERVER is auto or on, the commands use it. It is for this user, this build and this Node, and for processes with the same limits and privileges.",
    )
    .option("--foreground", "be the service, instead of starting it: for service managers")
    .option("--status", "say whether there is one, and what it does")
    .option("--stop", "end it when what runs is done")
    .option(
      "--idle-timeout <seconds>",
      "how long it waits for a command before it ends; 0: for ever",
      parseNumber,
      usualIdleTimeout,
    )
    .option(
      "--memory-limit <bytes>",
      "memory beyond which a worker process is replaced after a command; k, m and g are units",
      parseBytes,
      usualMemoryLimit,
    )
    .option("-j, --jobs <n>", "most commands at a time (default: the number of cores)", parseJobs)
    .action(async (words: Words) => {
      try {
        finish(await run(placeOf(bundles()), words, print));
      } catch (e) {
        if (!(e instanceof Unusable)) throw e;
        complain("error", `no service: ${e.message}`);
        finish(1);
      }
    });
};

/** The exit code. */
async function run(place: Place, words: Words, print: (text: string) => void): Promise<number> {
  if (words.foreground === true) return serve(place, words);
  if (words.status === true || words.stop === true) {
    const answer = await converse(place, words.stop === true ? "stop" : "status");
    if ("told" in answer) print(`${answer.told}\n`);
    else if (!answer.isAbsent) throw new Unusable(answer.why);
    else print("no service\n");
    return "told" in answer || words.stop === true ? 0 : 1;
  }
  const { idleTimeout, memoryLimit, jobs } = words;
  const options = [`--idle-timeout=${idleTimeout}`, `--memory-limit=${memoryLimit}`];
  const answer = await converse(place, "status");
  if ("told" in answer) {
    print(`there is one already: ${answer.told}\n`);
    return 0;
  }
  if (!answer.isAbsent) throw new Unusable(answer.why);
  await start(place, bundles(), jobs === undefined ? options : [...options, `--jobs=${jobs}`]);
  const started = await awaitStart(place);
  if (typeof started !== "string") throw new Unusable(started.why);
  print(`${started}\n`);
  return 0;
}

async function serve(place: Place, words: Words): Promise<number> {
  const answer = await converse(place, "status");
  if ("told" in answer) {
    rmSync(place.starting, { force: true });
    throw new InputError(`there is a service already: ${answer.told}`);
  }
  const { Supervisor } = await import("./supervisor.js");
  await new Supervisor(place, bundles(), { ...words, jobs: words.jobs ?? availableParallelism() }).run();
  return 0;
}
