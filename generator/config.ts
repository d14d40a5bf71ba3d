import {
  type ApiAbout,
  ARTIFACT_FILES,
  failed,
  type GenerationEnvironment,
  isOfArtifacts,
  type Outcome,
  type Plans,
  readGenerationEnvironment,
  succeeded,
} from "@routewright/runtime/model";
import { aboutOf } from "./about.js";
import type { SchemaMap } from "./catalogue/build.js";
import type { MaxAge } from "./catalogue/settings/max-age.js";
import { type ConfigFile, readConfig } from "./config-file.js";
import type { Config, PurgeMethod } from "./config-schema.js";
import { ACCEPT_FILE } from "./report/accept-file.js";
import type { ChangeSeverities } from "./diff/change-kinds.js";
import type { UnusedSeverity } from "./diff/usage.js";
import { BASELINE_FILE } from "./lint/baseline.js";
import type { RuleSeverities } from "./lint/checks.js";
import type { CheckSeverities } from "./verify/checks.js";
import { objectOr } from "./manifest/json.js";
import type { PublishRules } from "./manifest/publish-rules.js";
import type { ServedEngine } from "./catalogue/types/type-in-copy.js";
import { accessOf } from "./artifacts/access.js";
import { isAddress } from "./artifacts/source.js";
import type { ArtifactAccess } from "./artifacts/store.js";

export type { Config };

export const DEFAULTS = {
  out: "generated",
  minimumNoticeDays: 30,
  columns: "columns.json",
  unused: "breaking",
  tests: "api-tests",
  publicMaxAge: 0,
  purgeMethod: "PURGE",
} as const;

/** Flags that override the config file, by the name of its key. */
export interface ConfigFlags {
  readonly manifest?: string | undefined;
  readonly catalog?: string | undefined;
  readonly out?: string | undefined;
  readonly accept?: string | undefined;
}

/** What is in force for a command: flags win over the environment, the environment over the config file. */
export interface Settings extends Omit<GenerationEnvironment, "catalog"> {
  /** dbt's catalog, or where none is given the columns that were pulled. */
  readonly catalog: string | undefined;
  /** What opens dbt's files. */
  readonly access: ArtifactAccess;
  /** File of the columns that `columns pull` reads. */
  readonly columns: string | undefined;
  readonly out: string;
  /** What pages and OpenAPI say of the API and its operator. */
  readonly about: ApiAbout | undefined;
  readonly schemas: SchemaMap;
  /** What serves a copy; undefined: the engine of dbt's own adapter. */
  readonly engine: ServedEngine | undefined;
  /** Models that count as tagged for the API. */
  readonly publish: PublishRules;
  readonly publicMaxAge: MaxAge;
  /** Of organizations, by name. */
  readonly plans: Plans;
  /** Address of the shared cache in front of the server; undefined: there is none. */
  readonly purgeUrl: string | undefined;
  readonly purgeMethod: PurgeMethod;
  readonly lint: RuleSeverities;
  /** Undefined: the default file, if there is one. */
  readonly baseline: string | undefined;
  readonly verify: CheckSeverities;
  readonly severities: ChangeSeverities;
  /** Undefined: the default file, if there is one. */
  readonly accept: string | undefined;
  readonly unused: UnusedSeverity;
  /** Folder of endpoint tests. */
  readonly tests: string;
  readonly minimumNoticeDays: number;
  /** The environment, completed with the config file's values: what servers read. */
  readonly variables: NodeJS.ProcessEnv;
  /** The value of every key of the config file, and where it comes from. */
  readonly inForce: Readonly<Record<string, InForce>>;
}

/** A value, and what set it: a variable, the config file, or `default`. */
export interface InForce {
  readonly value: unknown;
  readonly from: string;
}

/** What is wrong with the variables of a command. */
export type VariableCheck = (variables: NodeJS.ProcessEnv) => readonly string[];

/** Reads the config file of the current folder and puts flags and environment over it. */
export async function readSettings(
  flags: ConfigFlags = {},
  check: VariableCheck = (variables) => readGenerationEnvironment(variables).problems,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Outcome<Settings>> {
  const reading = await readConfig();
  if (!reading.ok) return reading;
  const { config } = reading.value;
  const { baseline, ...lint } = config.lint ?? {};
  const variables = completed(environment, config);
  const problems = check(variables);
  const { environment: generation } = readGenerationEnvironment(variables);
  if (problems.length > 0) return failed(...problems);
  const about = aboutOf(config);
  if (!about.ok) return failed(...about.problems.map((problem) => `${reading.value.file ?? ""}: ${problem}`));
  const columns = firstSet(variables, VARIABLES.columns);
  const manifest = flags.manifest ?? generation.manifest;
  const settings = {
    ...generation,
    manifest,
    catalog: flags.catalog ?? catalogOf(generation, columns),
    access: accessOf({ ...generation, manifest, catalog: flags.catalog ?? generation.catalog }),
    columns,
    out: flags.out ?? config.out ?? DEFAULTS.out,
    about: about.value,
    schemas: config.schemas ?? {},
    engine: config.engine,
    publish: config.publish ?? [],
    publicMaxAge: config.publicMaxAge ?? DEFAULTS.publicMaxAge,
    plans: config.plans ?? {},
    purgeUrl: config.purgeUrl,
    purgeMethod: config.purgeMethod ?? DEFAULTS.purgeMethod,
    lint,
    baseline,
    verify: config.verify ?? {},
    severities: config.diff?.severity ?? {},
    accept: flags.accept ?? config.diff?.accept,
    unused: config.diff?.unused ?? DEFAULTS.unused,
    tests: config.tests ?? DEFAULTS.tests,
    minimumNoticeDays: config.minimumNoticeDays ?? DEFAULTS.minimumNoticeDays,
    variables,
  };
  const { apiTitle: title, defaultTier } = generation;
  const { out, schemas, verify, severities, minimumNoticeDays } = settings;
  const inForce = {
    artifacts: generation.artifacts,
    manifest,
    catalog: generation.catalog,
    columns: columns ?? null,
    runResults: generation.runResults,
    sources: generation.sources,
    freshness: generation.freshness,
    out,
    title,
    description: config.description ?? null,
    contact: config.contact ?? null,
    termsOfService: config.termsOfService ?? null,
    logo: config.logo ?? null,
    accent: config.accent ?? null,
    headline: config.headline ?? null,
    plans: settings.plans,
    signUp: config.signUp ?? null,
    defaultTier,
    schemas,
    engine: settings.engine ?? null,
    publish: settings.publish,
    lint,
    "lint.baseline": baseline ?? BASELINE_FILE,
    verify,
    "diff.severity": severities,
    "diff.accept": settings.accept ?? ACCEPT_FILE,
    "diff.unused": settings.unused,
    "usage.shapes": firstSet(variables, VARIABLES["usage.shapes"]) === "true",
    tests: settings.tests,
    minimumNoticeDays,
    publicMaxAge: settings.publicMaxAge,
    purgeUrl: settings.purgeUrl ?? null,
    purgeMethod: settings.purgeMethod,
  };
  const fromOf = (key: string): string => originOf(key, environment, reading.value);
  return succeeded({
    ...settings,
    inForce: Object.fromEntries(
      Object.entries(inForce).map(([key, value]) => [key, { value, from: fromOf(key) }]),
    ),
  });
}

/** What sets a key of the config file, `diff.accept` for one within an object. */
function originOf(key: string, environment: NodeJS.ProcessEnv, { config, file }: ConfigFile): string {
  const names = Object.hasOwn(VARIABLES, key) ? VARIABLES[key as keyof typeof VARIABLES] : [];
  const all: readonly string[] = ARTIFACT_KEYS.has(key) ? [...names, ...VARIABLES.artifacts] : names;
  const variable = all.find((name) => isSet(environment, name));
  if (variable !== undefined) return variable;
  const value = valueAt(config, key);
  const isFound = value !== undefined || (ARTIFACT_KEYS.has(key) && config.artifacts !== undefined);
  return isFound && file !== null ? file : "default";
}

function valueAt(config: Config, key: string): unknown {
  return key.split(".").reduce<unknown>((at, part) => objectOr(at)[part], config);
}

/** What `artifacts` says of all together. */
const ARTIFACT_KEYS: ReadonlySet<string> = new Set(Object.keys(ARTIFACT_FILES));

/** Variables that say the same as a key of the config file; an address goes to the last. */
const VARIABLES = {
  artifacts: ["DBT_ARTIFACTS_URL"],
  manifest: ["DBT_MANIFEST_PATH", "DBT_MANIFEST_URL"],
  catalog: ["DBT_CATALOG_PATH", "DBT_CATALOG_URL"],
  columns: ["ROUTEWRIGHT_COLUMNS_PATH"],
  runResults: ["DBT_RUN_RESULTS_PATH", "DBT_RUN_RESULTS_URL"],
  sources: ["DBT_SOURCES_PATH", "DBT_SOURCES_URL"],
  freshness: ["DBT_FRESHNESS_PATH", "DBT_FRESHNESS_URL"],
  title: ["API_TITLE"],
  defaultTier: ["DEFAULT_ENDPOINT_TIER"],
  "usage.shapes": ["USAGE_SHAPES"],
} as const satisfies Readonly<Record<string, readonly [string, string?]>>;

/** The variables, each key of the config file in place of those that are unset: also in place of what `artifacts` of the environment says. */
function completed(variables: NodeJS.ProcessEnv, config: Config): NodeJS.ProcessEnv {
  const added = Object.entries(VARIABLES).flatMap(([key, names]): [string, string][] => {
    const value = valueAt(config, key);
    const all: readonly string[] = ARTIFACT_KEYS.has(key) ? [...names, ...VARIABLES.artifacts] : names;
    if (value === undefined || all.some((name) => isSet(variables, name))) return [];
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return [[(isAddress(text) ? names[1] : null) ?? names[0], text]];
  });
  return { ...variables, ...Object.fromEntries(added) };
}

/** Columns that were pulled stand in for the catalog that is named for itself, and win over one that is looked for with the rest. */
function catalogOf(
  { artifacts, catalog }: GenerationEnvironment,
  columns: string | undefined,
): string | undefined {
  return (isOfArtifacts(catalog, artifacts, "catalog") ? columns : undefined) ?? catalog ?? columns;
}

function isSet(variables: NodeJS.ProcessEnv, name: string): boolean {
  return (variables[name]?.trim() ?? "") !== "";
}

function firstSet(variables: NodeJS.ProcessEnv, names: readonly string[]): string | undefined {
  const name = names.find((one) => isSet(variables, one));
  return name === undefined ? undefined : variables[name]?.trim();
}
