/** What bin/start.cts asks before it loads a command: whether a service has done the work. */

import { InputError } from "../../lto/ir/errors.js";
import { showsColours, writeAll } from "../host/host.js";
import { formatMessage, usualStyle } from "../host/messages.js";
import { type Answer, converse, type Failure } from "./client.js";
import { isEligible } from "./eligible.js";
import { type Place, placeOf, Unusable } from "./place.js";
import type { CommandName, Request } from "./protocol.js";
import { awaitStart, start } from "./starting.js";

const variable = "TSC_LTO_SERVER";
const programs: Readonly<Record<CommandName, string>> = { lto: "tsc-lto", cc: "tsc-cc", ld: "ld.tsc-lto" };

/**
 * The exit code of a command that a service has run; undefined: the caller runs it.
 * @param bundles the folder of the commands' bundles
 */
export async function ask(
  command: CommandName,
  args: readonly string[],
  bundles: string,
): Promise<number | undefined> {
  const wanted = process.env[variable];
  const say = (severity: "error" | "warning", message: string): void =>
    writeAll(
      2,
      Buffer.from(
        formatMessage(programs[command], { severity, message }, usualStyle({ colour: showsColours() })),
      ),
    );
  if (wanted !== "auto" && wanted !== "on") {
    say("warning", `${variable}=${wanted}: expected auto, on or off`);
    process.env[variable] = "off";
    return undefined;
  }
  if (!isEligible(command, args, wanted === "on")) return undefined;
  const answer = await answerOf(command, args, bundles, wanted === "on");
  if (!("code" in answer)) {
    // What this process starts does not try again.
    process.env[variable] = "off";
    if (wanted === "on") say("warning", `linking without the service: ${answer.why}`);
    return undefined;
  }
  try {
    for (const { fd, bytes } of answer.output) writeAll(fd, bytes);
  } catch (e) {
    if (!(e instanceof InputError)) throw e;
    say("error", e.message);
    return 1;
  }
  return answer.code;
}

/** @param waits for a service that is not there yet */
async function answerOf(
  command: CommandName,
  args: readonly string[],
  bundles: string,
  waits: boolean,
): Promise<Answer | Failure> {
  let place: Place;
  try {
    place = placeOf(bundles);
    const request = requestOf(command, args);
    const answer = await converse(place, request);
    if ("code" in answer || !answer.isAbsent) return answer;
    await start(place, bundles);
    if (!waits) return answer;
    const started = await awaitStart(place);
    return typeof started === "string" ? await converse(place, request) : started;
  } catch (e) {
    if (e instanceof Unusable || (e as NodeJS.ErrnoException).syscall !== undefined)
      return { why: (e as Error).message, isAbsent: false };
    throw e;
  }
}

const requestOf = (command: CommandName, args: readonly string[]): Request => ({
  command,
  args,
  cwd: process.cwd(),
  env: process.env as Record<string, string>,
  umask: process.umask(),
  colour: showsColours(),
});
