/**
 * The line of the audit log, in the transaction of a change about a `key`, a `plan`, or a `subject`: a person, an invitation, or the
 * id that an organization had. `from`: rows of the change, with `actor`, `action` and `organization`, and the column that is named.
 * Events for operators are recorded by triggers of migration 0005, so that changes by SQL have them too.
 */
export function noted(about: "key" | "plan" | "subject", from: string): string {
  return `INSERT INTO routewright_keys.audit (actor, action, organization, ${about})
  SELECT actor, action, organization, ${about} FROM ${from}`;
}
