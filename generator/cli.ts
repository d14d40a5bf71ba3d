import { createRequire } from "node:module";
import { CommanderError, Help, type Option } from "commander";
import { CliCommand, EXIT, type Exit, print } from "./commands/command.js";
import { messageOf } from "@routewright/runtime/model";

/** Loads a command's code and gives the function that declares its options and action. */
type Load = () => Promise<(command: CliCommand) => void>;

/** Every command: its description and its code. */
const COMMANDS: Readonly<Record<string, readonly [summary: string, load: Load]>> = {
  init: [
    "set up a repository: config file, npm scripts, pipeline, container files",
    async () => (await import("./commands/init.js")).configureInit,
  ],
  generate: [
    "write handlers and OpenAPI for every published model",
    async () => (await import("./commands/generate.js")).configureGenerate,
  ],
  diff: [
    "report changes between two catalogues that affect API consumers",
    async () => (await import("./commands/diff.js")).configureDiff,
  ],
  lint: [
    "report what will trouble consumers or operators of the API",
    async () => (await import("./commands/lint.js")).configureLint,
  ],
  verify: [
    "compare the catalogue with the live database",
    async () => (await import("./commands/verify.js")).configureVerify,
  ],
  watch: [
    "regenerate whenever the manifest changes",
    async () => (await import("./commands/watch.js")).configureWatch,
  ],
  serve: ["serve a generated folder", async () => (await import("./commands/serve.js")).configureServe],
  keys: [
    "manage API keys, which are stored hashed",
    async () => (await import("./commands/keys.js")).configureKeys,
  ],
  usage: [
    "report the usage that servers have written to the database",
    async () => (await import("./commands/usage.js")).configureUsage,
  ],
  ramp: [
    "set up the ramp: organizations, projects, providers, identity providers, webhooks, keys",
    async () => (await import("./commands/ramp.js")).configureRamp,
  ],
  config: [
    "print the value in force of each setting",
    async () => (await import("./commands/print-config.js")).configureConfig,
  ],
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
    if (name === called) (await load())(command);
  }
  return program;
}

/** Without "(default: false)" behind every switch. */
function optionDescription(this: Help, option: Option): string {
  return option.defaultValue === false ? option.description : new Help().optionDescription(option);
}

/** The command that is called, or whose help is requested. */
function calledIn(argv: readonly string[]): string | undefined {
  const [first, second] = argv.filter((argument) => !argument.startsWith("-"));
  return first === "help" ? second : first;
}

function versionOf(): string {
  const { version } = createRequire(import.meta.url)("routewright/package.json") as { version: string };
  return version;
}
