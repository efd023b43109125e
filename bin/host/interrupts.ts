/**
 * Interrupts (SIGINT, SIGTERM, SIGHUP) end the process at once and leave nothing behind.
 *
 * A handler runs when the event loop comes to it, and while there is one the signal does nothing else. A link computes
 * for seconds without a turn of the loop. So there are handlers only while there is something to clean up: a temporary
 * file, a program that was started, or a token of Make's; at other times the system ends the process. Callers therefore compute nothing
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

/** An output that a program leaves half-written when it is ended, with its state before. */
export interface ProgramOutput {
  readonly path: string;
  readonly before: string;
}

/** Is told what would be left if this process were killed, and asked before what cannot be taken back. */
export interface Witness {
  /** Before it is made, and after it is gone. */
  temporary(path: string, exists: boolean): void;
  /** Before it is started (without a group), after, and when it has ended. */
  program(id: string, runs: boolean, group?: number, output?: ProgramOutput): void;
  /** Never resolved where nobody waits for this process's work any more. */
  mayGoOn(): Promise<void>;
}

interface State {
  readonly temporaries: Set<string>;
  /** What runs. */
  readonly programs: Map<ChildProcess, ProgramOutput | undefined>;
  /** Give back what others lent. */
  readonly lent: Set<() => void>;
  ending: NodeJS.Signals | undefined;
  /** What is called by signals; undefined: nothing, and the system ends the process. */
  handler: ((signal: NodeJS.Signals) => void) | undefined;
  cleansAtExit: boolean;
  witness: Witness | undefined;
}

/**
 * One for all copies of this module in a thread, of which every bundle has its own: with a handler each, none would know whether the
 * others' are the program's.
 */
const place = Symbol.for("tsc-lto: interrupts, 2");
const holder = globalThis as { [place]?: State };
const state: State = (holder[place] ??= {
  temporaries: new Set(),
  programs: new Map(),
  lent: new Set(),
  ending: undefined,
  handler: undefined,
  cleansAtExit: false,
  witness: undefined,
});
const { temporaries, programs, lent } = state;
let counter = 0;
/** Of this copy. A thread's number would be in `node:worker_threads`, whose loading is a tenth of the smallest link's time. */
const nonce = Math.random().toString(36).slice(2, 12);

/**
 * A fresh empty file, known to be temporary until `removeTemporary` or `forgetTemporary`.
 * @throws InputError when it cannot be made
 */
export function temporaryFile(directory: string, suffix: string): string {
  return makeTemporary("file", directory, ".", suffix, (path) => fs.closeSync(fs.openSync(path, "wx")));
}

/** A fresh directory; it is removed with all that is in it. @throws InputError when it cannot be made */
export function temporaryDirectory(parent: string, prefix: string): string {
  return makeTemporary("directory", parent, prefix, "", (path) => fs.mkdirSync(path, { mode: 0o700 }));
}

function makeTemporary(
  what: string,
  parent: string,
  prefix: string,
  suffix: string,
  make: (path: string) => void,
): string {
  // Were there no handler yet, a signal could come between the file and its being known.
  listen();
  try {
    for (;;) {
      // No thread of this process ever takes a name of another's, not even one that is free again.
      const path = join(parent, `${prefix}${process.pid}-${nonce}-${counter++}${suffix}`);
      try {
        state.witness?.temporary(path, true);
        make(path);
        temporaries.add(path);
        return path;
      } catch (e) {
        state.witness?.temporary(path, false);
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
  state.witness?.temporary(path, false);
  restSoon();
}

/**
 * Starts a program and knows of it until it has ended.
 * @param start has to start it as the leader of a process group
 * @param output removed when the program is interrupted and has touched it
 */
export function startProgram(start: () => ChildProcess, output?: string): ChildProcess {
  listen();
  const written = output === undefined ? undefined : { path: output, before: stateOf(output) };
  const id = `${nonce}-${counter++}`;
  state.witness?.program(id, true, undefined, written);
  let program: ChildProcess;
  try {
    program = start();
  } catch (e) {
    state.witness?.program(id, false);
    restSoon();
    throw e;
  }
  programs.set(program, written);
  state.witness?.program(id, true, program.pid, written);
  const ended = () => {
    if (state.ending !== undefined) return;
    if (programs.delete(program)) state.witness?.program(id, false);
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
  if (state.handler !== undefined) await new Promise<void>(afterTurn);
  await state.witness?.mayGoOn();
  if (state.ending !== undefined) await new Promise(() => {});
  rest();
}

/**
 * Has something given back that others lend, should the process end before the caller does so.
 * @returns to be called when nothing is to be given back any more
 */
export function holdForOthers(give: () => void): () => void {
  listen();
  lent.add(give);
  return () => {
    if (lent.delete(give)) restSoon();
  };
}

/** For a process that does many commands, one after the other. */
export function setWitness(witness: Witness): void {
  state.witness = witness;
}

/** Removes what a command has left that is over. */
export function removeTemporaries(): void {
  for (const path of temporaries) removeTemporary(path);
}

/** Calls back when the event loop has looked for signals once. */
function afterTurn(then: () => void): void {
  // The first comes before that look where it is asked for between the look and the immediates.
  setImmediate(() => setImmediate(then));
}

function listen(): void {
  if (state.handler !== undefined) return;
  state.handler = interrupt;
  for (const signal of signals) process.on(signal, interrupt);
  if (!state.cleansAtExit) process.on("exit", cleanUp);
  state.cleansAtExit = true;
}

/** A signal may have come already, and would be lost with its handler. */
function restSoon(): void {
  afterTurn(rest);
}

/** Without anything to clean up there are no handlers. */
function rest(): void {
  if (state.ending !== undefined || temporaries.size + programs.size + lent.size > 0) return;
  unlisten();
}

function unlisten(): void {
  const { handler } = state;
  if (handler === undefined) return;
  for (const signal of signals) process.off(signal, handler);
  state.handler = undefined;
}

function interrupt(signal: NodeJS.Signals): void {
  if (state.ending !== undefined) return;
  // In a program that handles the signal itself, what happens is that program's affair.
  if (process.listenerCount(signal) > 1) return;
  state.ending = signal;
  for (const program of programs.keys()) signalGroup(program, signal);
  const deadline = Date.now() + patience;
  const look = () => {
    const left = [...programs.keys()].filter((program) => signalGroup(program, 0));
    const late = Date.now() - deadline;
    if (left.length > 0 && late < lastPatience) {
      if (late >= 0) for (const program of left) signalGroup(program, "SIGKILL");
      setTimeout(look, 5);
      return;
    }
    cleanUp();
    unlisten();
    process.kill(process.pid, signal);
  };
  look();
}

/** Sends a signal to all processes of the program's group; whether there is any. */
export function signalGroup(program: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return program.pid !== undefined && process.kill(-program.pid, signal);
  } catch {
    return false;
  }
}

function cleanUp(): void {
  for (const give of lent) give();
  // Left to themselves they would write their outputs later: a fault may end the process while they run.
  for (const program of programs.keys()) signalGroup(program, "SIGKILL");
  for (const path of temporaries) fs.rmSync(path, { force: true, recursive: true });
  if (state.ending === undefined) return;
  for (const output of programs.values()) if (output !== undefined) removeIfChanged(output);
}

/** Removes an output that is half-written. */
export function removeIfChanged({ path, before }: ProgramOutput): void {
  if (stateOf(path) !== before) fs.rmSync(path, { force: true });
}

/** Changes whenever a file is written or replaced. Only what is regular is ever removed. */
function stateOf(path: string): string {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}` : "";
}
