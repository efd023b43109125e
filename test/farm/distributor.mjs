/**
 * A distributor for tests: one job after the other, as the description says, or with a fault.
 * Words: how, then (last) the description.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";

const [how, file] = process.argv.slice(2);
const { common, jobs } = JSON.parse(readFileSync(file, "utf8"));
if (how === "talkative") {
  // More than a process has memory for, were it kept.
  for (let i = 0; i < 300; i++) writeSync(1, Buffer.alloc(1 << 20, "words "));
  writeSync(2, "its last words");
  process.exit(3);
}

const isolated =
  'exec 3>"$1" 4<"$2"; mount -t tmpfs none "$3" && mkdir -p "$(dirname "$2")" && cat <&4 >"$2" && input=$2 output=$1 && shift 3 && "$@" && cat "$output" >&3';

for (const { args, inputs, outputs } of how === "reversed" ? [...jobs].reverse() : jobs) {
  const [program, ...words] = [...common.args, ...args];
  if (how === "isolated") {
    // Nothing of the link is there but what the job says that it reads, and there is no network.
    const hidden = dirname(dirname(inputs[0]));
    execFileSync("unshare", [
      "-rmn",
      "sh",
      "-c",
      isolated,
      "sh",
      outputs[0],
      inputs[0],
      hidden,
      program,
      ...words,
    ]);
  } else execFileSync(program, words);
}

// What is spoiled, phase by phase; it is written down, for the next phase to know which it is.
const faults = [["damaged", "cut"], ["lost"], ["mixed", "mixed"]];
if (how === "spoiled") {
  const journal = "spoiled";
  const before = existsSync(journal) ? readFileSync(journal, "latin1") : "";
  const now = faults[before.split(" ").length - 1] ?? [];
  const outputs = jobs.map((job) => job.outputs[0]);
  const answers = outputs.map((output) => readFileSync(output));
  for (const [i, output] of outputs.entries())
    spoil(now[i], output, answers[i], answers[(i + 1) % answers.length]);
  writeFileSync(journal, `${before}${outputs.map((_, i) => now[i]).join()} `);
}

function spoil(fault, output, answer, other) {
  if (fault === "lost") rmSync(output);
  else if (fault === "cut") writeFileSync(output, answer.subarray(0, -9));
  else if (fault === "mixed") writeFileSync(output, other);
  else if (fault === "damaged") {
    const bytes = Buffer.from(answer);
    bytes[Math.floor(bytes.length / 2)] ^= 4;
    writeFileSync(output, bytes);
  }
}
