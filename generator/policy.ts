import { existsSync } from "node:fs";
import { closest, shown } from "./catalogue/meta-api/fault.js";
import type { SeverityOverrides } from "./diff/compare-catalogues.js";
import { CHANGE_KINDS, SEVERITIES as CHANGE_SEVERITIES } from "./diff/kinds.js";
import { RULE_IDS, type RuleSeverities, SEVERITIES as RULE_SEVERITIES } from "./lint/finding.js";
import { isObject, type JsonObject } from "./manifest/json.js";
import { parseJson } from "./manifest/manifest.js";
import { readSource } from "./manifest/source.js";

/** What a repository decides about its reports: the keys `lint`, `diff` and `minimumNoticeDays` of the config file. */
export interface Policy {
  readonly lint: RuleSeverities;
  readonly severities: SeverityOverrides;
  /** The accept file; undefined for the default one. */
  readonly accept: string | undefined;
  readonly minimumNoticeDays: number;
}

/** Days between the announcement of a sunset and the sunset, unless the config file says otherwise. */
export const MINIMUM_NOTICE_DAYS = 30;

export type PolicyReading =
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the policy keys of a config file's object and reports every problem; other keys are left to their readers. */
export function readPolicy(config: JsonObject, location: string): PolicyReading {
  const { lint = {}, diff = {}, minimumNoticeDays = MINIMUM_NOTICE_DAYS } = config;
  const { severity = {}, accept, ...unknown } = isObject(diff) ? diff : {};
  const problems = [
    ...severityProblems("lint", lint, RULE_IDS, RULE_SEVERITIES),
    ...(isObject(diff) ? [] : ["`diff` is not an object; write `severity` and `accept` in one."]),
    ...Object.keys(unknown).map(
      (key) => `unknown key ${shown(key)} in \`diff\`; known are severity, accept.`,
    ),
    ...severityProblems("diff.severity", severity, CHANGE_KINDS, CHANGE_SEVERITIES),
    ...(accept === undefined || typeof accept === "string"
      ? []
      : ["`diff.accept` is not the name of a file."]),
    ...(Number.isInteger(minimumNoticeDays) && Number(minimumNoticeDays) >= 0
      ? []
      : [`\`minimumNoticeDays\` is ${shown(minimumNoticeDays)}; give a whole number of days.`]),
  ];
  if (problems.length > 0)
    return { ok: false, problems: problems.map((problem) => `${location}: ${problem}`) };
  return {
    ok: true,
    policy: {
      lint: lint as RuleSeverities,
      severities: severity as SeverityOverrides,
      accept: accept as string | undefined,
      minimumNoticeDays: Number(minimumNoticeDays),
    },
  };
}

function severityProblems(
  key: string,
  value: unknown,
  ids: readonly string[],
  severities: readonly string[],
): readonly string[] {
  if (!isObject(value)) return [`\`${key}\` is not an object of ids and severities.`];
  const allowed = [...severities, "off"];
  return Object.entries(value).flatMap(([id, severity]) => {
    if (!ids.includes(id)) {
      const near = closest(id, ids);
      return [
        `unknown id ${shown(id)} in \`${key}\`${near === null ? "." : `; did you mean ${shown(near)}?`}`,
      ];
    }
    if (typeof severity === "string" && allowed.includes(severity)) return [];
    return [`\`${key}.${id}\` is ${shown(severity)}; use one of ${allowed.join(", ")}.`];
  });
}

const CONFIG_FILE = "routewright.config.json";

/** The policy of the config file in the current folder; the defaults where there is none. */
export async function loadPolicy(): Promise<PolicyReading> {
  if (!existsSync(CONFIG_FILE)) return readPolicy({}, CONFIG_FILE);
  const source = await readSource(CONFIG_FILE);
  if (!source.ok) return { ok: false, problems: [source.problem] };
  const json = parseJson(source.text, CONFIG_FILE);
  if (!json.ok) return { ok: false, problems: [json.problem] };
  if (!isObject(json.value)) return { ok: false, problems: [`${CONFIG_FILE} is not a JSON object.`] };
  return readPolicy(json.value, CONFIG_FILE);
}
