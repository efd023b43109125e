/** Nodes of the flow graph that stand for no value of the program. */

/** What may hold any address. */
export const unknownNode = 0;
/** Whatever gets here is open to unknown code. */
export const leakNode = 1;
/** In place of a node: a value that is no address (null, undefined). */
export const noNode = -1;
