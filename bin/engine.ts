/**
 * Settings of the JavaScript engine for programs that run for seconds. To be imported before anything large.
 *
 * V8's defaults suit servers: optimise early and inline much, since the program will run for hours. With them
 * half of the processor time of a link goes into optimising compilations in background threads. Baseline code
 * from the start, optimising later and with less inlining take about a third off the processor time of a link
 * (Lua and SQLite, -Oz). An engine that does not know a flag ignores it.
 */
import { setFlagsFromString } from "node:v8";

for (const flag of [
  "--always-sparkplug",
  "--interrupt-budget=400000",
  "--max-inlined-bytecode-size-cumulative=200",
])
  setFlagsFromString(flag);
