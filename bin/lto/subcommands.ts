/**
 * First words that ask for something else than a link, and for what; a file of such a name is written `./size`. What they
 * do is in bin/size, and loaded when one is asked for.
 */
export const subcommands: ReadonlyMap<string, string> = new Map([
  ["size", "where the bytes of a program are, and whether they keep to a budget"],
  ["diff", "what changed from one program to another"],
  ["why", "why a symbol is kept, open to unknown code, or changes registers"],
  ["measure", "what each decision of a link saves"],
  ["serve", "a service that stays warm, so that links take less time"],
  ["worker", "compile functions for links that have a farm on Redis"],
  ["distribute", "a distributor for links that have their functions compiled in other processes"],
  ["compile-unit", "compile functions for such a link"],
  ["man", "manual pages"],
  ["completion", "completions for bash, zsh and fish"],
]);
