/** Names of the forms of outlined code, for options, which need no more of the outliner. */
export const outlineForms = ["call", "thunk", "jump"] as const;
export type OutlineForm = (typeof outlineForms)[number];
