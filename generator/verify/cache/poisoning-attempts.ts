import type { OutgoingHttpHeaders } from "node:http";

/** Headers; one with a list comes in several lines. */
export type Lines = Readonly<OutgoingHttpHeaders>;

/** A request that tries to put something into a copy that others get. */
export interface Attempt {
  readonly method?: "GET" | "HEAD" | "POST";
  readonly headers: Lines;
  readonly body?: string;
  /** What callers send who come later: each must get what it asks for. Default: one without headers. */
  readonly later?: readonly Lines[];
}

/** The text by which a copy shows what another caller has sent: 32 hex digits, so that a trace may have it too. */
export const MARK = "bad0c0de7e57bad0c0de7e57bad0c0de";

const ANY_FORMAT: readonly Lines[] = [{}, { accept: "application/json" }, { accept: "text/csv" }];

const ofFormats = (headers: Lines): Attempt => ({ headers, later: ANY_FORMAT });

/** Everything that a public copy is kept by, and what else a request may bring (runtime/docs/how-to/shared-caches.md). */
export const ATTEMPTS: readonly Attempt[] = [
  ...[
    { accept: "text/csv" },
    { accept: ["*/*", "application/json;q=0"] },
    { accept: ["*/*", "text/csv"] },
    { accept: ["application/json", "application/json;numbers=string"] },
    { accept: ["", "text/csv"] },
    { accept: "text/csv", connection: "close, accept" },
  ].map(ofFormats),
  ...[
    { "accept-encoding": "br" },
    { "accept-encoding": "gzip" },
    { "accept-encoding": ["identity", "gzip"] },
    { prefer: "count=exact" },
    { prefer: ["respond-async", "count=exact"] },
    { prefer: ["", "count=exact"] },
    { origin: `https://${MARK}.example` },
    { origin: lines(`https://${MARK}.example`, "https://example.com") },
    { "x-forwarded-prefix": `/${MARK}` },
    { "x-forwarded-prefix": ["", `/${MARK}`] },
    { "x-forwarded-host": `${MARK}.example`, forwarded: `host=${MARK}.example;proto=http` },
    { "x-original-url": `/${MARK}`, "x-rewrite-url": `/${MARK}` },
    { "x-http-method-override": "POST" },
    { "x-request-id": MARK, traceparent: `00-${MARK}-00f067aa0ba902b7-01` },
    { range: "bytes=0-1" },
    { range: lines("bytes=0-1", "bytes=0-3") },
    { "if-none-match": "*" },
    { "x-api-key": "sk_live_unknown" },
    { "x-long": "x".repeat(10_000) },
  ].map((headers): Attempt => ({ headers })),
  { method: "HEAD", headers: {} },
  { method: "POST", headers: { "content-type": "application/json" }, body: '{"limit":1}' },
];

/** Requests with a key: nobody else may get what they get. */
export function keyAttempts(key: string): readonly Attempt[] {
  const bearer = `Bearer ${key}`;
  return [
    { "x-api-key": key },
    { authorization: bearer },
    { "x-api-key": ["", key] },
    { authorization: lines("", bearer) },
    { authorization: lines("Basic eDp5", bearer) },
    { "x-api-key": key, connection: "close, x-api-key" },
    { "x-api-key": key, range: "bytes=0-1" },
  ].map((headers) => ({ headers }));
}

/** The types of Node know no request with several lines of these headers. */
function lines(...texts: readonly string[]): string {
  return texts as unknown as string;
}

/** What an attempt sends, for a message. */
export function textOf({ method = "GET", headers, body }: Attempt, key: string | null): string {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((text) => `${name}: ${String(text).slice(0, MAX_TEXT)}`),
  );
  const text = [method, ...sent, ...(body === undefined ? [] : [body])].join(", ");
  return key === null ? text : text.replaceAll(key, "<key>");
}

const MAX_TEXT = 60;
