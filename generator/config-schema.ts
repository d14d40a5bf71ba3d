import { HEADLINE_SCHEMA, PLANS_SCHEMA, SIGN_UP_SCHEMA, TIERS } from "@routewright/runtime/model";
import type { SchemaMap } from "./catalogue/build.js";
import { MAX_AGE } from "./catalogue/settings/max-age.js";
import { CHANGE_SEVERITIES, type ChangeKind, type ChangeSeverity, KINDS } from "./diff/change-kinds.js";
import { UNUSED } from "./diff/usage.js";
import { FINDING_SEVERITIES, type FindingSeverity } from "./report/finding.js";
import { type RuleId, RULES } from "./lint/checks.js";
import {
  described,
  flag,
  name,
  oneOf,
  record,
  type Schema,
  text,
  type ValueOf,
  wholeNumber,
} from "@routewright/runtime/model";
import { PUBLISH } from "./manifest/publish-rules.js";
import { HINT } from "./manifest/schema-errors.js";
import { ENGINES } from "./catalogue/types/type-in-copy.js";
import { type MismatchRule, CHECKS } from "./verify/checks.js";

type SeverityMap<Id extends string, Severity> = { readonly [Key in Id]?: Severity | "off" };

/** A key per rule or kind of change, each a severity or `off`. */
function severitiesOf<Id extends string, Severity extends string>(
  infos: Readonly<Record<Id, { readonly reason: string }>>,
  severities: readonly Severity[],
): Schema<SeverityMap<Id, Severity>> {
  const all = Object.entries<{ readonly reason: string }>(infos);
  const properties = all.map(([id, { reason }]) => [
    id,
    { description: reason, ...oneOf([...severities, "off"]) },
  ]);
  return record({}, Object.fromEntries(properties) as Record<Id, Schema>);
}

/** How a shared cache is asked to remove copies. */
const PURGE_METHODS = ["PURGE", "BAN", "POST"] as const;
export type PurgeMethod = (typeof PURGE_METHODS)[number];

const webAddress: Schema<string> = {
  type: "string",
  pattern: "^https?://[^/]",
  [HINT]: "Write an http:// or https:// address.",
};

const contact: Schema<string> = {
  type: "string",
  pattern: "^(https://[^/\\s][^\\s]*|mailto:[^@\\s]+@[^@\\s]+)$",
  [HINT]: "Write an https:// address, or mailto: and an e-mail address.",
};

const secureAddress: Schema<string> = {
  type: "string",
  pattern: "^https://[^/\\s][^\\s]*$",
  [HINT]: "Write an https:// address.",
};

const color: Schema<string> = {
  type: "string",
  pattern: "^#[0-9a-fA-F]{6}$",
  [HINT]: "Write a colour as #rrggbb.",
};

const schemas: Schema<SchemaMap> = { type: ["string", "object"], minLength: 1, additionalProperties: name };

const ruleSeverities = severitiesOf<RuleId, FindingSeverity>(RULES, FINDING_SEVERITIES);

/** Beside the rules, `baseline` is the one key that is none. */
const LINT: Schema<ValueOf<typeof ruleSeverities> & { readonly baseline?: string }> = {
  ...ruleSeverities,
  properties: {
    ...(ruleSeverities["properties"] as object),
    baseline: described("File of findings that `lint` accepts. Default: .routewright-baseline.json.", name),
  },
};

/**
 * JSON Schema of the config file: its checks, its type, and what editors complete (generator/docs/configuration.md,
 * Config file).
 */
export const CONFIG_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Routewright config file",
  ...record(
    {},
    {
      $schema: described("Address of this schema, for editors.", text),
      artifacts: described(
        "Where all of dbt's files are: a folder, or an https://, s3://, gs://, az://, abfss:// or dbt-cloud:// address. A file that is named for itself is not read there.",
        name,
      ),
      manifest: described("dbt's manifest.json: a file or an address.", name),
      catalog: described(
        "dbt's catalog.json, for types and comments of columns: a file or an address.",
        name,
      ),
      columns: described(
        "columns.json, which `routewright columns pull` writes: used where no catalog is given.",
        name,
      ),
      runResults: described(
        "dbt's run_results.json, from which a server reads build times: a file or an address.",
        name,
      ),
      sources: described(
        "dbt's sources.json, from which a server reads how old the rows of sources are: a file or an address.",
        name,
      ),
      freshness: described("dbt's freshness.json, which has models too: a file or an address.", name),
      out: described("The generated folder. Default: generated.", name),
      title: described("Title of the API.", name),
      description: described("What the API is, in one or two sentences: on its pages and in OpenAPI.", name),
      contact: described(
        "Who gives keys and answers questions: an https: or mailto: address, on the pages and in OpenAPI.",
        contact,
      ),
      termsOfService: described("Address of the terms of service.", secureAddress),
      logo: described(
        "Picture in the header of the pages: a file .svg, .png, .webp or .jpg of at most 32 KiB.",
        name,
      ),
      accent: described(
        "Colour of links and buttons on the pages, such as #1456b8; refused where its contrast is too small.",
        color,
      ),
      headline: described(
        "Up to three numbers that the explorer begins with: the path of an endpoint of tier0, a column, and parameters.",
        HEADLINE_SCHEMA,
      ),
      plans: described(
        "Plans of organizations whose keys are in a database, by name: tier, requests per minute, the categories and paths that their keys may call, quota per month, number of keys and members, price, and where to upgrade.",
        PLANS_SCHEMA,
      ),
      signUp: described(
        "Who gets an organization by signing in on the account page, and on which plan. Without it nobody.",
        SIGN_UP_SCHEMA,
      ),
      defaultTier: described("Tier of endpoints without a tier tag. Default: tier0.", oneOf(TIERS)),
      schemas: described(
        "The schema that serves all relations; or by the manifest's schema (`*` stands for any text) the one that serves instead. Keeps the schemas of a developer's or CI target out of the generated folder.",
        schemas,
      ),
      engine: described(
        "What serves: `clickhouse` or `postgres`, where that is not dbt's own adapter but a copy of its relations. Types of columns are those of the copy.",
        oneOf(ENGINES),
      ),
      publish: described(
        "Models that count as tagged with `production` and `api:<resource>`: which they are, in dbt's selection, what their names say of the path, and the tier of those without a tier tag. Tags of a model win; models with private data or `access: private` need their own.",
        PUBLISH,
      ),
      lint: described("Severities of lint rules, and the baseline.", LINT),
      verify: described(
        "Severities of the checks of `verify`.",
        severitiesOf<MismatchRule, FindingSeverity>(CHECKS, FINDING_SEVERITIES),
      ),
      diff: {
        description: "How changes are judged.",
        ...record(
          {},
          {
            severity: described(
              "Severities of kinds of change.",
              severitiesOf<ChangeKind, ChangeSeverity>(KINDS, CHANGE_SEVERITIES),
            ),
            accept: described(
              "File of accepted changes, and of accepted differences of `verify`. Default: .routewright-accept.json.",
              name,
            ),
            unused: described(
              "Severity of a breaking change that hits nobody, by `diff --usage`. Default: breaking.",
              oneOf(UNUSED),
            ),
          },
        ),
      },
      usage: {
        description: "What servers record of requests.",
        ...record(
          {},
          {
            shapes: described(
              "Whether the shapes of requests are kept, without values, for `diff --usage`. Default: false.",
              flag,
            ),
          },
        ),
      },
      publicMaxAge: described(
        "How long shared caches may keep rows of tier0 endpoints for callers without a key, in seconds; a model's `max_age` wins. Default: 0.",
        MAX_AGE,
      ),
      purgeUrl: described(
        "Address of the shared cache in front of the server: `routewright purge`, and a server that sees a build, ask it to remove copies.",
        webAddress,
      ),
      purgeMethod: described(
        "How the cache is asked: `PURGE` for each address, `BAN` or `POST` for the names of models. Default: PURGE.",
        oneOf(PURGE_METHODS),
      ),
      tests: described("Folder of endpoint tests. Default: api-tests.", name),
      minimumNoticeDays: described(
        "Shortest time between the announcement of a sunset and the sunset. Default: 30.",
        wholeNumber(0),
      ),
    },
  ),
};

/** What all commands of a repository agree on. Paths are relative to the file. */
export type Config = ValueOf<typeof CONFIG_SCHEMA>;
