/** Links one subject with many settings, in this process, and measures the bytes of each result. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Addresses } from "../../formats/program/addresses.js";
import { Image } from "../../formats/program/image.js";
import { type Use, useOf } from "../../formats/program/parts.js";
import { InputError } from "../../lto/ir/errors.js";
import { productPasses } from "../../lto/pipeline/registry.js";
import type { Host } from "../host/host.js";
import { filesIn } from "../host/native-members.js";
import { runJob } from "../lto/job.js";
import { makeCommand, parseOptions } from "../lto/options.js";
import { runToCompletion } from "../lto/scheduler.js";
import { median } from "./effects.js";
import { type Subject, timedRun } from "./subject.js";

export interface Measured {
  readonly bytes: Readonly<Partial<Record<Use, number>>>;
  /** Code, unwind tables, constants and relocations: what is loaded besides writable data. */
  readonly loaded: number;
  /** Of the file, with symbols. */
  readonly file: number;
  /** Processor time of the link without assembling, in milliseconds; NaN where the link was not ours. */
  readonly link: number;
  /** Median of the runs, in milliseconds; null: there were none. */
  readonly run: number | null;
}

export interface Runs {
  /** For the shell; `$PROGRAM` is the program. */
  readonly command: string;
  readonly times: number;
}

export class Measuring {
  private readonly known = new Map<string, Measured>();
  /** How many links there were. */
  links = 0;

  /**
   * @param directory for what is made
   * @param runs null: programs are not run
   * @param tell is told what is linked next
   */
  constructor(
    private readonly subject: Subject,
    private readonly directory: string,
    private readonly host: Host,
    private readonly runs: Runs | null,
    private readonly tell: (what: string) => void,
  ) {}

  /** Measures with more options; those that were measured before are not linked again. @throws InputError, LinkError */
  async with(options: readonly string[], what: string): Promise<Measured> {
    const key = [...options].sort().join(" ");
    const before = this.known.get(key);
    if (before !== undefined) return before;
    this.tell(what);
    this.links++;
    const assembly = join(this.directory, "program.s");
    const begin = process.cpuUsage();
    writeFileSync(assembly, await this.optimised(options));
    const { user, system } = process.cpuUsage(begin);
    const program = join(this.directory, "program");
    await this.subject.link(assembly, filesIn(this.natives), program);
    const measured = this.measure(program, (user + system) / 1000);
    this.known.set(key, measured);
    return measured;
  }

  /** Where machine code of modules is that cannot be compiled here. */
  private get natives(): string {
    return join(this.directory, "native");
  }

  private async optimised(options: readonly string[]): Promise<Uint8Array> {
    const { host, natives } = this;
    rmSync(natives, { recursive: true, force: true });
    const quiet = { writeOut: () => {}, writeErr: () => {} };
    const command = makeCommand("").exitOverride().configureOutput(quiet);
    const parsed = parseOptions(command, [...options, ...this.subject.words]);
    if (parsed.inputs.length === 0) throw new InputError("nothing to measure: no inputs after --");
    const { contents } = await runJob(
      { ...parsed, output: "-", emit: "asm", cacheDir: null, nativeModules: natives },
      {
        host,
        set: productPasses,
        scheduler: runToCompletion,
        diagnose: ({ severity, message }) => {
          if (severity === "error") host.stderr(Buffer.from(`tsc-lto: ${severity}: ${message}\n`));
        },
        print: () => {},
      },
    );
    return contents!;
  }

  /** A program that somebody else made, by a command for the shell that writes `$PROGRAM`. */
  other(name: string, command: string): Measured {
    this.tell(name);
    const program = join(this.directory, `other-${name.replace(/\W/g, "_")}`);
    timedRun(command, program, this.host);
    return this.measure(program, Number.NaN);
  }

  private measure(program: string, link: number): Measured {
    const image = new Image(readFileSync(program));
    const bytes: Partial<Record<Use, number>> = {};
    for (const section of new Addresses(image).loaded) {
      const use = useOf(section);
      bytes[use] = (bytes[use] ?? 0) + section.size;
    }
    const { code = 0, unwind = 0, constants = 0, relocations = 0 } = bytes;
    return {
      bytes,
      loaded: code + unwind + constants + relocations,
      file: statSync(program).size,
      link,
      run: this.runTime(program),
    };
  }

  private runTime(program: string): number | null {
    const { runs, host } = this;
    if (runs === null) return null;
    return median(Array.from({ length: runs.times }, () => timedRun(runs.command, program, host)));
  }
}
