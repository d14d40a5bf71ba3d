import { RULE_IDS, SEVERITIES } from "../../lint/finding.js";
import { CHECK_IDS } from "../../lint/rules/checks.js";

const count = { type: "integer", minimum: 0 } as const;
const text = { type: "string" } as const;
const textOrNull = { type: ["string", "null"] } as const;
const rule = { enum: RULE_IDS } as const;
const check = { enum: CHECK_IDS, description: "A rule that a model can turn off." } as const;

const FINDING = {
  severity: { enum: SEVERITIES, description: "How much it concerns consumers." },
  model: { ...text, description: "dbt's unique_id." },
  file: {
    ...textOrNull,
    description: "The model's file in its dbt project; null where the manifest does not tell.",
  },
  endpoint: {
    ...textOrNull,
    description: "The path that consumers call; null for a model without an endpoint.",
  },
  path: { ...text, pattern: "^\\$", description: "Where in the model's node, as a JSON path." },
  message: { ...text, description: "What is wrong, and why that matters to consumers." },
  hint: { ...text, description: "What to do about it." },
} as const;

/** JSON Schema (draft 2020-12) of `routewright lint --format json`. A member may be added; none changes its meaning. */
export const REPORT_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Report of `routewright lint`",
  ...closed({
    version: { const: 1 },
    summary: closed({
      error: count,
      warning: count,
      notice: count,
      suppressed: count,
      endpoints: count,
      skipped: { ...count, description: "Models tagged for the API that a fault keeps out of it." },
    }),
    rules: {
      type: "object",
      description: "Findings by rule, those turned off aside.",
      propertyNames: rule,
      additionalProperties: { type: "integer", minimum: 1 },
    },
    findings: {
      type: "array",
      description: "Errors, then warnings, then notices; each by rule, endpoint and model.",
      items: closed({ rule, ...FINDING }),
    },
    suppressed: {
      type: "array",
      description: "Findings that their models turn off, in the same order.",
      items: closed({ rule: check, ...FINDING, reason: { type: "string", minLength: 1 } }),
    },
    unchecked: {
      type: "array",
      description: "Rules that say nothing of this project, and why.",
      items: closed({ rule: check, why: text }),
    },
  }),
} as const;

/** An object with exactly these members. */
function closed<Properties extends Readonly<Record<string, unknown>>>(properties: Properties) {
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false } as const;
}
