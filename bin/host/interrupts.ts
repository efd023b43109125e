/**
 * Interrupts (SIGINT, SIGTERM, SIGHUP) end the process at once and leave nothing behind.
 *
 * A handler runs when the event loop comes to it, and while there is one the signal does nothing else. A link computes
 * for seconds without a turn of the loop. So there are handlers only while there is something to clean up: a temporary
 * file, or a program that was started; at other times the system ends the process. Callers therefore compute nothing
 * that takes long while they have either, and `settle` before what they cannot take back.
 *
 * Programs run in process groups of their own, since compiler drivers do not pass signals on to what they start. They
 * get the signal, then half a second for it; then files are removed, also the output that such a program was writing;
 * then the process ends itself by the signal, so that whoever started it sees that.
 */
import type { ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import { reasonOf } from "./system-errors.js";

const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
/** Milliseconds that programs have to end after the signal. */
const patience = 500;
/** Milliseconds more until they are taken for ended by force; dead ones that nobody waits for look alive. */
const lastPatience = 100;

const temporaries = new Set<string>();
/** What runs, and the output it leaves half-written when it is ended, with the state of that before. */
const programs = new Map<ChildProcess, { readonly path: string; readonly before: string } | undefined>();
let ending: NodeJS.Signals | undefined;
let listening = false;
let cleansAtExit = false;
let counter = 0;
/** Of this thread. Its number would be in `node:worker_threads`, whose loading is a tenth of the smallest link's time. */
const nonce = Math.random().toString(36).slice(2, 12);

/**
 * A fresh empty file, known to be temporary until `removeTemporary` or `forgetTemporary`.
 * @throws InputError when it cannot be made
 */
export function temporaryFile(directory: string, suffix: string): string {
  return makeTemporary("file", directory, (name) => {
    const path = join(directory, `.${name}${suffix}`);
    fs.closeSync(fs.openSync(path, "wx"));
    return path;
  });
}

/** A fresh directory; it is removed with all that is in it. @throws InputError when it cannot be made */
export function temporaryDirectory(parent: string, prefix: string): string {
  return makeTemporary("directory", parent, (name) => {
    const path = join(parent, `${prefix}${name}`);
    fs.mkdirSync(path, { mode: 0o700 });
    return path;
  });
}

function makeTemporary(what: string, parent: string, make: (name: string) => string): string {
  // Were there no handler yet, a signal could come between the file and its being known.
  listening ||= listen();
  try {
    for (;;) {
      try {
        // No thread of this process ever takes a name of another's, not even one that is free again.
        const path = make(`${process.pid}-${nonce}-${counter++}`);
        temporaries.add(path);
        return path;
      } catch (e) {
        if ((e as NodeJS.ErrnoException).code === "EEXIST") continue;
        throw new InputError(`cannot make a temporary ${what} in ${parent}: ${reasonOf(e)}`);
      }
    }
  } finally {
    restSoon();
  }
}

/** Fills a file in a temporary directory. @throws InputError when that fails */
export function writeTemporary(path: string, contents: Uint8Array): void {
  try {
    fs.writeFileSync(path, contents);
  } catch (e) {
    throw new InputError(`cannot write the temporary file ${path}: ${reasonOf(e)}`);
  }
}

/** Does nothing where it was removed or forgotten already: what has the name now may be somebody else's. */
export function removeTemporary(path: string): void {
  if (!temporaries.has(path)) return;
  fs.rmSync(path, { force: true, recursive: true });
  forgetTemporary(path);
}

/** To be called when the file has got another name. */
export function forgetTemporary(path: string): void {
  temporaries.delete(path);
  restSoon();
}

/**
 * Starts a program and knows of it until it has ended.
 * @param start has to start it as the leader of a process group
 * @param output removed when the program is interrupted and has touched it
 */
export function startProgram(start: () => ChildProcess, output?: string): ChildProcess {
  listening ||= listen();
  const program = start();
  programs.set(program, output === undefined ? undefined : { path: output, before: stateOf(output) });
  const ended = () => {
    if (ending !== undefined) return;
    programs.delete(program);
    restSoon();
  };
  program.on("error", ended);
  program.on("close", ended);
  return program;
}

/**
 * Lets an interrupt that has come meanwhile end the process; then this never returns. To be waited for before long
 * computations, before what cannot be taken back, and after programs, so that nobody takes a program's end by an
 * interrupt for its failure.
 */
export async function settle(): Promise<void> {
  if (listening) await new Promise<void>(afterTurn);
  if (ending !== undefined) await new Promise(() => {});
  rest();
}

/** Calls back when the event loop has looked for signals once. */
function afterTurn(then: () => void): void {
  // The first comes before that look where it is asked for between the look and the immediates.
  setImmediate(() => setImmediate(then));
}

function listen(): true {
  for (const signal of signals) process.on(signal, interrupt);
  if (!cleansAtExit) process.on("exit", cleanUp);
  cleansAtExit = true;
  return true;
}

/** A signal may have come already, and would be lost with its handler. */
function restSoon(): void {
  afterTurn(rest);
}

/** Without anything to clean up there are no handlers. */
function rest(): void {
  if (!listening || ending !== undefined || temporaries.size > 0 || programs.size > 0) return;
  for (const signal of signals) process.off(signal, interrupt);
  listening = false;
}

function interrupt(signal: NodeJS.Signals): void {
  if (ending !== undefined) return;
  // In a program that handles the signal itself, what happens is that program's affair.
  if (process.listenerCount(signal) > 1) return;
  ending = signal;
  for (const program of programs.keys()) send(program, signal);
  const deadline = Date.now() + patience;
  const look = () => {
    const left = [...programs.keys()].filter((program) => send(program, 0));
    const late = Date.now() - deadline;
    if (left.length > 0 && late < lastPatience) {
      if (late >= 0) for (const program of left) send(program, "SIGKILL");
      setTimeout(look, 5);
      return;
    }
    cleanUp();
    for (const each of signals) process.off(each, interrupt);
    process.kill(process.pid, signal);
  };
  look();
}

/** Sends a signal to all processes of the program's group; whether there is any. */
function send(program: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return program.pid !== undefined && process.kill(-program.pid, signal);
  } catch {
    return false;
  }
}

function cleanUp(): void {
  for (const path of temporaries) fs.rmSync(path, { force: true, recursive: true });
  if (ending === undefined) return;
  for (const output of programs.values())
    if (output !== undefined && stateOf(output.path) !== output.before)
      fs.rmSync(output.path, { force: true });
}

/** Changes whenever a file is written or replaced. Only what is regular is ever removed. */
function stateOf(path: string): string {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}` : "";
}
