import type { CodeModel } from "../../lto/codegen/target.js";
import type { GlobalValue } from "../../lto/ir/module.js";

/** What the printer needs to know about the output. */
export interface AsmOptions {
  /** `static`: fixed addresses in the low 2 GB; `pie` and `pic`: position independent. */
  readonly relocation: "static" | "pie" | "pic";
  /** Absent: small. */
  readonly codeModel?: CodeModel;
  /** Bytes up to which variables are near the code; absent: all are. */
  readonly nearData?: number;
  /** Give data no more than the ABI's alignment (else LLVM's preferred one). */
  readonly minsize?: boolean;
  /** A section for each function (`.text.name`), so that a linker can order or drop them. */
  readonly functionSections?: boolean;
  /** Symbols that the linker must keep although nothing mentions them (`llvm.used`). */
  readonly retained?: ReadonlySet<GlobalValue>;
  readonly dataSections?: boolean;
  /** Text of `.ident`, the comment section; none when absent. */
  readonly ident?: string;
  /** The text has marks that say where code is from (`code-marks.ts`), which whoever writes it takes out. */
  readonly debugInfo?: boolean;
  /** Frames are described in .debug_frame alone, for debuggers. Only where no function has unwind tables. */
  readonly debugFrames?: boolean;
  /** No unwind tables at all. */
  readonly omitCfi?: boolean;
  /** Neighbouring functions have one unwind description where they can (`unwind-sharing.ts`). */
  readonly sharedUnwind?: boolean;
}
