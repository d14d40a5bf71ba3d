import { TIERS } from "@routewright/runtime/model";
import { KINDS, SEVERITIES as CHANGE_SEVERITIES } from "./diff/change.js";
import { RULES, SEVERITIES as RULE_SEVERITIES } from "./lint/finding.js";
import { CHECKS } from "./verify/relations.js";

const text = { type: "string", minLength: 1 } as const;

/** A key per rule or kind of change, each a severity or `off`. */
function severitiesOf(
  infos: Readonly<Record<string, { readonly reason: string }>>,
  severities: readonly string[],
) {
  const properties = Object.fromEntries(
    Object.entries(infos).map(([id, { reason }]) => [
      id,
      { description: reason, enum: [...severities, "off"] },
    ]),
  );
  return { type: "object", additionalProperties: false, properties } as const;
}

/** JSON Schema of the config file: its checks, and what editors complete (generator/docs/configuration.md, Config file). */
export const CONFIG_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Routewright config file",
  type: "object",
  additionalProperties: false,
  properties: {
    $schema: { description: "Address of this schema, for editors.", type: "string" },
    manifest: { description: "dbt's manifest.json: a file or an http(s) address.", ...text },
    catalog: {
      description:
        "dbt's catalog.json, for columns and types that no schema.yml lists: a file or an address.",
      ...text,
    },
    runResults: {
      description: "dbt's run_results.json, from which a server reads build times: a file or an address.",
      ...text,
    },
    out: { description: "The generated folder. Default: generated.", ...text },
    title: { description: "Title of the API.", ...text },
    defaultTier: { description: "Tier of endpoints without a tier tag. Default: tier0.", enum: [...TIERS] },
    schemas: {
      description:
        "The schema that serves all relations; or by the manifest's schema (`*` stands for any text) the one that serves instead. Keeps the schemas of a developer's or CI target out of the generated folder.",
      type: ["string", "object"],
      minLength: 1,
      additionalProperties: { ...text },
    },
    lint: {
      description: "Severities of lint rules.",
      ...severitiesOf(RULES, RULE_SEVERITIES),
    },
    verify: {
      description: "Severities of the checks of `verify`.",
      ...severitiesOf(CHECKS, RULE_SEVERITIES),
    },
    diff: {
      description: "How changes are judged.",
      type: "object",
      additionalProperties: false,
      properties: {
        severity: {
          description: "Severities of kinds of change.",
          ...severitiesOf(KINDS, CHANGE_SEVERITIES),
        },
        accept: { description: "File of accepted changes. Default: .routewright-accept.json.", ...text },
      },
    },
    minimumNoticeDays: {
      description: "Shortest time between the announcement of a sunset and the sunset. Default: 30.",
      type: "integer",
      minimum: 0,
    },
  },
} as const;
