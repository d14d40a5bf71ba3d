import {
  described,
  integer,
  listOf,
  oneOf,
  openRecord,
  orNull,
  record,
  textOf,
  text,
  time,
  wholeNumber,
} from "../../../core/model/schema.js";
import { TIERS } from "../../../core/model/tier.js";

/** `*` would be the rows of all organizations. */
const ORGANIZATION_ID = described(
  "The `org` of its keys: own rows are those with this text.",
  textOf({ minLength: 1, maxLength: 200, pattern: "^(?!\\*$)[^\\u0000-\\u001f\\u007f]+$" }),
);
const NAME = described("What people call it.", textOf({ maxLength: 100 }));
const PLAN = orNull(described("Name of a plan; null: none.", textOf({ maxLength: 64 })));
const ALLOWED = described(
  "Categories and paths that the key is limited to.",
  listOf(textOf({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 100 }),
);
const EXPIRES = described("A date, whose end in UTC counts, or a date-time.", textOf({ maxLength: 40 }));

const LARGEST_QUOTA = 1_000_000_000_000_000;
const ownFigure = (text: string, most: number) => orNull(described(text, wholeNumber(1, most)));

/** Most items of a page of a list. */
const MAX_PAGE = 100;
const DEFAULT_PAGE = 50;

const LIMIT = described("Items at most.", wholeNumber(1, MAX_PAGE), DEFAULT_PAGE);
const AFTER = described("The `next` of the page before.", textOf({ minLength: 1, maxLength: 200 }));

export const LIST_QUERY = record({}, { limit: LIMIT, after: AFTER });
export const KEYS_QUERY = record(
  {},
  {
    organization: described("Only keys of this one.", textOf({ maxLength: 200 })),
    limit: LIMIT,
    after: AFTER,
  },
);
export const AUDIT_QUERY = record(
  {},
  {
    organization: described("Only changes of this one.", textOf({ maxLength: 200 })),
    limit: LIMIT,
    before: described("The `next` of the page before: newest come first.", wholeNumber(1)),
  },
);

const OWN = described(
  "Figures that go before those of its plan; null: the plan's. Those that are absent stay.",
  record(
    {},
    {
      requestsPerMinute: ownFigure("Requests per minute of each key.", 1_000_000),
      requests: ownFigure("Requests per month of all keys together.", LARGEST_QUOTA),
      rows: ownFigure("Rows per month of all keys together.", LARGEST_QUOTA),
      bytes: ownFigure("Bytes per month of all keys together.", LARGEST_QUOTA),
      keys: ownFigure("Number of keys.", 1_000_000),
      members: ownFigure("Number of members.", 1_000_000),
    },
    { minProperties: 1 },
  ),
);

export const NEW_ORGANIZATION = record({}, { id: ORGANIZATION_ID, name: NAME, plan: PLAN });
export const CHANGED_ORGANIZATION = record(
  {},
  { id: ORGANIZATION_ID, name: NAME, plan: PLAN, own: OWN },
  { minProperties: 1 },
);
export const NEW_KEY = record(
  {
    user: described("Whose key it is, in logs and usage.", textOf({ minLength: 1, maxLength: 100 })),
    tier: described("The highest tier that it may call.", oneOf(TIERS)),
  },
  {
    organization: described(
      "Its organization, which is made where there is none; `*` with tier3: all of them; absent: none.",
      textOf({ minLength: 1, maxLength: 200 }),
    ),
    expires: EXPIRES,
    allowed: ALLOWED,
  },
);
export const NEW_INVITATION = record(
  {},
  {
    organization: described("Absent: one of their own.", textOf({ minLength: 1, maxLength: 200 })),
    role: described("In that organization.", oneOf(["owner", "member"]), "owner"),
  },
);
export const ROTATION = record(
  {},
  {
    keep_seconds: described(
      "How long the key before stays valid, unless it expires earlier.",
      wholeNumber(0, 36_000_000),
      86_400,
    ),
  },
);

const ORGANIZATION = openRecord({
  id: text,
  name: text,
  plan: orNull(text),
  created: time,
  members: described("People of the account page who belong to it.", integer),
  keys: described("Keys that are not revoked.", integer),
  own: described(
    "Figures that go before those of its plan; null: the plan's.",
    openRecord({
      ...{ requestsPerMinute: orNull(integer), requests: orNull(integer), rows: orNull(integer) },
      ...{ bytes: orNull(integer), keys: orNull(integer), members: orNull(integer) },
    }),
  ),
});
const KEY = openRecord(
  {
    id: described("In logs and usage.", text),
    user: text,
    tier: oneOf(TIERS),
    organization: orNull(text),
    created: time,
  },
  {
    expires: time,
    allowed: listOf(text),
    last_used: { type: "string", format: "date", description: "The last day in UTC with a request." },
  },
);
const SECRET = orNull(
  described("The key, shown once: a repeated request with the same Idempotency-Key shows null.", text),
);
const NEXT = orNull(described("What the next page begins after; null on the last one.", text));

export const ANSWERS = {
  organizations: openRecord({ organizations: listOf(ORGANIZATION), next: NEXT }),
  organization: ORGANIZATION,
  keys: openRecord({ keys: listOf(KEY), next: NEXT }),
  key: openRecord({ id: text, key: SECRET }),
  rotated: openRecord({ id: text, key: SECRET, replaced: text, valid_until: time }),
  invitation: openRecord({ id: text, link: orNull(text), expires: time }),
  revoked: openRecord({ revoked: text }),
  plans: openRecord({
    plans: listOf(
      openRecord({ name: text, tier: oneOf(TIERS) }, { requestsPerMinute: integer, allowed: listOf(text) }),
    ),
  }),
  audit: openRecord({
    changes: listOf(
      openRecord({
        id: integer,
        at: time,
        actor: described("`command`, `key:` and the id of an operator's key, `person:` and an id.", text),
        action: text,
        organization: orNull(text),
        key: orNull(text),
        plan: orNull(text),
        subject: orNull(text),
      }),
    ),
    next: orNull(integer),
  }),
};
