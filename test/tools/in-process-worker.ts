/** The thread side of in-process.ts: calls the commands' main functions with a host of captured output. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type { CommandAnswer, CommandMessage } from "./in-process.js";

/** What the commands want to know of their process; see bin/cc/host.ts. */
interface Host {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly colour: boolean;
  readonly workers: boolean;
  stdin(): Uint8Array;
  stdout(bytes: Uint8Array): void;
  stderr(bytes: Uint8Array): void;
}
type Main = (args: readonly string[], host: Host) => Promise<number>;

const built = (file: string) => import(pathToFileURL(join(String(workerData), "dist", "bin", file)).href);
const cc = ((await built("cc/main.js")) as { runDriver: Main }).runDriver;
const lto = ((await built("lto/main.js")) as { main: Main }).main;

process.setMaxListeners(0); // every command registers its own clean-up at exit
parentPort!.on("message", (message: CommandMessage) => {
  void answer(message).then((a) => parentPort!.postMessage(a));
});

async function answer(message: CommandMessage): Promise<CommandAnswer> {
  const out: Uint8Array[] = [];
  const err: Uint8Array[] = [];
  const host: Host = {
    cwd: message.cwd,
    env: process.env,
    colour: false,
    workers: false,
    stdin: () => new Uint8Array(),
    stdout: (b) => void out.push(b),
    stderr: (b) => void err.push(b),
  };
  const text = (list: Uint8Array[]) => Buffer.concat(list).toString("utf8");
  try {
    const status = await (message.command === "tsc-cc" ? cc : lto)(message.args, host);
    return { status, stdout: text(out), stderr: text(err) };
  } catch (e) {
    const stack = e instanceof Error ? (e.stack ?? e.message) : String(e);
    return { status: 70, stdout: text(out), stderr: `${text(err)}internal error: ${stack}` };
  }
}
