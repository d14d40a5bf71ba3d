import { httpError, type HttpError } from "../../../core/model/errors.js";
import type { Outcome } from "../../../core/model/outcome.js";
import type { ValueOf } from "../../../core/model/schema.js";
import { ALL_ORGS, KEY_ID_DIGITS } from "../../../core/request/keyring.js";
import type { KeyOwner, StoredKey } from "../key-store.js";
import { json, type OperatorAnswer, type OperatorRequest, pageOf } from "./operators.js";
import type { KEYS_QUERY, NEW_KEY, ROTATION } from "./schemas.js";

export async function listKeys({ input, keys }: OperatorRequest<ValueOf<typeof KEYS_QUERY>>): OperatorAnswer {
  const { organization = null, limit = 1, after = null } = input;
  const found = await keys.page({ organization, after, limit: limit + 1 });
  const { shown, next } = pageOf(found, limit, ({ id }) => id);
  return json(200, { keys: shown.map(keyJson), next });
}

export async function createKey({ input, keys }: OperatorRequest<ValueOf<typeof NEW_KEY>>): OperatorAnswer {
  const { user, tier, organization = "", expires, allowed } = input;
  if (organization === ALL_ORGS && tier !== "tier3")
    return httpError("valueNotOfType", { name: "organization", type: "another than '*' below tier3" });
  const owner: KeyOwner = {
    user,
    tier,
    org: organization,
    ...(expires && { expires }),
    ...(allowed && { allowed }),
  };
  const made = await keys.create(owner);
  if (!made.ok) return refusal(made);
  const { id, key } = made.value;
  return json(201, { id, key }, { id, key: null });
}

export async function rotateKey({
  input,
  keys,
  id,
}: OperatorRequest<ValueOf<typeof ROTATION>>): OperatorAnswer {
  if (!isWholeId(id)) return httpError("notFound");
  const rotated = await keys.rotate(id, input.keep_seconds ?? 0);
  if (!rotated.ok)
    return /has expired|is replaced/.test(rotated.problems[0] ?? "") ? ENDED : httpError("notFound");
  const { id: made, key, replaced, until } = rotated.value;
  const answer = { id: made, key, replaced, valid_until: until };
  return json(201, answer, { ...answer, key: null });
}

export async function revokeKey({ keys, id }: OperatorRequest<unknown>): OperatorAnswer {
  const revoked = isWholeId(id) ? await keys.revoke(id) : null;
  return revoked?.ok === true ? json(200, { revoked: revoked.value }) : httpError("notFound");
}

const ENDED = httpError("valueNotOfType", {
  name: "id",
  type: "the id of a key that has neither expired nor been replaced",
});

/** Commands take the beginning of an id, which may be that of another key tomorrow. */
const isWholeId = (id: string): boolean => /^[0-9a-f]+$/.test(id) && id.length === KEY_ID_DIGITS;

/** A problem such as `--expires must be a date`. */
function refusal({ problems }: Extract<Outcome<unknown>, { ok: false }>): HttpError {
  const [, name = "organization", type = "one that may have another key"] =
    /^--(\w+) must be (.*?)\.?$/.exec(problems[0] ?? "") ?? [];
  return httpError("valueNotOfType", { name, type });
}

function keyJson({ org, lastUsed, ...key }: StoredKey): object {
  return { ...key, organization: org || null, ...(lastUsed && { last_used: lastUsed }) };
}
