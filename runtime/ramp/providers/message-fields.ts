import {
  anything,
  described,
  mapOf,
  oneOf,
  orNull,
  textOf,
  type Schema,
} from "@routewright/runtime/internal/core/model/schema.js";
import type { AmountText, RateText } from "../accounts/amount.js";

/** Fields of the messages between the ramp and a provider server (protocol.ts). */

export const Id = (description: string) => textOf({ minLength: 1, maxLength: 128, description });
export const Code = (description: string) => textOf({ pattern: "^[A-Za-z0-9_]{2,40}$", description });
const DECIMAL = "^[0-9]{1,40}(\\.[0-9]{1,18})?$";
export const AmountField = (description: string): Schema<AmountText> =>
  textOf({ pattern: DECIMAL, description });
export const RateField = (description: string): Schema<RateText> => textOf({ pattern: DECIMAL, description });
/** A text for people: a longer one is cut, not refused. */
export const Text = (description: string, keywords: { minLength?: number; maxLength?: number } = {}) =>
  textOf({ maxLength: 500, ...keywords, [LONGER]: "cut", description });
const LONGER = "x-longer";
/** What errors are called: all that providers use. */
export const ErrorCode = (description: string) => textOf({ pattern: "^[!-~]{1,100}$", description });
export const CountryCode = textOf({ pattern: "^[A-Z]{2}$" });
export const Json = (description: string) => described(description, mapOf(anything));
/** The value or null, in its description too. */
export const nullable = <Value>(schema: Schema<Value>) =>
  orNull({ ...schema, description: `${String(schema.description)}, or null` });
export const statuses = <const Text extends string>(values: readonly Text[], description: string) =>
  described(description, oneOf(values));

export const CallbackUrl = textOf({
  format: "uri",
  description: "address that callbacks about the order go to",
});

/** A message whose texts for people are as long as their schema has them. */
export function withCutTexts(schema: Schema, value: unknown): unknown {
  if (typeof value === "string")
    return schema[LONGER] === "cut" ? cut(value, Number(schema["maxLength"])) : value;
  if (Array.isArray(value)) return value.map((item) => withCutTexts((schema["items"] ?? {}) as Schema, item));
  if (typeof value !== "object" || value === null) return value;
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const fieldOf = (name: string): Schema => (Object.hasOwn(properties, name) ? (properties[name] ?? {}) : {});
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withCutTexts(fieldOf(name), item)]),
  );
}

/** Its last character says that it was longer. */
function cut(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

/** An address that customers can be sent to: HTTPS, or this machine's own, for a sandbox. Without a user name, which can imitate a host. */
export const PAGE_ADDRESS =
  "^(https://[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]{1,5})?)([/?#][!-~]*)?$";
export const MAX_ADDRESS_LENGTH = 2_000;

export function isPageAddress(url: string): boolean {
  return url.length <= MAX_ADDRESS_LENGTH && new RegExp(PAGE_ADDRESS).test(url) && URL.canParse(url);
}
