import { readGenerationEnvironment, TIERS, type Tier } from "@routewright/runtime/model";
import { Command, CommanderError, Option } from "commander";
import type { ServeFlags } from "./commands/serve.js";
import { EXIT, type Outcome } from "./commands/outcome.js";
import { addRamp } from "./commands/ramp-cli.js";
import { FAIL_ON, type FailOn } from "./diff/options.js";
import { type Format, FORMATS } from "./report/format.js";
import { FAIL_ON as LINT_FAIL_ON, type FailOn as LintFailOn } from "./lint/options.js";

/** Runs the command line and returns its exit code. A command's code is loaded only when it is called. */
export async function run(argv: readonly string[]): Promise<number> {
  let exit: number = EXIT.ok;
  const program = new Command("routewright")
    .description("Turns a dbt manifest into a typed, tier-gated HTTP API.")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  const command = (name: string): Command => program.command(name).exitOverride();
  const then = (outcome: Promise<Outcome>): Promise<void> => outcome.then((done) => void (exit = tell(done)));
  addGenerate(command("generate"), then);
  addDiff(command("diff"), then);
  addLint(command("lint"), then);
  addWatch(command("watch"), then);
  addServe(command("serve"), then);
  addKeys(command("keys"), then);
  addRamp(command("ramp"), then);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.error;
    return tell({ exit: EXIT.error, errors: [error instanceof Error ? error.message : String(error)] });
  }
  return exit;
}

type Then = (outcome: Promise<Outcome>) => Promise<void>;

function tell({ exit, output = "", notes = [], errors = [] }: Outcome): number {
  process.stdout.write(output);
  for (const line of notes) process.stderr.write(`${line}\n`);
  for (const line of errors) process.stderr.write(`error: ${line}\n`);
  return exit;
}

const NO_MANIFEST = "Name the manifest with --manifest, DBT_MANIFEST_PATH or DBT_MANIFEST_URL.";

interface GenerateFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly out: string;
  readonly check: boolean;
  readonly strict: boolean;
  readonly json: boolean;
}

function addGenerate(command: Command, then: Then): void {
  command
    .description("write handlers and OpenAPI for every published model")
    .option(
      "--manifest <file or URL>",
      "dbt's manifest.json (default: DBT_MANIFEST_PATH or DBT_MANIFEST_URL)",
    )
    .option("--catalog <file or URL>", "dbt's catalog.json, for columns and types that no schema.yml lists")
    .option("--out <folder>", "the generated folder", "generated")
    .option("--check", "write nothing; exit 1 when the folder is not up to date", false)
    .option("--strict", "exit 1 when a model is skipped with a problem", false)
    .option("--json", "report as JSON", false)
    .action((flags: GenerateFlags) => then(startGenerate(flags)));
}

async function startGenerate(flags: GenerateFlags): Promise<Outcome> {
  const { environment, problems } = readGenerationEnvironment(process.env);
  const manifest = flags.manifest ?? environment.manifest;
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  if (manifest === null) return { exit: EXIT.error, errors: [NO_MANIFEST] };
  const { generate } = await import("./commands/generate.js");
  return generate({ ...flags, manifest, defaultTier: environment.defaultTier });
}

interface DiffFlags {
  readonly format: Format;
  readonly failOn: FailOn;
  readonly generated: string;
  readonly accept?: string;
}

function addDiff(command: Command, then: Then): void {
  command
    .description("tell what consumers of the API will notice")
    .argument("<base>", "a manifest (file or URL), a generated folder, or git:<ref>")
    .argument("<head>", "likewise")
    .addOption(new Option("--format <format>", "how to tell it").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <changes>", "exit 1 at these").choices(FAIL_ON).default("breaking"))
    .option("--generated <folder>", "the generated folder that git:<ref> means", "generated")
    .option(
      "--accept <file>",
      "changes that are agreed on (default: .routewright-accept.json if there is one)",
    )
    .action((base: string, head: string, flags: DiffFlags) => then(startDiff(base, head, flags)));
}

async function startDiff(base: string, head: string, flags: DiffFlags): Promise<Outcome> {
  const { environment, problems } = readGenerationEnvironment(process.env);
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  const { diff } = await import("./commands/diff.js");
  const today = new Date().toISOString().slice(0, 10);
  return diff({ ...flags, base, head, today, cwd: process.cwd(), defaultTier: environment.defaultTier });
}

interface LintFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly format: Format;
  readonly failOn: LintFailOn;
  readonly privateKey: readonly string[];
}

function addLint(command: Command, then: Then): void {
  command
    .description("tell what in a manifest will trouble consumers of its API")
    .option(
      "--manifest <file or URL>",
      "dbt's manifest.json (default: DBT_MANIFEST_PATH or DBT_MANIFEST_URL)",
    )
    .option("--catalog <file or URL>", "dbt's catalog.json, for columns and types that no schema.yml lists")
    .addOption(new Option("--format <format>", "how to tell it").choices(FORMATS).default("text"))
    .addOption(new Option("--fail-on <findings>", "exit 1 at these").choices(LINT_FAIL_ON).default("any"))
    .option(
      "--private-key <meta key>",
      "a key of `meta` that marks private data; may be repeated",
      repeated,
      [],
    )
    .action((flags: LintFlags) => then(startLint(flags)));
}

function repeated(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

async function startLint(flags: LintFlags): Promise<Outcome> {
  const { environment, problems } = readGenerationEnvironment(process.env);
  const manifest = flags.manifest ?? environment.manifest;
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  if (manifest === null) return { exit: EXIT.error, errors: [NO_MANIFEST] };
  const { lint } = await import("./commands/lint.js");
  return lint({ ...flags, manifest, defaultTier: environment.defaultTier });
}

interface WatchFlags {
  readonly manifest?: string;
  readonly out: string;
  readonly interval?: string;
}

function addWatch(command: Command, then: Then): void {
  command
    .description("regenerate whenever the manifest changes")
    .option(
      "--manifest <file or URL>",
      "dbt's manifest.json (default: DBT_MANIFEST_PATH or DBT_MANIFEST_URL)",
    )
    .option("--out <folder>", "the generated folder", "generated")
    .option(
      "--interval <seconds>",
      "how often to look (default: DBT_MANIFEST_REFRESH_INTERVAL_SECONDS or 300)",
    )
    .action((flags: WatchFlags) => then(startWatch(flags)));
}

async function startWatch({ manifest: named, out, interval }: WatchFlags): Promise<Outcome> {
  const overridden = interval === undefined ? {} : { DBT_MANIFEST_REFRESH_INTERVAL_SECONDS: interval };
  const { environment, problems } = readGenerationEnvironment({ ...process.env, ...overridden });
  const manifest = named ?? environment.manifest;
  if (problems.length > 0) return { exit: EXIT.error, errors: problems };
  if (manifest === null) return { exit: EXIT.error, errors: [NO_MANIFEST] };
  const [{ watch }, { stopSignal }] = await Promise.all([
    import("./commands/watch.js"),
    import("./commands/stop-signal.js"),
  ]);
  const { defaultTier, refreshIntervalSeconds: intervalSeconds } = environment;
  const tell = (text: string): void => void process.stdout.write(text);
  return watch({ manifest, out, intervalSeconds, defaultTier, tell, until: stopSignal() });
}

function addServe(command: Command, then: Then): void {
  command
    .description("serve a generated folder straight from its TypeScript")
    .option("--generated <folder>", "the generated folder", "generated")
    .option("--port <number>", "port of the data API (default: PORT or 8000)")
    .option("--ramp-port <number>", "port of the ramp API (default: RAMP_PORT or 8001)")
    .addOption(new Option("--only <api>", "serve one of the two APIs").choices(["data", "ramp"]))
    .option("--watch", "follow the manifest of DBT_MANIFEST_PATH or DBT_MANIFEST_URL", false)
    .action((flags: ServeFlags) => then(import("./commands/serve.js").then(({ serve }) => serve(flags))));
}

interface KeyFlags {
  readonly file: string;
  readonly user: string;
  readonly tier: Tier;
  readonly org: string;
}

function addKeys(command: Command, then: Then): void {
  const file = new Option("--file <file>", "the key file").env("API_KEYS_FILE").default("./api_keys.json");
  const load = () => import("./commands/keys.js");
  command.description("manage API keys, which are stored hashed");
  command
    .command("create")
    .description("make a key and print it, this once")
    .requiredOption("--user <name>", "who it is for")
    .addOption(new Option("--tier <tier>", "what it may call").choices(TIERS).makeOptionMandatory())
    .option("--org <name>", "the user's organization", "")
    .addOption(file)
    .action(({ file, ...owner }: KeyFlags) => then(load().then(({ createKey }) => createKey(file, owner))));
  command
    .command("list")
    .description("list the keys by id")
    .addOption(file)
    .action(({ file }: KeyFlags) => then(load().then(({ listKeys }) => listKeys(file))));
  command
    .command("revoke <id>")
    .description("remove a key")
    .addOption(file)
    .action((id: string, { file }: KeyFlags) => then(load().then(({ revokeKey }) => revokeKey(file, id))));
}
