import type { IncomingMessage } from "node:http";
import { readBody } from "../../http/body.js";
import type { Key } from "../idempotency/claim.js";
import { fingerprintOf } from "../idempotency/fingerprint.js";
import { isStorable, parseJson, type Violation, violations } from "../schema/validate.js";
import { refuse, type Refusal } from "./errors.js";
import type { Route } from "./route.js";

/** Longest `Idempotency-Key`, in characters (ramp-api.md §8). */
const MAX_KEY_LENGTH = 256;

/** A body as it came and as it was understood. */
export interface ReadBody {
  readonly text: string;
  /** The text itself when it is not JSON. */
  readonly value: unknown;
  /** Null: the value is what the schema says. */
  readonly invalid: Refusal | null;
}

/** Reads a request's body; "gone" when the client has left in the middle. */
export async function readRequestBody(
  request: IncomingMessage,
  route: Route,
): Promise<ReadBody | Refusal | "gone"> {
  const body = await readBody(request);
  switch (body.kind) {
    case "gone":
      return "gone";
    case "too-large":
      return refuse("BODY_TOO_LARGE");
    case "not-text":
      return refuse("INVALID_REQUEST", { details: [{ path: "", message: "is not UTF-8" }] });
    case "text":
      return understand(request, route, body.text);
  }
}

function understand(request: IncomingMessage, { body: schema }: Route, text: string): ReadBody | Refusal {
  if (schema === null) return { text, value: null, invalid: null };
  const isJson = /^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "");
  if (text !== "" && !isJson) return refuse("UNSUPPORTED_MEDIA_TYPE");
  const value = text.trim() === "" ? {} : parseJson(text);
  if (value === undefined)
    return { text, value: text, invalid: refuseFields([{ path: "", message: "is not JSON" }]) };
  if (!isStorable(value))
    return {
      text,
      value: text,
      invalid: refuseFields([
        { path: "", message: "holds U+0000 or half a character, or is nested too deep" },
      ]),
    };
  const wrong = violations(schema, value);
  return { text, value, invalid: wrong.length === 0 ? null : refuseFields(wrong) };
}

function refuseFields(details: readonly Violation[]): Refusal {
  return refuse("INVALID_REQUEST", { details: details.slice(0, 20) });
}

/** The query as an object of texts; a parameter that comes twice, or that the route does not know, is refused. */
export function readQuery(url: URL, { query: schema }: Route): Readonly<Record<string, string>> | Refusal {
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of url.searchParams) {
    if (name in query) return refuseFields([{ path: `/${name.slice(0, 100)}`, message: "is given twice" }]);
    query[name] = value;
  }
  const plain = { ...query };
  if (!isStorable(plain)) return refuseFields([{ path: "", message: "holds U+0000" }]);
  const wrong = schema === null ? [] : violations(schema, plain);
  return wrong.length === 0 ? plain : refuseFields(wrong);
}

/** The `Idempotency-Key`, or null without one. */
export function readKey(
  request: IncomingMessage,
  path: string,
  value: unknown,
  customerId: string | null,
): Key | null | Refusal {
  const given = request.headersDistinct["idempotency-key"];
  if (given === undefined) return null;
  const [key = ""] = given;
  if (given.length > 1 || key === "" || key.length > MAX_KEY_LENGTH) return refuse("INVALID_IDEMPOTENCY_KEY");
  return { key, fingerprint: fingerprintOf({ method: request.method ?? "", path, body: value, customerId }) };
}
