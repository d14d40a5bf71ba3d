/**
 * What is written in the transaction of a change: its line of the audit log. A function for each event of which others are told.
 * `from`: rows of the change, with `actor`, `action` and `organization`, and the columns that are named below.
 */

/** `key.created`, also by a rotation or an import. `from` has `key`, its id. */
export function keyCreated(from: string): string {
  return noted("key", from);
}

/** `plan.changed`. `from` has `plan`, the new one. */
export function planChanged(from: string): string {
  return noted("plan", from);
}

/** Any other change, about a `key` or about a `subject`: a person, an invitation, or the id that an organization had. */
export function noted(about: "key" | "plan" | "subject", from: string): string {
  return `INSERT INTO routewright_keys.audit (actor, action, organization, ${about})
  SELECT actor, action, organization, ${about} FROM ${from}`;
}
