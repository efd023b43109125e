/** What a tool has tried: a line each, how many in the end, and the exit code. */
export interface Tally {
  report(ok: boolean, what: string, detail?: string): void;
  finish(): void;
}

/** @param showsAll also what went well */
export function makeTally(showsAll = true): Tally {
  let passed = 0;
  let failed = 0;
  return {
    report(ok, what, detail = "") {
      if (ok) passed++;
      else failed++;
      if (!ok || showsAll)
        console.log(`${ok ? "ok  " : "FAIL"} ${what}${detail === "" ? "" : `: ${detail}`}`);
    },
    finish() {
      console.log(`${passed} passed, ${failed} failed`);
      process.exitCode = failed > 0 ? 1 : 0;
    },
  };
}
