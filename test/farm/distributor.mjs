/**
 * A distributor for tests: one job after the other, as the description says, or with a fault.
 * Words: how, then (last) the description.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
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

const outputs = jobs.map((job) => job.outputs[0]);
switch (how) {
  case "damaged":
    for (const output of outputs) {
      const bytes = readFileSync(output);
      bytes[Math.floor(bytes.length / 2)] ^= 4;
      writeFileSync(output, bytes);
    }
    break;
  case "cut":
    for (const output of outputs) writeFileSync(output, readFileSync(output).subarray(0, -9));
    break;
  case "lost":
    for (const output of outputs) rmSync(output);
    break;
  case "mixed":
    // Each job has the answer of its neighbour.
    copyFileSync(outputs[0], `${outputs[0]}.first`);
    for (const [i, output] of outputs.entries())
      copyFileSync(outputs[i + 1] ?? `${outputs[0]}.first`, output);
    rmSync(`${outputs[0]}.first`);
    break;
}
