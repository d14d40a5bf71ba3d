import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Command, type ErrorOptions, Option } from "commander";
import { type ConfigFlags, readSettings, type Settings, type VariableCheck } from "../config.js";
import { ACCEPT_FILE } from "../report/accept-file.js";
import { showProgress } from "./progress.js";
import { styled } from "../report/render-report.js";

/** Exit codes of all commands. */
export const EXIT = { ok: 0, findings: 1, error: 2 } as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** Result of a command. */
export interface CommandResult {
  readonly exit: Exit;
  /** For standard output. */
  readonly output?: string;
  /** The output only says what was done: `--quiet` leaves it out unless there is a finding. */
  readonly isStatus?: boolean;
  /** Lines for standard error: standard output holds results only. */
  readonly notes?: readonly string[];
  /** Lines for standard error that say why nothing was done. */
  readonly errors?: readonly string[];
}

/** The result of a command that did nothing, and why. */
export function failure(...errors: readonly string[]): CommandResult {
  return { exit: EXIT.error, errors };
}

/** A command whose action returns a `CommandResult`. Its subcommands are of the same class. */
export class CliCommand extends Command {
  declare readonly commands: readonly CliCommand[];
  declare parent: CliCommand | null;
  /** Set by the action that ran, on the outermost command. */
  exit: Exit = EXIT.ok;
  private ownExamples: readonly string[] = [];
  private exits: Partial<Record<Exit, string>> | undefined;

  constructor(name?: string) {
    super(name);
    this.addHelpText("after", () => this.helpEndText());
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** Runs `action` with the command's arguments and flags, and prints the result. */
  runs(action: Action): this {
    return this.action(async (...args: readonly unknown[]) => {
      const { quiet = false } = this.optsWithGlobals<{ quiet?: boolean }>();
      showProgress(!quiet);
      const outcome = await (
        action as (...args: readonly unknown[]) => CommandResult | Promise<CommandResult>
      )(...args);
      print(outcome, quiet);
      outermost(this).exit = outcome.exit;
    });
  }

  override error(message: string, options?: ErrorOptions): never {
    const hint =
      options?.code === "commander.excessArguments"
        ? ` Names of options begin with \`--\`; \`--help\` lists them.`
        : "";
    return super.error(message + hint, options);
  }

  /** Examples of the help text: its own, or those of its subcommands. */
  get examples(): readonly string[] {
    if (this.ownExamples.length > 0) return this.ownExamples;
    return this.commands.flatMap(({ examples }) => examples);
  }

  /** Adds examples and exit codes to the help text. A group of subcommands shows theirs if it names none. */
  helpEnd(examples: readonly string[] = [], exits: Partial<Record<Exit, string>> = {}): this {
    this.ownExamples = examples;
    this.exits = { 0: "done", 2: "error; nothing was changed", ...exits };
    return this;
  }

  private helpEndText(): string {
    if (this.exits === undefined) return "";
    return [
      "",
      "Examples:",
      ...this.examples.map((line) => `  $ routewright ${line}`),
      "",
      "Exit codes:",
      ...Object.entries(this.exits).map(([code, meaning]) => `  ${code}  ${meaning}`),
    ].join("\n");
  }
}

/** An action takes its command's arguments and flags: commander types neither. */
type Action = (...args: never[]) => CommandResult | Promise<CommandResult>;

function outermost(command: CliCommand): CliCommand {
  return command.parent === null ? command : outermost(command.parent);
}

/** Prints a result; `quiet`: results, findings and errors only. */
export function print(
  { exit, output = "", isStatus, notes = [], errors = [] }: CommandResult,
  quiet = false,
): void {
  const isShown = !quiet || isStatus !== true || exit !== EXIT.ok;
  // Even an empty write fails where the disk is full.
  if (output !== "" && isShown) process.stdout.write(output);
  for (const line of quiet ? [] : notes) process.stderr.write(`${line}\n`);
  for (const line of errors) process.stderr.write(`${styled("red", "error:", process.stderr)} ${line}\n`);
}

/** Values of `--missing-base`. */
const MISSING_BASE = ["fail", "ignore"] as const;
export type MissingBase = (typeof MISSING_BASE)[number];

/** `--manifest`, `--catalog` and `--out`: the same for all commands that have them. */
export const OPTIONS = {
  manifest: () =>
    new Option(
      "--manifest <file or URL>",
      "dbt's manifest.json (default: DBT_MANIFEST_PATH, DBT_MANIFEST_URL or DBT_ARTIFACTS_URL, or `manifest` or `artifacts` of the config file)",
    ),
  catalog: () =>
    new Option(
      "--catalog <file or URL>",
      "dbt's catalog.json, for types and comments of columns (default: DBT_CATALOG_PATH, DBT_CATALOG_URL or DBT_ARTIFACTS_URL, or `catalog` or `artifacts` of the config file)",
    ),
  out: () =>
    new Option("--out <folder>", "the generated folder (default: `out` of the config file, or generated)"),
  missingBase: () =>
    new Option("--missing-base <how>", "a base that does not exist yet: an error, or nothing to compare with")
      .choices(MISSING_BASE)
      .default("fail"),
  accept: (what: string) =>
    new Option(
      "--accept <file>",
      `accepted ${what} (default: \`diff.accept\` of the config file, or ${ACCEPT_FILE} if there is one)`,
    ),
  generated: () =>
    new Option(
      "--generated <folder>",
      "the generated folder that git:<ref> means (default: `out` of the config file, or generated)",
    ),
} as const;

/** Runs a command with what flags, environment and config file put in force. A server checks more variables. */
export async function withSettings(
  flags: ConfigFlags & { readonly generated?: string | undefined },
  action: (settings: Settings) => CommandResult | Promise<CommandResult>,
  check?: VariableCheck,
): Promise<CommandResult> {
  const reading = await readSettings({ ...flags, out: flags.out ?? flags.generated }, check);
  if (!reading.ok) return failure(...reading.problems);
  return action(reading.value);
}

/** As `withSettings`, for a command that cannot do without a manifest. */
export function withManifest(
  flags: ConfigFlags & { readonly generated?: string | undefined },
  action: (settings: Settings & { readonly manifest: string }) => CommandResult | Promise<CommandResult>,
): Promise<CommandResult> {
  return withSettings(flags, (settings) => {
    const { manifest } = settings;
    return manifest === null ? failure(NO_MANIFEST) : action({ ...settings, manifest });
  });
}

const NO_MANIFEST =
  "Name the manifest with --manifest, DBT_MANIFEST_PATH, DBT_MANIFEST_URL or DBT_ARTIFACTS_URL, or `manifest` or `artifacts` in routewright.config.json.";

/** Folder of what commands keep on this machine: the embedded database, the ramp's key, build times. */
export const DATA_DIR = ".data";

/** The version of all packages of ours. */
export function versionOf(): string {
  const { version } = createRequire(import.meta.url)("routewright/package.json") as { version: string };
  return version;
}

/** The text of a template; the build copies them into the package. */
export function templateText(name: string): string {
  const root = dirname(createRequire(import.meta.url).resolve("routewright/package.json"));
  return readFileSync(join(root, "dist/templates", name), "utf8");
}

/** Resolves at the first Ctrl-C or `kill`; a second one ends the process at once, as is usual. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}
