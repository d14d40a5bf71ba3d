import { TIERS } from "@routewright/runtime/model";
import { CHANGE_KINDS, SEVERITIES as CHANGE_SEVERITIES } from "../../generator/diff/change.js";
import { RULE_IDS, SEVERITIES as FINDING_SEVERITIES } from "../../generator/lint/finding.js";

const count = { type: "integer", minimum: 0 } as const;
const countOrNull = { type: ["integer", "null"], minimum: 0 } as const;
const text = { type: "string" } as const;
const textOrNull = { type: ["string", "null"] } as const;
const flag = { type: "boolean" } as const;

/** An object with exactly these members. */
function closed<Properties extends Readonly<Record<string, unknown>>>(properties: Properties) {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false } as const;
}

function listOf<Item>(items: Item, description: string) {
  return { type: "array", description, items } as const;
}

function countsBy(names: readonly string[], description: string) {
  return {
    type: "object",
    description,
    propertyNames: { enum: names },
    additionalProperties: { type: "integer", minimum: 1 },
  } as const;
}

const KIND = { enum: CHANGE_KINDS, description: "What has changed." } as const;
const ENDPOINT = {
  type: "string",
  pattern: "^/v1/",
  description: "The path that consumers call: the base's, or the head's for a new endpoint.",
} as const;
const SUBJECT = {
  ...textOrNull,
  description: "The parameter, column, method or field; null where it is the endpoint.",
} as const;

const CHANGE = {
  severity: { enum: CHANGE_SEVERITIES, description: "What it means to consumers." },
  kind: KIND,
  endpoint: ENDPOINT,
  model: { ...text, description: "Name of the dbt model." },
  file: {
    ...textOrNull,
    description: "The model's file in its dbt project; null where neither revision names it.",
  },
  tier: { enum: TIERS, description: "The tier of the endpoint in the base, or in the head for a new one." },
  subject: SUBJECT,
  before: { ...textOrNull, description: "The value in the base; null where there was none." },
  after: { ...textOrNull, description: "The value in the head; null where there is none." },
  details: listOf(text, "More to know, such as why an endpoint is gone."),
} as const;

const ACCEPTANCE = {
  reason: { type: "string", minLength: 1, description: "Why consumers can live with it." },
} as const;
const { before: BEFORE, after: AFTER } = CHANGE;
const ENTRY = closed({
  kind: KIND,
  endpoint: ENDPOINT,
  subject: SUBJECT,
  before: BEFORE,
  after: AFTER,
  ...ACCEPTANCE,
});

/** JSON Schema (draft 2020-12) of `routewright diff --format json`. A member may be added; none changes its meaning. */
export const DIFF_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Report of `routewright diff`",
  ...closed({
    version: { const: 2 },
    base: { ...text, description: "The base as given, without the password of an address." },
    head: { ...text, description: "The head likewise." },
    failed: { ...flag, description: "Whether the run fails by --fail-on." },
    summary: closed({
      exposing: count,
      breaking: count,
      warning: count,
      compatible: count,
      accepted: count,
      merged: count,
    }),
    kinds: countsBy(CHANGE_KINDS, "Open changes by kind."),
    changes: listOf(closed(CHANGE), "Not accepted: by severity, endpoint, kind and subject."),
    accepted: listOf(closed({ ...CHANGE, ...ACCEPTANCE }), "In the same order."),
    merged: listOf(ENTRY, "Accept entries without such a change."),
  }),
} as const;

const FINDING = {
  rule: { enum: RULE_IDS },
  severity: { enum: FINDING_SEVERITIES, description: "Severity in force." },
  model: { ...text, description: "dbt's unique_id." },
  file: {
    ...textOrNull,
    description: "The model's file in its dbt project; null where the manifest does not name it.",
  },
  endpoint: {
    ...textOrNull,
    description: "The path that consumers call; null for a model without an endpoint.",
  },
  path: { ...text, pattern: "^\\$", description: "Where in the model's node, as a JSON path." },
  message: { ...text, description: "What is wrong, and why that matters to consumers." },
  hint: { ...text, description: "How to fix it." },
} as const;

/** JSON Schema (draft 2020-12) of `routewright lint --format json`. A member may be added; none changes its meaning. */
export const LINT_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Report of `routewright lint`",
  ...closed({
    version: { const: 2 },
    failed: { ...flag, description: "Whether the run fails by --fail-on." },
    summary: closed({
      error: count,
      warning: count,
      suppressed: count,
      known: { ...countOrNull, description: "Findings that the base has too; null without --base." },
      endpoints: count,
      skipped: { ...count, description: "Tagged models without an endpoint: those of `skipped-model`." },
    }),
    rules: countsBy(RULE_IDS, "Findings by rule, suppressed ones aside."),
    findings: listOf(closed(FINDING), "Errors, then warnings; each by rule, endpoint and model."),
    suppressed: listOf(
      closed({ ...FINDING, reason: { type: "string", minLength: 1 } }),
      "Findings that their models suppress, in the same order.",
    ),
  }),
} as const;
