/**
 * Differences of two texts by lines, for `--print-changed=diff`.
 *
 * Common lines at both ends go first; between them the longest common subsequence by dynamic programming, quadratic in
 * what differs. Past `limit` cells the middle is shown as removed and added whole.
 */
const limit = 4_000_000;

/** Lines with `-`, `+` or a blank in front; unchanged ones only near changes. */
export function diffLines(before: string, after: string, context = 3): string {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    end++;
  const lines = [
    ...a.slice(0, start).map((line) => ` ${line}`),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map((line) => ` ${line}`),
  ];
  const near = lines.map(() => false);
  lines.forEach((line, i) => {
    if (line.startsWith(" ")) return;
    for (let k = Math.max(0, i - context); k <= Math.min(lines.length - 1, i + context); k++) near[k] = true;
  });
  let text = "";
  lines.forEach((line, i) => {
    if (near[i]) text += `${line}\n`;
    else if (i > 0 && near[i - 1]) text += "…\n";
  });
  return text;
}

function middle(a: readonly string[], b: readonly string[]): string[] {
  const removed = a.map((line) => `-${line}`);
  const added = b.map((line) => `+${line}`);
  const width = b.length + 1;
  if (a.length * b.length > limit) return [...removed, ...added];
  // common[i * width + k]: length of the longest common subsequence of a from i on and b from k on.
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let k = b.length - 1; k >= 0; k--)
      common[i * width + k] =
        a[i] === b[k]
          ? common[(i + 1) * width + k + 1]! + 1
          : Math.max(common[(i + 1) * width + k]!, common[i * width + k + 1]!);
  const lines: string[] = [];
  let i = 0;
  let k = 0;
  while (i < a.length && k < b.length) {
    if (a[i] === b[k]) {
      lines.push(` ${a[i]}`);
      i++;
      k++;
    } else if (common[(i + 1) * width + k]! >= common[i * width + k + 1]!) lines.push(removed[i++]!);
    else lines.push(added[k++]!);
  }
  return [...lines, ...removed.slice(i), ...added.slice(k)];
}
