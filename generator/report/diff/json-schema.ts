import { TIERS } from "@routewright/runtime/model";
import { CHANGE_KINDS, SEVERITIES } from "../../diff/change.js";

const count = { type: "integer", minimum: 0 } as const;
const text = { type: "string" } as const;
const textOrNull = { type: ["string", "null"] } as const;

const kind = { enum: CHANGE_KINDS, description: "What has changed." } as const;
const endpoint = {
  type: "string",
  pattern: "^/v1/",
  description: "The path that consumers call: the base's, or the head's for what is new there.",
} as const;

const CHANGE = {
  severity: { enum: SEVERITIES, description: "What it means to consumers." },
  kind,
  endpoint,
  model: { ...text, description: "Name of the dbt model." },
  file: { ...textOrNull, description: "The model's file in its dbt project; null where no side tells." },
  tier: { enum: TIERS, description: "The tier whose callers it concerns." },
  subject: {
    ...textOrNull,
    description: "The parameter, column, method or field; null where it is the endpoint.",
  },
  before: { ...textOrNull, description: "What was; null where there was nothing." },
  after: { ...textOrNull, description: "What is; null where nothing is left." },
  details: { type: "array", items: text, description: "More to know, such as why an endpoint is gone." },
} as const;

const GROUNDS = {
  reason: { type: "string", minLength: 1, description: "Why consumers can live with it." },
  expires: {
    ...textOrNull,
    pattern: "^\\d{4}-\\d{2}-\\d{2}$",
    description: "The last day of the entry; null without one.",
  },
} as const;

const STALE = {
  kind,
  endpoint,
  ...GROUNDS,
  why: {
    enum: ["unmatched", "expired"],
    description: "No such change is there any more, or its last day is past.",
  },
} as const;

/** JSON Schema (draft 2020-12) of `routewright diff --format json`. A member may be added; none changes its meaning. */
export const REPORT_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Report of `routewright diff`",
  ...closed({
    version: { const: 1 },
    base: { ...text, description: "The base as given, without the password of an address." },
    head: { ...text, description: "The head likewise." },
    summary: closed({ breaking: count, warning: count, compatible: count, accepted: count, stale: count }),
    kinds: {
      type: "object",
      description: "Changes by kind, accepted ones aside.",
      propertyNames: kind,
      additionalProperties: { type: "integer", minimum: 1 },
    },
    changes: {
      type: "array",
      description:
        "What is not accepted: breaking, then warnings, then the rest; each by endpoint, kind and subject.",
      items: closed(CHANGE),
    },
    accepted: { type: "array", description: "In the same order.", items: closed({ ...CHANGE, ...GROUNDS }) },
    stale: { type: "array", description: "Entries of the accept file that should go.", items: closed(STALE) },
  }),
} as const;

/** An object with exactly these members. */
function closed<Properties extends Readonly<Record<string, unknown>>>(properties: Properties) {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false } as const;
}
