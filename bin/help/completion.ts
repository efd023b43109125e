/** Completions for bash, zsh and fish. */
import type { DescribedOption } from "../lto/help.js";
import type { DescribedCommand } from "./commands.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Where the shells look for the completions of a package, below its folder for shared files. */
export const completionFiles: Readonly<Record<Shell, string>> = {
  bash: "bash-completion/completions/tsc-lto",
  zsh: "zsh/site-functions/_tsc-lto",
  fish: "fish/vendor_completions.d/tsc-lto.fish",
};

/** What a word of the command line completes to. */
type Value = { readonly words: readonly string[] } | "file" | "dir" | "any";

/** An option as shells see it. */
interface Word {
  /** With dashes, without value; `-Wl,` and `-fuse-ld=` as they begin. */
  readonly names: readonly string[];
  readonly text: string;
  /** Absent: it takes none. */
  readonly value?: Value;
  /** The value may be left out, so it is in the same word. */
  readonly optional: boolean;
  /** The value follows in the same word. */
  readonly joined: boolean;
}

function wordsOf(command: DescribedCommand): Word[] {
  return command.groups.flatMap(({ rows }) =>
    rows.filter(({ flags }) => flags.startsWith("-")).flatMap(wordsOfOption),
  );
}

/** `-j, --jobs <n>` is one option with two names, `--start-lib, --end-lib` are two. */
function wordsOfOption({ flags, text, choices, file }: DescribedOption): Word[] {
  const parts = flags.split(/, (?=-)/).map((part) => /^([^ <[]*?)(?:([= ]?)([<[].*))?$/.exec(part)!);
  const bracket = parts.at(-1)![3];
  const value = bracket === undefined ? {} : { value: completedBy(bracket, choices, file) };
  const common = {
    text,
    optional: bracket?.startsWith("[") === true,
    joined: bracket !== undefined && parts.at(-1)![2] !== " ",
  };
  const names = parts.map(([, name]) => (common.joined && name!.endsWith("=") ? name!.slice(0, -1) : name!));
  const isOne = names.length === 2 && names[0]!.length === 2 && names[1]!.startsWith("--");
  return isOne || names.length === 1
    ? [{ names, ...common, ...value }]
    : names.map((name) => ({ names: [name], ...common, ...value }));
}

function completedBy(
  bracket: string,
  choices: readonly string[] | undefined,
  file: "file" | "dir" | undefined,
): Value {
  if (choices !== undefined) return { words: choices };
  if (file !== undefined) return file;
  if (/^[<[](?:file|path|prefix)\b/.test(bracket)) return "file";
  return /^[<[]dir\b/.test(bracket) ? "dir" : "any";
}

/** What the command's first argument may be, if it is one of these. */
const operandsOf = ({ groups, subcommands }: DescribedCommand): readonly string[] => [
  ...subcommands.map(lastWord),
  ...groups.flatMap(({ rows }) =>
    rows.flatMap(({ flags, choices }) => (flags.startsWith("-") ? [] : (choices ?? []))),
  ),
];

export function completion(shell: Shell, commands: readonly DescribedCommand[]): string {
  const known = commands.filter(({ name }) => name !== "ld.tsc-lto");
  return shell === "bash" ? bash(known) : shell === "zsh" ? zsh(known) : fish(known);
}

const functionName = ({ name }: DescribedCommand): string =>
  `_${name.replace(/\+\+/, "xx").replaceAll(/[ .-]/g, "_")}`;
const lastWord = ({ name }: DescribedCommand): string => name.split(" ").at(-1)!;

function bash(commands: readonly DescribedCommand[]): string {
  const functions = commands.flatMap((command) => [...command.subcommands, command]).map(bashFunction);
  const ties = commands.map(
    (command) => `complete -o bashdefault -o default -F ${functionName(command)} ${command.name}\n`,
  );
  return `# Completions of bash for tsc-lto, made by: tsc-lto completion bash\n\n${functions.join("\n")}\n${ties.join("")}`;
}

function bashFunction(command: DescribedCommand): string {
  const words = wordsOf(command);
  const cases = (form: "next" | "joined"): string =>
    words
      .filter(
        ({ value, optional, joined }) =>
          value !== undefined && value !== "any" && (form === "joined" || !(optional || joined)),
      )
      .map(({ names, value }) => `      ${names.join("|")}) ${bashReply(value!)} ;;\n`)
      .join("");
  const { subcommands } = command;
  const firsts = operandsOf(command).join(" ");
  const position = command.name.split(" ").length;
  const delegate =
    subcommands.length === 0
      ? ""
      : `  if ((COMP_CWORD > 1)); then
    case \${COMP_WORDS[1]} in
${subcommands.map((one) => `      ${lastWord(one)}) ${functionName(one)}; return ;;\n`).join("")}    esac
  fi
`;
  const all = words.flatMap(({ names, joined }) =>
    names.map((name) => (joined && !name.endsWith(",--") ? `${name}=` : name)),
  );
  const clang =
    command.asksClang === true ? ` $("\${COMP_WORDS[0]}" --autocomplete="$word" 2>/dev/null | cut -f1)` : "";
  return `${functionName(command)}() {
  local word=\${COMP_WORDS[COMP_CWORD]} name=\${COMP_WORDS[COMP_CWORD-1]} form=next
  COMPREPLY=()
${delegate}  # Bash takes --option=value for three words.
  if [[ $word == "=" ]]; then
    word= form=joined
  elif [[ $name == "=" ]]; then
    name=\${COMP_WORDS[COMP_CWORD-2]} form=joined
  fi
  if [[ $form == joined ]]; then
    case $name in
${cases("joined")}    esac
    [[ \${#COMPREPLY[@]} -gt 0 ]] && return
  else
    case $name in
${cases("next")}    esac
    [[ \${#COMPREPLY[@]} -gt 0 ]] && return
  fi
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${all.join(" ")}${clang}" -- "$word" | sort -u)
    [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace
${firsts === "" ? "" : `  elif ((COMP_CWORD == ${position})); then\n    mapfile -t COMPREPLY < <(compgen ${subcommands.length > 0 ? "-f " : ""}-W "${firsts}" -- "$word")\n`}  fi
  return 0
}
`;
}

const bashReply = (value: Value): string =>
  `mapfile -t COMPREPLY < <(compgen ${value === "file" ? "-f" : value === "dir" ? "-d" : `-W "${wordList(value)}"`} -- "$word")`;

const wordList = (value: Value): string => (typeof value === "object" ? value.words.join(" ") : "");

function zsh(commands: readonly DescribedCommand[]): string {
  const functions = commands.flatMap((command) => [...command.subcommands, command]).map(zshFunction);
  const cases = commands.map((command) => `  ${command.name}) ${functionName(command)}_words ;;\n`).join("");
  return `#compdef ${commands.map(({ name }) => name).join(" ")}
# Completions of zsh for tsc-lto, made by: tsc-lto completion zsh

${functions.join("\n")}
case $service in
${cases}esac
`;
}

function zshFunction(command: DescribedCommand): string {
  const specs = wordsOf(command).flatMap((word) =>
    word.names.map((name) => `    ${zshSpec(name, word)} \\\n`),
  );
  const { subcommands } = command;
  const delegate =
    subcommands.length === 0
      ? ""
      : `  if (( CURRENT > 2 )); then
    case $words[2] in
${subcommands.map((one) => `      ${lastWord(one)}) shift words; (( CURRENT-- )); ${functionName(one)}_words; return ;;\n`).join("")}    esac
  fi
`;
  const described = subcommands.map((one) => `'${inSingle(`${lastWord(one)}:${one.brief}`)}'`).join(" ");
  const name = functionName(command);
  const operands = operandsOf(command).join(" ");
  const firsts =
    subcommands.length === 0
      ? ""
      : `${name}_first() {
  local -a commands
  commands=(${described})
  _describe command commands
  _files
}

`;
  const first =
    subcommands.length > 0
      ? `    '1: :${name}_first' \\\n`
      : operands === ""
        ? ""
        : `    '1:word:(${operands})' \\\n`;
  const clang =
    command.asksClang === true
      ? `  if [[ $words[CURRENT] == -* ]]; then
    local -a flags
    flags=(\${(f)"$($words[1] --autocomplete=$words[CURRENT] 2>/dev/null | cut -f1)"})
    compadd -a flags
  fi
`
      : "";
  return `${firsts}${name}_words() {
${delegate}${clang}  _arguments -S \\
${specs.join("")}${first}    '*:input:_files'
}
`;
}

function zshSpec(name: string, { text, value, optional, joined }: Word): string {
  const mark = value === undefined ? "" : joined || optional ? "=-" : name.startsWith("--") ? "=" : "+";
  const action =
    value === undefined || value === "any"
      ? " "
      : value === "file"
        ? "_files"
        : value === "dir"
          ? "_files -/"
          : `(${wordList(value)})`;
  const after = value === undefined ? "" : `:${optional ? ":" : ""}value:${action}`;
  return `'*${inSingle(`${name}${mark}[${zshText(text)}]${after}`)}'`;
}

/** Text in brackets of a specification. */
const zshText = (text: string): string => text.replace(/[[\]:\\]/g, "\\$&");
const inSingle = (text: string): string => text.replaceAll("'", "'\\''");

function fish(commands: readonly DescribedCommand[]): string {
  const lines = ["# Completions of fish for tsc-lto, made by: tsc-lto completion fish"];
  for (const command of commands) {
    const { name, subcommands } = command;
    const names = subcommands.map(lastWord).join(" ");
    const outside = names === "" ? "" : ` -n 'not __fish_seen_subcommand_from ${names}'`;
    for (const word of wordsOf(command)) lines.push(fishLine(name, outside, word));
    if (command.asksClang === true)
      lines.push(
        `complete -c ${name} -n 'string match -q -- "-*" (commandline -ct)' -a '(${name} --autocomplete=(commandline -ct) 2>/dev/null)'`,
      );
    for (const one of subcommands) {
      const own = lastWord(one);
      lines.push(`complete -c ${name} -n __fish_is_first_arg -a ${own} -d ${fishText(one.brief)}`);
      for (const word of wordsOf(one))
        lines.push(fishLine(name, ` -n '__fish_seen_subcommand_from ${own}'`, word));
      const operands = operandsOf(one);
      if (operands.length > 0)
        lines.push(
          `complete -c ${name} -n '__fish_seen_subcommand_from ${own}' -xa ${fishText(operands.join(" "))}`,
        );
    }
  }
  return `${lines.join("\n")}\n`;
}

function fishLine(command: string, condition: string, { names, text, value, optional }: Word): string {
  const spelled = names.map((name) =>
    name.startsWith("--")
      ? `-l ${name.slice(2)}`
      : name.length === 2
        ? `-s ${name.slice(1)}`
        : `-o ${name.slice(1)}`,
  );
  // What may have no value is no option with a parameter.
  const takes =
    value === undefined || optional
      ? ""
      : value === "file"
        ? " -rF"
        : value === "dir"
          ? " -xa '(__fish_complete_directories)'"
          : value === "any"
            ? " -x"
            : ` -xa ${fishText(wordList(value))}`;
  return `complete -c ${command}${condition} ${spelled.join(" ")}${takes} -d ${fishText(text)}`;
}

const fishText = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;
