import type { PublicAge } from "@routewright/runtime/model";
import { described, type Schema, wholeNumber } from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { type Setting, reading } from "./setting.js";

/** Seconds that shared caches may keep public rows, as a number or with those in which an older copy may still be served. */
export type MaxAge = number | { readonly max_age: number; readonly stale_while_revalidate?: number };

/** A year: HTTP's caches treat longer times alike. */
const LONGEST = 31_536_000;
const seconds = wholeNumber(0, LONGEST);

/** Also of `publicMaxAge` in the config file. */
export const MAX_AGE: Schema<MaxAge> = {
  ...seconds,
  type: ["integer", "object"],
  required: ["max_age"],
  properties: { max_age: seconds, stale_while_revalidate: seconds },
  additionalProperties: false,
  [HINT]: "Write seconds, such as 60, or {max_age: 60, stale_while_revalidate: 30}.",
};

/** Null: 0 seconds, which also a folder's longer time does not change. */
export const maxAge: Setting<MaxAge, PublicAge | null | undefined, unknown> = {
  schema: {
    ...described(
      "how long shared caches may keep rows of a tier0 endpoint for callers without a key, in seconds",
      MAX_AGE,
      0,
    ),
    [NOUN]: "a number of seconds",
  },
  read: (value) => reading([], () => (value === undefined ? undefined : publicAgeOf(value as MaxAge))),
};

/** Null where caches keep nothing. */
export function publicAgeOf(value: MaxAge): PublicAge | null {
  const { max_age, stale_while_revalidate = 0 } = typeof value === "number" ? { max_age: value } : value;
  const age = { maxAge: max_age, staleWhileRevalidate: stale_while_revalidate };
  return age.maxAge + age.staleWhileRevalidate === 0 ? null : age;
}
