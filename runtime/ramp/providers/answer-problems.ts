import { NO_SCHEMA, schemaProblem } from "../core/provider-schema.js";
import { formProblem } from "./form.js";
import type { Capabilities, Onboarding } from "./protocol.js";

/** What answers must be beyond the schemas of their messages (protocol.ts). */

/** What is wrong with a provider's capabilities, or null. */
export function capabilitiesProblem({ pairs, rails }: Capabilities): string | null {
  for (const { code, properties } of rails) {
    const problem = schemaProblem({ type: "object", properties });
    if (problem !== null) return `the fields of rail ${code} cannot be checked: ${problem}`;
  }
  const all = schemaProblem({ anyOf: rails.map(({ properties }) => ({ properties })) });
  if (all !== null) return `the fields of all rails cannot be checked: ${all}`;
  const unknown = pairs.find(({ rail }) => !rails.some(({ code }) => code === rail));
  return unknown ? `rail ${unknown.rail} of a pair is not described` : null;
}

/** What is wrong with the forms of an onboarding, or null. A pattern that cannot be checked here is the provider's to check. */
export function formsProblem({ requirements }: Onboarding): string | null {
  for (const [at, { form, status }] of requirements.entries()) {
    if (form === null || status !== "PENDING") continue;
    const wrong = formProblem(form);
    const path = `/requirements/${String(at)}/form`;
    if (wrong !== null)
      return `the response does not match the provider protocol: ${path}${wrong.path} ${wrong.message}`;
    if (schemaProblem(form) === NO_SCHEMA)
      return `the response does not match the provider protocol: ${path} is no JSON Schema`;
  }
  return null;
}
