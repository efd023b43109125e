/** What the service and its worker processes say to each other, by Node's channel. */
import type { ProgramOutput } from "../host/interrupts.js";
import type { Request } from "./protocol.js";

/** In the environment of a worker process and of all that it starts: whose they are. */
export const markName = "TSC_LTO_WORKER";

export type ToWorker =
  | { readonly kind: "job"; readonly request: Request }
  /** The answer to `ask`. */
  | { readonly kind: "go" };

export type FromWorker =
  /** It can take jobs. */
  | { readonly kind: "ready" }
  /** Before what cannot be taken back: whether somebody still waits for the job. */
  | { readonly kind: "ask" }
  | { readonly kind: "temporary"; readonly path: string; readonly exists: boolean }
  | {
      readonly kind: "program";
      readonly id: string;
      readonly runs: boolean;
      readonly group: number | undefined;
      readonly output: ProgramOutput | undefined;
    }
  | JobDone
  /** The client has to do it itself. */
  | { readonly kind: "cannot"; readonly why: string };

export interface JobDone {
  readonly kind: "done";
  readonly code: number;
  readonly output: readonly { readonly fd: 1 | 2; readonly bytes: Uint8Array }[];
  /** Bytes of memory that the process has now. */
  readonly memory: number;
}
