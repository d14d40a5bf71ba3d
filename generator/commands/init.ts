import { existsSync } from "node:fs";
import { Option } from "commander";
import {
  adapterNotice,
  failed,
  type Outcome,
  succeeded,
  type Tier,
  TIERS,
  unlessFailed,
} from "@routewright/runtime/model";
import { catalogueOf, type CatalogueOptions } from "../catalogue/build.js";
import { type Config, DEFAULTS } from "../config.js";
import { configProblems, readConfig } from "../config-file.js";
import { objectOr } from "../manifest/json.js";
import { isAddress } from "../artifacts/source.js";
import { writeFiles } from "../output/replace-file.js";
import { type CliCommand, type CommandResult, EXIT, failure } from "./command.js";
import { besideManifest, factsOf, findProjects, titleOf } from "./init/dbt-project.js";
import { DOCKER_FILES, packageJson, planOf, readText, type InitStep } from "./init/plan.js";
import type { Manifest } from "../manifest/manifest.js";
import type { PublishRules } from "../manifest/publish-rules.js";
import { previewText } from "./preview-report.js";
import { CI, type InitFlags, prompted } from "./init/prompts.js";
import { ENGINES } from "../catalogue/types/type-in-copy.js";

export function configure(command: CliCommand): void {
  command
    .option(
      "--manifest <file or URL>",
      "dbt's manifest.json (default: that of the dbt project in this folder)",
    )
    .option("--catalog <file or URL>", "dbt's catalog.json, for types and comments of columns")
    .option("--out <folder>", "the generated folder (default: generated)")
    .option("--title <text>", "title of the API")
    .addOption(new Option("--default-tier <tier>", "tier of endpoints without a tier tag").choices(TIERS))
    .option(
      "--schema <name>",
      "the schema that serves in production, whatever dbt's target (default: as the manifest has it)",
    )
    .addOption(
      new Option(
        "--engine <engine>",
        "what serves a copy of the relations (default: the engine of dbt's adapter)",
      ).choices(ENGINES),
    )
    .option(
      "--publish <selections...>",
      "models that become endpoints, in dbt's selection, such as path:models/marts (default: those with tags)",
    )
    .option(
      "--publish-name <patterns...>",
      "what their names say of the path, such as fct_{resource}_{granularity} (default: {resource})",
    )
    .addOption(new Option("--publish-tier <tier>", "tier of those without a tier tag").choices(TIERS))
    .addOption(
      new Option(
        "--ci <platform>",
        "add pipelines that regenerate after a dbt deploy, check pull requests and publish clients",
      ).choices(CI),
    )
    .addOption(
      new Option(
        "--docker [service]",
        "add container, compose and Kubernetes files, of the data API or the ramp",
      )
        .choices(Object.keys(DOCKER_FILES))
        .preset("data"),
    )
    .option("--yes", "ask nothing: take flags and defaults", false)
    .runs(init)
    .helpEnd(
      [
        "init",
        "init --yes --manifest target/manifest.json --ci github --docker",
        "init --yes --publish path:models/marts --publish-tier tier1",
      ],
      { 0: "set up; a second run changes nothing" },
    );
}

/** `routewright init`: makes a repository with a dbt project ready. No file is overwritten. */
async function init(given: InitFlags): Promise<CommandResult> {
  const reading = await readConfig();
  if (!reading.ok) return failure(...reading.problems);
  const found = findProjects();
  const flags =
    !given.yes && process.stdin.isTTY ? await prompted(given, found, reading.value.file !== null) : given;
  const manifest = flags.manifest ?? reading.value.config.manifest ?? onlyOne(found)?.manifest;
  if (manifest === undefined) return failure(noManifest(found.map((project) => project.manifest)));
  const publish = publishOf(flags, reading.value.config);
  if (!publish.ok) return failure(...publish.problems);
  const facts = await factsOf(manifest, flags.manifest !== undefined, publish.value);
  if (!facts.ok) return failure(...facts.problems);
  const { catalog, title, defaultTier, schema: schemas, engine, ci = "none", docker = "none" } = flags;
  const out = reading.value.config.out ?? flags.out ?? DEFAULTS.out;
  const config = {
    manifest,
    catalog: catalog ?? besideManifest(manifest, "catalog.json"),
    runResults: besideManifest(manifest, "run_results.json"),
    out,
    title:
      title ?? titleOf(found.find((project) => project.manifest === manifest)?.name ?? facts.value.project),
    defaultTier,
    ...(schemas && { schemas }),
    ...(engine && { engine }),
    ...(publish.value.length > 0 && { publish: publish.value }),
  };
  const steps = planOf(
    { config, out, ci: ci === "none" ? null : ci, docker: docker === "none" ? null : docker },
    reading.value.file,
  );
  const { read } = facts.value;
  if (read !== null) process.stderr.write(tableBefore(read, { ...config, ...reading.value.config }));
  const writing = writeFiles(steps.filter(({ action }) => action !== "keep").map(fileOf));
  if (!writing.ok) return failure(...writing.problems);
  const adapter = engine ?? reading.value.config.engine ?? facts.value.adapter;
  const notice = adapterNotice(adapter);
  const notes = [
    ...(notice === null ? [] : [notice]),
    ...(schemas || reading.value.config.schemas !== undefined ? [] : schemaNotes(facts.value.schemas)),
  ];
  return { exit: EXIT.ok, output: report(steps, manifest, adapter), notes };
}

/** The rules of the config file that is there, else of the flags. */
function publishOf(
  { publish, publishName, publishTier, defaultTier }: InitFlags,
  config: Config,
): Outcome<PublishRules> {
  if (config.publish !== undefined || publish === undefined) return succeeded(config.publish ?? []);
  const tier = publishTier ?? defaultTier;
  if (tier === undefined)
    return failed("--publish needs --publish-tier: the tier of models without a tier tag.");
  const rule = { select: publish, tier, ...(publishName && { name: publishName }) };
  return unlessFailed(configProblems({ publish: [rule] }), [rule]);
}

/** What will be published, before a file is written. */
function tableBefore(
  manifest: Manifest,
  {
    defaultTier = "tier0",
    engine,
  }: Pick<CatalogueOptions, "engine"> & { readonly defaultTier?: Tier | undefined },
): string {
  const catalogue = catalogueOf(manifest, { defaultTier, engine });
  return `${previewText({ catalogue, publishing: manifest.publishing })}\n`;
}

function onlyOne<Value>(all: readonly Value[]): Value | undefined {
  return all.length === 1 ? all[0] : undefined;
}

function noManifest(found: readonly string[]): string {
  if (found.length === 0)
    return "There is no dbt_project.yml in this folder or below it. Run this in the repository of a dbt project, or name the manifest with --manifest.";
  return `There are several dbt projects: name one's manifest with --manifest: ${found.join(", ")}.`;
}

function schemaNotes(schemas: readonly string[]): readonly string[] {
  if (schemas.length === 0) return [];
  return [
    `The manifest's target builds in ${schemas.join(", ")}. If that is not production, set \`schemas\` in routewright.config.json, or run init with --schema.`,
  ];
}

function fileOf({ file, text }: InitStep) {
  return { file, text, mode: file.endsWith(".sh") ? 0o755 : 0o644 };
}

const DONE = { create: "created", "add to": "added to", keep: "kept" } as const;

function report(steps: readonly InitStep[], manifest: string, adapter: string | null): string {
  const lines = steps.map(
    ({ file, action, why }) => `${DONE[action].padEnd(9)}${file}${why === "" ? "" : ` (${why})`}`,
  );
  const next = nextCommands(manifest).map((line) => `  ${line}`);
  return `${[...lines, "", "Next:", ...next, "", "Variables:", ...variablesOf(adapter)].join("\n")}\n`;
}

/** Of the database that serves. */
function variablesOf(adapter: string | null): readonly string[] {
  return adapter === "clickhouse"
    ? [
        "  DATABASE_URL=clickhouse://user:password@host:8123/database   (clickhouses:// for TLS)",
        "  Usage is stored in PostgreSQL: to keep it, set CLICKHOUSE_URL to this address, DATABASE_URL to PostgreSQL",
      ]
    : ["  DATABASE_URL=postgres://user:password@host:5432/database   (unset: an embedded PostgreSQL)"];
}

/** Three commands: what is missing first, then those that come after it. */
function nextCommands(manifest: string): readonly string[] {
  const { dependencies, devDependencies } = packageJson(readText("package.json") ?? "{}");
  const installed = { ...objectOr(dependencies), ...objectOr(devDependencies) };
  const missing = ["routewright", "@routewright/runtime"].filter((name) => !(name in installed));
  return [
    ...(missing.length > 0 ? [`npm install ${missing.join(" ")}`] : []),
    ...(isAddress(manifest) || existsSync(manifest) ? [] : ["dbt parse"]),
    "npx routewright generate",
    "npx routewright keys create --user me --tier tier3",
    "npx routewright serve --only data",
  ].slice(0, 3);
}
