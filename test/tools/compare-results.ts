/** `npm run compare-results -- OLD NEW`: what changed between two results files of torture or csmith. */
import { readOutcomes } from "./batch.js";

const [oldFile, newFile] = process.argv.slice(2);
if (oldFile === undefined || newFile === undefined) {
  console.error("usage: npm run compare-results -- OLD.jsonl NEW.jsonl");
  process.exit(2);
}
const before = readOutcomes(oldFile);
const after = readOutcomes(newFile);
const changes: string[] = [];
let worse = 0;
const rank = { pass: 0, skipped: 1, unsupported: 2, fail: 3 } as const;
for (const [key, now] of after) {
  const was = before.get(key);
  if (was === undefined || was.verdict === now.verdict) continue;
  if (rank[now.verdict] > rank[was.verdict]) worse++;
  changes.push(
    `${rank[now.verdict] > rank[was.verdict] ? "worse " : "better"}  ${key}: ${was.verdict} -> ${now.verdict} ${now.stage ?? ""}`,
  );
}
console.log(changes.sort().join("\n"));
console.log(`${changes.length - worse} better, ${worse} worse, ${after.size} compared`);
process.exitCode = worse > 0 ? 1 : 0;
