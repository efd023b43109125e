/**
 * A process that runs commands as processes of their own would run them, one after the other, and gets faster with each. What a
 * process has but once (directory, environment, permissions of new files) is set for each; what a command writes to standard output
 * and error is kept to its end, so that whoever finds the service broken has seen nothing yet. What might be the fault of
 * this process, its client does again.
 */
import type { Host } from "../host/host.js";
import { removeTemporaries, setWitness } from "../host/interrupts.js";
import { type FromWorker, type JobDone, markName, type ToWorker } from "./jobs.js";
import type { CommandName, Request } from "./protocol.js";

/** The command of a bundle. */
export type Main = (args: readonly string[], host: Host) => Promise<number>;

/** Most bytes that are kept for a client. */
const mostOutput = 1 << 28;

/** By which the service knows what this process has started. */
const mark = { [markName]: process.env[markName] ?? "" };

/** Ends a command whose client has to do it itself. */
class Unsuited extends Error {}

/**
 * Takes jobs until the process is ended.
 * @param load the command of a bundle
 * @param loaded called after the first job that succeeds
 */
export function work(load: (command: CommandName) => Promise<Main>, loaded: () => void): void {
  /** Several programs may end at the same time, and each asks. */
  const asking: (() => void)[] = [];
  let isFirst = true;
  const send = (message: FromWorker): void => {
    // A service that has just been killed is noticed by its end, not by an error in the middle of what is done.
    if (process.connected) process.send!(message, undefined, undefined, () => {});
  };
  setWitness({
    temporary: (path, exists) => send({ kind: "temporary", path, exists }),
    program: (id, runs, group, output) => send({ kind: "program", id, runs, group, output }),
    mayGoOn: () =>
      new Promise((resolve) => {
        asking.push(resolve);
        send({ kind: "ask" });
      }),
  });
  // As a signal, which cleans up where there is something to.
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.on("message", (message: ToWorker) => {
    if (message.kind === "go") asking.shift()?.();
    else void run(message.request, load).then(answer);
  });
  send({ kind: "ready" });

  function answer(outcome: Extract<FromWorker, { kind: "done" | "cannot" }>): void {
    removeTemporaries();
    process.chdir("/");
    send(outcome);
    if (isFirst && outcome.kind === "done" && outcome.code === 0) {
      isFirst = false;
      loaded();
    }
  }
}

async function run(
  { command, args, cwd, env, umask, colour }: Request,
  load: (command: CommandName) => Promise<Main>,
): Promise<Extract<FromWorker, { kind: "done" | "cannot" }>> {
  const output: JobDone["output"][number][] = [];
  let size = 0;
  let fault = false;
  const keep = (fd: 1 | 2) => (bytes: Uint8Array) => {
    size += bytes.length;
    if (size > mostOutput) throw new Unsuited("too much output");
    output.push({ fd, bytes });
  };
  try {
    process.chdir(cwd);
    process.umask(umask);
    // What a command starts does not ask the service, where it might wait for its own end.
    const own = { ...env, ...mark, TSC_LTO_SERVER: "off" };
    setEnvironment(own);
    const host: Host = {
      cwd,
      env: own,
      colour,
      columns: null,
      workers: false,
      optimise: async (words, inner) => (await load("lto"))(words, inner),
      fault: () => {
        fault = true;
      },
      stdin: () => {
        throw new Unsuited("standard input is the client's");
      },
      stdout: keep(1),
      stderr: keep(2),
    };
    const code = await (await load(command))(args, host);
    if (fault) return { kind: "cannot", why: "an internal error" };
    return { kind: "done", code, output, memory: process.memoryUsage.rss() };
  } catch (e) {
    return { kind: "cannot", why: e instanceof Error ? e.message : String(e) };
  }
}

function setEnvironment(wanted: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env)) if (!(name in wanted)) delete process.env[name];
  for (const [name, text] of Object.entries(wanted)) if (process.env[name] !== text) process.env[name] = text;
}
