/** What passes and options were called in earlier versions, which command lines may still say; no help names them. */

/** Names of passes, and what these are called. */
export const formerPassNames: ReadonlyMap<string, string> = new Map([
  ["bind-arguments", "constant-argument-thunks"],
  ["center-parameters", "bias-pointer-arguments"],
  ["center-pointers", "bias-pointers"],
  ["fold-functions", "icf"],
  ["known-equal", "equality-propagation"],
  ["merge-functions", "merge-similar-functions"],
  ["shrink-tables", "narrow-constant-tables"],
  ["use-returned", "returned-argument-propagation"],
]);

/** Options, and how these are written. */
export const formerOptions: readonly (readonly [former: string, option: string])[] = [
  ["--no-fall-through", "--no-function-layout"],
];
