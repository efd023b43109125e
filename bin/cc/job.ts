/** One run of a compiler on one source. All plain data: it crosses to worker threads. */
export interface Job {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Uint8Array | undefined;
  /**
   * Where a temporary file may lie for the bitcode that the arguments make the compiler write; its path is added to
   * them. Undefined: the arguments ask for something else.
   */
  readonly bitcodeIn: string | undefined;
  /**
   * Options for clang to make machine code of the bitcode: `beside` the IR, or `instead` of it where the module has
   * unsupported constructs. Undefined: that is an error.
   */
  readonly machineCode?: { readonly wanted: "beside" | "instead"; readonly options: readonly string[] };
  /** The object is IR alone, without an ELF shell. */
  readonly bare?: boolean;
  /** The bitcode is wanted, too. */
  readonly keepsBitcode?: boolean;
  /** The source, for messages. */
  readonly source: string;
  /** Absolute path of the dependency file that the arguments ask for. */
  readonly dependencies: string | undefined;
  /** The arguments make clang print dependencies on standard output. */
  readonly printsDependencies: boolean;
  /** What it says is in the result alone, not passed on as it comes. */
  readonly captured?: boolean;
}

export interface JobResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Something to say of a job that did not fail. */
  readonly warning?: string;
  /** Why the job failed after (or outside) the compiler's own diagnostics. */
  readonly error?: string;
  readonly bitcode?: Uint8Array;
  /** The IR object made of the bitcode. */
  readonly object?: Uint8Array;
}
