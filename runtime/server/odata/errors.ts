import type { Exchange } from "../../core/handler/exchange.js";
import { noticeOf } from "../../core/handler/run.js";
import type { ErrorCode, HttpError } from "../../core/model/errors.js";
import { isHttpError } from "../../core/model/errors.js";
import { errorHeaders, type Reply } from "../../core/http/send.js";
import { versionOf } from "./representation.js";

/** What a client asks its user for again. */
const CREDENTIALS: ReadonlySet<ErrorCode> = new Set(["missingKey", "unknownKey", "expiredKey"]);

const BASIC = 'Basic realm="API key as the password", charset="UTF-8"';

/** These tools ask for a user name and a password. */
const MISSING_KEY =
  "Missing API key: send it as the password of Basic authentication, with any user name, or in the header X-API-Key";

/** An error of the table in OData's form (OData JSON Format 4.01, 21.1). */
export function odataError(exchange: Exchange, error: HttpError): Reply {
  const { item, request } = exchange;
  const { code, retryAfter, detail, parameter } = error;
  const isOfKey = CREDENTIALS.has(code);
  const status = isOfKey ? 401 : error.status;
  const challenge = isOfKey ? BASIC : status === 401 ? 'Bearer error="invalid_token"' : null;
  const body = {
    code,
    message: code === "missingKey" ? MISSING_KEY : optionsIn(detail),
    ...(parameter !== null && { target: OPTIONS[parameter] ?? parameter }),
  };
  return {
    status,
    body: JSON.stringify({ error: body }),
    headers: {
      ...errorHeaders({ status, retryAfter, challenge }, item.allowed),
      ...(code === "gone" && item.endpoint && headersByName(noticeOf(exchange, item.endpoint))),
      ...versionHeaders(request),
    },
  };
}

/** Headers by their names, of flat name and value pairs. */
export function headersByName(flat: readonly string[]): Readonly<Record<string, string>> {
  const names = flat.filter((_, i) => i % 2 === 0);
  return Object.fromEntries(names.map((name, i) => [name, flat[2 * i + 1] ?? ""]));
}

/** Names of parameters, and of the options that stand for them. */
const OPTIONS: Readonly<Record<string, string>> = {
  filter: "$filter",
  cursor: "$skiptoken",
  offset: "$skip",
  limit: "$top",
};

/** The texts of the table name parameters of the endpoint. */
function optionsIn(detail: string): string {
  return detail.replace(/'(filter|cursor|offset|limit)'/g, (_, name: string) => `'${OPTIONS[name] ?? name}'`);
}

/** `OData-Version` of a response. */
export function versionHeaders(request: Exchange["request"]): Readonly<Record<string, string>> {
  const version = versionOf(request);
  return { "OData-Version": isHttpError(version) ? "4.01" : version };
}
