/**
 * The options of the runner: one list, from which the command line, `--help`, LLVM's spellings behind `-mllvm` and the
 * manual are made. Options that belong to one pass come from the pass (`Pass.option`).
 */

/** The runner's options as plain data, for threads. */
export interface PassOptions {
  /** Passes with an option of their own that was given. */
  readonly enabled: readonly string[];
  readonly skipPass: readonly string[];
  /** Of the passes that may be skipped, only these run; null: all. */
  readonly onlyPasses: readonly string[] | null;
  /** The passes after the inliner in this order, as often as they are named; null: in that of the pipeline. */
  readonly passOrder: readonly string[] | null;
  /** The last run of a pass that may be skipped; -1: all run, and are listed; null: all run. */
  readonly optBisectLimit: number | null;
  /** Rules of passes and on machine code that are not applied. */
  readonly skipRule: readonly string[];
  /** The last application of such a rule in each function, or in that of `filterFunction`; -1: all, and they are listed. */
  readonly ruleBisectLimit: number | null;
  readonly verifyEach: boolean;
  /** Names of passes, or `all`. */
  readonly printBefore: readonly string[];
  readonly printAfter: readonly string[];
  readonly printChanged: "full" | "quiet" | "diff" | null;
  readonly filterFunction: string | null;
  readonly timePasses: boolean;
  readonly stats: boolean;
  /** Where the trace goes; the runner only asks whether there is one. */
  readonly timeTrace: string | null;
  /** Microseconds from which on an event is in the trace. */
  readonly timeTraceGranularity: number;
  /** Where remarks go; null: nobody wants them. */
  readonly optRemarksFilename: string | null;
  /** Regular expression for the passes whose remarks are kept; null: all. */
  readonly optRemarksPasses: string | null;
}

export const noPassOptions: PassOptions = {
  enabled: [],
  skipPass: [],
  onlyPasses: null,
  passOrder: null,
  optBisectLimit: null,
  skipRule: [],
  ruleBisectLimit: null,
  verifyEach: false,
  printBefore: [],
  printAfter: [],
  printChanged: null,
  filterFunction: null,
  timePasses: false,
  stats: false,
  timeTrace: null,
  timeTraceGranularity: 500,
  optRemarksFilename: null,
  optRemarksPasses: null,
};

export interface PassOption {
  /** Long name without dashes. */
  readonly name: string;
  readonly key: Exclude<keyof PassOptions, "enabled">;
  /** How the value is written in the manual: `<n>`, `[=<how>]`; empty for a switch. */
  readonly value: string;
  /** Somebody wants to see how the work is done: output that was kept is not enough. */
  readonly shows?: true;
  readonly kind: "switch" | "number" | "signed" | "passes" | "rules" | "text" | "pattern" | "choice";
  /** Of a choice: its words; the first is meant where none is given. */
  readonly choices?: readonly string[];
  readonly description: string;
  /** `--help` has it; `--help-all` has every one. */
  readonly everyday?: true;
  /** Names of the same option of LLVM's tools, for `-mllvm`. */
  readonly llvm: readonly string[];
}

/** In the order of the manual. */
export const passOptions: readonly PassOption[] = [
  {
    name: "stats",
    shows: true,
    everyday: true,
    key: "stats",
    value: "",
    kind: "switch",
    description: "print what passes and code generation count, on standard error",
    llvm: ["stats"],
  },
  {
    name: "time-passes",
    shows: true,
    everyday: true,
    key: "timePasses",
    value: "",
    kind: "switch",
    description: "print the time of each phase and pass, and of passes by IR instruction, on standard error",
    llvm: ["time-passes"],
  },
  {
    name: "time-trace",
    shows: true,
    key: "timeTrace",
    value: "<file>",
    kind: "text",
    description: "write the nested times of the whole run to a file, in the form of Chrome's tracing",
    llvm: [],
  },
  {
    name: "time-trace-granularity",
    key: "timeTraceGranularity",
    value: "<microseconds>",
    kind: "number",
    description: "shortest event in the trace (500)",
    llvm: [],
  },
  {
    name: "opt-remarks-filename",
    shows: true,
    key: "optRemarksFilename",
    value: "<file>",
    kind: "text",
    description: "write what passes decided, and why, to a file: LLVM's optimisation records, in YAML",
    llvm: ["pass-remarks-output", "lto-pass-remarks-output"],
  },
  {
    name: "opt-remarks-passes",
    key: "optRemarksPasses",
    value: "<regex>",
    kind: "pattern",
    description: "restrict these records to passes with such names",
    llvm: ["pass-remarks-filter", "lto-pass-remarks-filter"],
  },
  {
    name: "verify-each",
    shows: true,
    key: "verifyEach",
    value: "",
    kind: "switch",
    description: "verify the IR after each pass, and what the pass says of itself",
    llvm: ["verify-each"],
  },
  {
    name: "print-before",
    shows: true,
    key: "printBefore",
    value: "<pass,...>",
    kind: "passes",
    description:
      "print the IR of each function before these passes (all: before every one) on standard error",
    llvm: ["print-before"],
  },
  {
    name: "print-after",
    shows: true,
    key: "printAfter",
    value: "<pass,...>",
    kind: "passes",
    description: "the same after these passes",
    llvm: ["print-after"],
  },
  {
    name: "print-changed",
    shows: true,
    key: "printChanged",
    value: "[how]",
    kind: "choice",
    choices: ["full", "quiet", "diff"],
    description:
      "print the IR after passes that changed it: full tells of all passes, quiet of these, diff by lines",
    llvm: ["print-changed"],
  },
  {
    name: "filter-function",
    key: "filterFunction",
    value: "<name>",
    kind: "text",
    description: "restrict what is printed to one function",
    llvm: ["filter-print-funcs"],
  },
  {
    name: "skip-pass",
    everyday: true,
    key: "skipPass",
    value: "<pass,...>",
    kind: "passes",
    description: "leave out these passes",
    llvm: [],
  },
  {
    name: "only-passes",
    key: "onlyPasses",
    value: "<pass,...>",
    kind: "passes",
    description: "leave out all passes but these and those that code generation needs",
    llvm: [],
  },
  {
    name: "pass-order",
    key: "passOrder",
    value: "<pass,...>",
    kind: "passes",
    description: "run these after the inliner, in this order, instead of those that the pipeline has there",
    llvm: [],
  },
  {
    name: "opt-bisect-limit",
    shows: true,
    key: "optBisectLimit",
    value: "<n>",
    kind: "signed",
    description:
      "leave out passes after their first n runs, and list all runs on standard error; -1: only list",
    llvm: ["opt-bisect-limit"],
  },
  {
    name: "skip-rule",
    key: "skipRule",
    value: "<rule,...>",
    kind: "rules",
    description: "leave out these rules of passes and peepholes; --stats tells which are applied",
    llvm: [],
  },
  {
    name: "rule-bisect-limit",
    shows: true,
    key: "ruleBisectLimit",
    value: "<n>",
    kind: "signed",
    description:
      "apply rules of the peepholes n times in each function, or in that of --filter-function, and list them; -1: only list",
    llvm: [],
  },
];
