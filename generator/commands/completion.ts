import { Argument, type Command, type Option } from "commander";
import { type CliCommand, EXIT } from "./command.js";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

export function configureCompletion(command: CliCommand): void {
  command
    .addArgument(new Argument("<shell>", "the shell that the script is for").choices(SHELLS))
    .runs((shell: Shell) => ({
      exit: EXIT.ok,
      output: SCRIPTS[shell](pathsBelow(command.parent as Command, "")),
    }))
    .helpEnd([
      "completion bash > /etc/bash_completion.d/routewright",
      "completion zsh  > ~/.zsh/routewright.zsh   # and `source` it in ~/.zshrc",
      "completion fish > ~/.config/fish/completions/routewright.fish",
    ]);
}

/** A command as a shell completes it. */
interface Completed {
  /** Names of the commands that lead to it, with a slash before each: `/keys/create`. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly Option[];
}

/** A command and all below it. */
function pathsBelow(command: Command, path: string): readonly Completed[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command).map((one) => ({
    name: one.name(),
    description: one.description(),
  }));
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const below = command.commands.flatMap((one) => pathsBelow(one, `${path}/${one.name()}`));
  return [{ path, subcommands, options }, ...below];
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  Shell,
  (commands: readonly Completed[]) => string
>;

/** Completes commands, options and an option's choices; else files. */
function bashScript(commands: readonly Completed[]): string {
  const known = commands.map(({ path }) => path).filter((path) => path !== "");
  return `# Completion of routewright for bash: routewright completion bash
_routewright() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case " ${known.join(" ")} " in *" $path/$word "*) path=$path/$word ;; esac
  done
  COMPREPLY=()
  case "$path $previous" in
${commands.flatMap(choiceCases).join("\n")}
  esac
  case "$path" in
${commands.map(wordCase).join("\n")}
  esac
}
complete -o default -F _routewright routewright
`;
}

function choiceCases({ path, options }: Completed): string[] {
  return options.flatMap(({ long, argChoices }) =>
    argChoices === undefined || typeof long !== "string"
      ? []
      : [
          `    "${path} ${long}") COMPREPLY=($(compgen -W "${argChoices.join(" ")}" -- "$current")); return ;;`,
        ],
  );
}

function wordCase({ path, subcommands, options }: Completed): string {
  const words = [...subcommands.map(({ name }) => name), ...options.map(({ long }) => long ?? "")];
  return `    "${path}") COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$current")) ;;`;
}

/** zsh runs completions that are written for bash. */
function zshScript(commands: readonly Completed[]): string {
  return `# Completion of routewright for zsh: routewright completion zsh
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${bashScript(commands).split("\n").slice(1).join("\n")}`;
}

function fishScript(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ path, subcommands, options }) => {
    const condition = `-n ${quoted(
      fishCondition(
        path,
        subcommands.map(({ name }) => name),
      ),
    )}`;
    return [
      ...subcommands.map(
        ({ name, description }) =>
          `complete -c routewright -f ${condition} -a ${name} -d ${quoted(description)}`,
      ),
      ...options.map(
        (option) =>
          `complete -c routewright ${condition} -l ${(option.long ?? "").slice(2)}${fishValue(option)} -d ${quoted(option.description)}`,
      ),
    ];
  });
  return `# Completion of routewright for fish: routewright completion fish\n${lines.join("\n")}\n`;
}

function fishCondition(path: string, subcommands: readonly string[]): string {
  const names = path.split("/").slice(1);
  const below = subcommands.length === 0 ? [] : [`not __fish_seen_subcommand_from ${subcommands.join(" ")}`];
  return [...names.map((name) => `__fish_seen_subcommand_from ${name}`), ...below].join("; and ") || "true";
}

function fishValue({ argChoices, required }: Option): string {
  if (argChoices !== undefined) return ` -x -a ${quoted(argChoices.join(" "))}`;
  return required ? " -r" : "";
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
