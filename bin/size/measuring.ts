/** Links one subject with many settings, in this process, and measures the bytes of each result. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Addresses } from "../../formats/program/addresses.js";
import { Image } from "../../formats/program/image.js";
import { type Use, useOf } from "../../formats/program/parts.js";
import type { SizeReport } from "../../formats/size-report/schema.js";
import { InputError } from "../../lto/ir/errors.js";
import { productPasses } from "../../lto/pipeline/registry.js";
import type { Host } from "../host/host.js";
import { filesIn } from "../host/native-members.js";
import type { DriverOptions } from "../lto/driver-options.js";
import { runJob } from "../lto/job.js";
import { makeCommand, parseOptions } from "../lto/options.js";
import { runToCompletion } from "../lto/scheduler.js";
import { median } from "./effects.js";
import { besideSuffix, loadProgram } from "./load.js";
import { compileByLld, findLld, type Lld } from "./peers.js";
import { type Subject, timedRun } from "./subject.js";

export interface Measured {
  readonly bytes: Readonly<Partial<Record<Use, number>>>;
  /** Code, unwind tables, constants and relocations: what is loaded besides writable data. */
  readonly loaded: number;
  /** Of the file, with symbols. */
  readonly file: number;
  /** Processor time of the link without assembling, in milliseconds, the median; NaN where the link was not ours. */
  readonly link: number;
  /** Of each link, and the median of the runs and each of them, in milliseconds; null: there were none. */
  readonly links: readonly number[];
  readonly run: number | null;
  readonly runs: readonly number[] | null;
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
  private lld: Lld | null = null;

  /**
   * @param directory for what is made
   * @param runs null: programs are not run
   * @param repeated links of each setting, for their processor time
   * @param tell is told what is linked next
   */
  constructor(
    private readonly subject: Subject,
    private readonly directory: string,
    private readonly host: Host,
    private readonly runs: Runs | null,
    private readonly tell: (what: string) => void,
    private readonly repeated = 1,
  ) {}

  /** Measures with more options; those that were measured before are not linked again. @throws InputError, LinkError */
  async with(options: readonly string[], what: string): Promise<Measured> {
    const key = [...options].sort().join(" ");
    const before = this.known.get(key);
    if (before !== undefined) return before;
    this.tell(what);
    this.links++;
    const assembly = join(this.directory, "program.s");
    const links: number[] = [];
    for (let n = 0; n < this.repeated; n++) {
      const begin = process.cpuUsage();
      writeFileSync(assembly, await this.optimised(options));
      const { user, system } = process.cpuUsage(begin);
      links.push((user + system) / 1000);
    }
    const program = join(this.directory, "program");
    await this.subject.link(assembly, filesIn(this.natives), program);
    const measured = this.measure(program, links);
    this.known.set(key, measured);
    return measured;
  }

  /** Where machine code of modules is that cannot be compiled here. */
  private get natives(): string {
    return join(this.directory, "native");
  }

  private async optimised(options: readonly string[], how: Partial<DriverOptions> = {}): Promise<Uint8Array> {
    const { host, natives } = this;
    rmSync(natives, { recursive: true, force: true });
    const quiet = { writeOut: () => {}, writeErr: () => {} };
    const command = makeCommand("").exitOverride().configureOutput(quiet);
    const parsed = parseOptions(command, [...options, ...this.subject.words]);
    if (parsed.inputs.length === 0) throw new InputError("nothing to measure: no inputs after --");
    const { contents } = await runJob(
      { ...parsed, output: "-", emit: "asm", cacheDir: null, nativeModules: natives, ...how },
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
    return this.measure(program, []);
  }

  /** The program with LLVM's link-time optimisation. @param name one of `peerNames` @throws InputError */
  async byLld(name: string): Promise<Measured> {
    this.tell(name);
    const { host, directory, natives, subject } = this;
    this.lld ??= await findLld(host);
    const bitcode = join(directory, "before.bc");
    // Without optimisation only what no linked module can go without is done.
    const before = { emit: "bitcode", level: "O0", bitcodeVersion: this.lld.version } as const;
    writeFileSync(bitcode, await this.optimised([], before));
    const [object, program] = [join(directory, "lld.o"), join(directory, "lld")];
    await compileByLld(this.lld, name, bitcode, object, host);
    await subject.link(object, filesIn(natives), program);
    return this.measure(program, []);
  }

  /** Links with everything once more. @returns what the program is, with what the link tells of it */
  async report(): Promise<SizeReport> {
    const file = join(this.directory, "whole");
    writeFileSync(`${file}.s`, await this.optimised([`--size-report=${file}${besideSuffix}`]));
    await this.subject.link(`${file}.s`, filesIn(this.natives), file);
    return { ...(await loadProgram(file, {}, this.host)), file: this.subject.name };
  }

  private measure(program: string, links: readonly number[]): Measured {
    const image = new Image(readFileSync(program));
    const bytes: Partial<Record<Use, number>> = {};
    for (const section of new Addresses(image).loaded) {
      const use = useOf(section);
      bytes[use] = (bytes[use] ?? 0) + section.size;
    }
    const { code = 0, unwind = 0, constants = 0, relocations = 0 } = bytes;
    const runs = this.runTimes(program);
    return {
      bytes,
      loaded: code + unwind + constants + relocations,
      file: statSync(program).size,
      link: links.length === 0 ? Number.NaN : median(links),
      links,
      run: runs === null ? null : median(runs),
      runs,
    };
  }

  private runTimes(program: string): readonly number[] | null {
    const { runs, host } = this;
    if (runs === null) return null;
    return Array.from({ length: runs.times }, () => timedRun(runs.command, program, host));
  }
}
