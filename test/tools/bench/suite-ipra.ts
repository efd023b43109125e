/**
 * `npm run bench -- --suite DIR --ipra`: what interprocedural register allocation costs and brings in programs of the LLVM test suite, of ours,
 * LLVM's and GCC's: each compiler's links and programs with it relative to those without, in turn.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { loadedSizes, programSizes } from "../elf-size.js";
import {
  type IpraFigure,
  type IpraFigures,
  type IpraOfProgram,
  ipraCompilers,
  ipraSection,
} from "../measurements/ipra.js";
import { available } from "./measure.js";
import { countInstructions, linkProgram, runProgram, selectPrograms } from "./suite.js";
import type { SuiteProgram } from "./suite-programs.js";

/** Seconds. GNU time has hundredths. */
const shortestRun = 0.2;

/** What there is of one side. */
interface Side {
  linkSeconds: number;
  runSeconds: number;
  instructions: number;
  text: number;
  loaded: number;
}

export interface IpraOptions {
  readonly level: string;
  readonly repeat: number;
  readonly jobs: number;
}

async function measureSides(
  program: SuiteProgram,
  tools: readonly string[],
  { repeat, ...options }: IpraOptions,
): Promise<Side[] | undefined> {
  const found = tools.map((name) => available(name));
  if (found.some((tool) => tool === undefined)) return undefined;
  const sides: Side[] = found.map(() => ({
    linkSeconds: Number.POSITIVE_INFINITY,
    runSeconds: Number.POSITIVE_INFINITY,
    instructions: Number.NaN,
    text: 0,
    loaded: 0,
  }));
  const outputs = new Set<string>();
  for (let round = 0; round < repeat; round++)
    for (const [i, tool] of found.entries()) {
      const side = sides[i]!;
      const { exe, linkSeconds } = await linkProgram(program, tool!, { ...options, measure: true });
      side.linkSeconds = Math.min(side.linkSeconds, linkSeconds);
      const { status, stdout, cpuSeconds } = await runProgram(program, exe, true);
      outputs.add(`${status} ${stdout.toString("latin1")}`);
      side.runSeconds = Math.min(side.runSeconds, cpuSeconds);
      if (round > 0) continue;
      const { text, unwind, rodata } = loadedSizes(programSizes(exe));
      side.text = text;
      side.loaded = text + unwind + rodata;
      side.instructions = await countInstructions(program, exe);
    }
  if (outputs.size > 1) console.error(`${program.name}: ${tools.join(" and ")} do not always write the same`);
  return sides;
}

/** @returns by compiler; those that are not installed are missing */
async function measureIpra(program: SuiteProgram, options: IpraOptions): Promise<IpraOfProgram> {
  const figures: Record<string, IpraFigure> = {};
  const ratio = (a: number, b: number): number => Number((a / b).toFixed(5));
  for (const { name, tools } of ipraCompilers) {
    const sides = await measureSides(program, tools, options);
    if (sides === undefined) continue;
    const [on, off] = sides as [Side, Side];
    figures[name] = {
      linkTime: ratio(on.linkSeconds, off.linkSeconds),
      instructions: ratio(on.instructions, off.instructions),
      runTime: off.runSeconds < shortestRun ? null : ratio(on.runSeconds, off.runSeconds),
      text: ratio(on.text, off.text),
      loaded: ratio(on.loaded, off.loaded),
    };
  }
  return figures;
}

/** Those that LLVM's documentation has figures of. */
const usual = ["SPASS", "make_dparser", "oggenc", "sphereflake"];

/**
 * Measures programs and prints the table of the level.
 * @param out a file of figures, where those of the programs are put at this level
 */
export async function compareIpra(
  suite: string,
  words: readonly string[],
  options: IpraOptions,
  out: unknown,
): Promise<void> {
  const file = out === undefined ? undefined : String(out);
  const none: IpraFigures = { command: "", commit: "", levels: {} };
  const known =
    file !== undefined && existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as IpraFigures) : none;
  const programs: Record<string, IpraOfProgram> = { ...known.levels[options.level] };
  for (const program of selectPrograms(suite, words.length > 0 ? words : usual)) {
    programs[program.name] = await measureIpra(program, options);
    const figures = { ...known, levels: { ...known.levels, [options.level]: programs } };
    if (file !== undefined) writeFileSync(file, `${JSON.stringify(figures, null, 1)}\n`);
  }
  console.log(ipraSection({ ...known, levels: { [options.level]: programs } }));
}
