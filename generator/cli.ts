import { CommanderError, Help, type Option } from "commander";
import { CliCommand, EXIT, type Exit, print, versionOf } from "./commands/command.js";
import { messageOf } from "@routewright/runtime/model";

/** A command's module: it declares the command's options and its action. */
type Load = () => Promise<{ readonly configure: (command: CliCommand) => void }>;

/** Every command: its description and its code. */
const COMMANDS: Readonly<Record<string, readonly [summary: string, load: Load]>> = {
  init: [
    "set up a repository: config file, npm scripts, pipeline, container files",
    () => import("./commands/init.js"),
  ],
  generate: ["write handlers and OpenAPI for every published model", () => import("./commands/generate.js")],
  diff: [
    "report changes between two catalogues that affect API consumers",
    () => import("./commands/diff.js"),
  ],
  lint: ["report what will trouble consumers or operators of the API", () => import("./commands/lint.js")],
  changelog: [
    "add what changed for consumers to changelog.json, and print it",
    () => import("./commands/changelog.js"),
  ],
  metrics: [
    "list metrics and measures: what is served, and what is skipped and why",
    () => import("./commands/metrics.js"),
  ],
  exposures: ["print dbt exposures of the API", () => import("./commands/exposures.js")],
  suggest: [
    "suggest settings of models, and indexes, from usage, tests, types and statistics",
    () => import("./commands/suggest.js"),
  ],
  verify: ["compare the catalogue with the live database", () => import("./commands/verify.js")],
  test: ["run endpoint tests against the database, in process", () => import("./commands/test.js")],
  ddl: [
    "print or run the statements that load the served relations from exports of a warehouse",
    () => import("./commands/ddl.js"),
  ],
  columns: [
    "read the served relations' columns from the database into columns.json",
    () => import("./commands/columns.js"),
  ],
  watch: ["regenerate whenever the manifest changes", () => import("./commands/watch.js")],
  serve: ["serve a generated folder", () => import("./commands/serve.js")],
  keys: ["manage API keys, which are stored hashed", () => import("./commands/keys.js")],
  purge: ["remove copies of public rows from the shared cache", () => import("./commands/purge.js")],
  usage: ["report the usage that servers have written to the database", () => import("./commands/usage.js")],
  ramp: [
    "set up the ramp: organizations, projects, providers, identity providers, webhooks, keys",
    () => import("./commands/ramp.js"),
  ],
  config: ["print the value in force of each setting", () => import("./commands/print-config.js")],
};

/** Runs the command line and returns its exit code. */
export async function run(argv: readonly string[]): Promise<Exit> {
  const program = await programFor(calledIn(argv));
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.error;
    print({ exit: EXIT.error, errors: [messageOf(error)] });
    return EXIT.error;
  }
  return program.exit;
}

/** The program. Only the code of the command that is called is loaded. */
export async function programFor(called: string | undefined): Promise<CliCommand> {
  const program = new CliCommand("routewright")
    .description("Turns a dbt manifest into a typed, tier-gated HTTP API.")
    .version(versionOf(), "-V, --version", "print the version")
    .option("--quiet", "print results, findings and errors only")
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true, optionDescription });
  for (const [name, [summary, load]] of Object.entries(COMMANDS)) {
    const command = program.command(name);
    command.description(summary);
    if (name === called) (await load()).configure(command);
  }
  return program;
}

/** Without "(default: false)" after every switch. */
function optionDescription(this: Help, option: Option): string {
  return option.defaultValue === false ? option.description : new Help().optionDescription(option);
}

/** The command that is called, or whose help is requested. */
function calledIn(argv: readonly string[]): string | undefined {
  const [first, second] = argv.filter((argument) => !argument.startsWith("-"));
  return first === "help" ? second : first;
}
