/** Programs of variable-programs.ts under gdb: what it says of variables where they stop, and what is wrong in it. */
import { run } from "./process.js";
import { findProgram } from "./root.js";
import type { Leaf, StopPlace } from "./variable-programs.js";

/** What gdb runs: a line for each stop, with the values of what is there as C would have it. */
export const stopScript = (places: readonly StopPlace[], stops: number): string => `
import gdb, json, struct
places = json.loads(${JSON.stringify(JSON.stringify(places))})
gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set disable-randomization on")
gdb.execute("run")
def part(frame, path):
    if path.startswith("*"):
        value = frame.read_var(path[1:])
        if value.is_optimized_out: return None
        return value.dereference()
    names = path.split(".")
    value = frame.read_var(names[0])
    for name in names[1:]: value = value[name]
    return value
def text(frame, leaf):
    try:
        value = part(frame, leaf["path"])
        if value.is_optimized_out: return "-"
        kind = leaf["kind"]
        if kind == "integer": return "%x" % (int(value) & (2 ** 64 - 1))
        if kind == "float": return "%x" % struct.unpack("<I", struct.pack("<f", float(value)))[0]
        return "%x" % struct.unpack("<Q", struct.pack("<d", float(value)))[0]
    except gdb.error as e:
        return "-" if "optimized out" in str(e) else "!" + str(e).replace(" ", "_")
    except ValueError as e:
        return "?"
for n in range(${stops}):
    try: frame = gdb.newest_frame()
    except gdb.error: break
    if frame.name() == "stop_in_callee":
        number = int(frame.read_register("rdi")) & 0xffffffff
        frame = frame.older()
    else:
        number = struct.unpack("<I", gdb.selected_inferior().read_memory(frame.pc() + 3, 4).tobytes())[0]
    if number >= len(places):
        print("@bad place %d" % number)
        break
    print("@" + " ".join([str(number)] + [text(frame, leaf) for leaf in places[number]["leaves"]]))
    gdb.execute("continue", to_string=True)
`;

const mostSeconds = 120;

/** A value as the program prints it, in the variable's own bytes. */
function normal(text: string, { kind, size }: Leaf): string {
  return kind === "integer" ? BigInt.asUintN(8 * size, BigInt(`0x${text}`)).toString(16) : text;
}

/** What gdb says at each stop, one after the other: the number of the place, and the values. */
export async function stopsOf(gdb: string, commands: string, exe: string): Promise<string[][]> {
  // The program is in a process group of its own, so gdb's time limit is not its; the processor's is.
  const limit = findProgram("prlimit") === undefined ? [] : ["prlimit", `--cpu=${mostSeconds}`, "--core=0"];
  const said = await run([...limit, gdb, "-q", "-nx", "-batch", "-x", commands, exe], {
    timeoutMs: 1000 * mostSeconds,
    maxOutput: 1 << 24,
  });
  const lines = said.stdout.toString().split("\n");
  const stops = lines.filter((line) => line.startsWith("@")).map((line) => line.slice(1).split(" "));
  if (stops.length === 0) throw new Error(`gdb: ${said.stderr.slice(0, 500)}`);
  return stops;
}

export interface Wrong {
  /** Which of the values of the stop, from 1 on. */
  readonly at: number;
  readonly text: string;
}

export interface StopCounts {
  compared: number;
  optimizedOut: number;
  /** gdb knows no such variable there. */
  unknown: number;
}

/** What is said at a stop against what the program printed. @throws Error where the program is elsewhere */
export function compare(
  said: readonly string[],
  printed: readonly string[],
  places: readonly StopPlace[],
): { readonly wrong: Wrong[]; readonly counts: StopCounts } {
  if (said[0] !== printed[0]) throw new Error(`stops at ${said.join(" ")}, not at ${printed[0]}`);
  const counts: StopCounts = { compared: 0, optimizedOut: 0, unknown: 0 };
  const wrong = places[Number(said[0])]!.leaves.flatMap((leaf, i): Wrong[] => {
    const text = said[i + 1]!;
    counts[text === "-" ? "optimizedOut" : text === "?" ? "unknown" : "compared"]++;
    if (text === "-" || text === "?") return [];
    const wanted = normal(printed[i + 1]!, leaf);
    const got = text.startsWith("!") ? text : normal(text, leaf);
    return got === wanted
      ? []
      : [{ at: i + 1, text: `place ${said[0]}: ${leaf.path} is ${got}, not ${wanted}` }];
  });
  return { wrong, counts };
}
