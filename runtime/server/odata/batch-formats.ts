/** The two formats of a batch: JSON (OData JSON Format 4.01, 19) and `multipart/mixed` (OData 4.01, 11.7.7), which clients of 4.0 send. */
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Reply } from "../../core/http/send.js";
import { httpError, isHttpError, type Result } from "../../core/model/errors.js";
import { readJson } from "../../core/request/request-fields.js";

export interface BatchFormat {
  readonly contentType: string;
  /** The requests of a body, unchecked but for a list. */
  read(text: string): Result<readonly unknown[]>;
  part(id: string, reply: Reply): string;
  body(parts: readonly string[]): string;
}

/** The format of a request's `Content-Type`, in which its response is too. */
export function formatOf(contentType: string): BatchFormat {
  if (!/^multipart\/mixed\b/i.test(contentType)) return JSON_FORMAT;
  const [, quoted, plain = quoted] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]*))/i.exec(contentType) ?? [];
  return new Multipart(plain ?? "");
}

const JSON_FORMAT: BatchFormat = {
  contentType: "application/json",
  read: (text) => {
    const body = readJson(text);
    if (isHttpError(body)) return body;
    const { requests } = (body.json ?? {}) as { readonly requests?: unknown };
    return Array.isArray(requests) && requests.length > 0
      ? (requests as readonly unknown[])
      : httpError("parameterRequired", { name: "requests" });
  },
  part: (id, { status, body, headers = {} }) => {
    const text = body.toString();
    const shown = shownHeaders(headers);
    const isJson = /json/.test(shown["content-type"] ?? "json");
    const content = text === "" ? "" : `,"body":${isJson ? text : JSON.stringify(text)}`;
    return `${JSON.stringify({ id, status, headers: shown }).slice(0, -1)}${content}}`;
  },
  body: (parts) => `{"responses":[${parts.join(",")}]}`,
};

/** Of RFC 2046, 5.1.1. */
const MAX_BOUNDARY = 70;

class Multipart implements BatchFormat {
  readonly contentType: string;
  /** Of the response: nobody who writes a value into the database knows it, so that none ends its part. */
  readonly #delimiter: string;
  readonly #boundary: string;

  constructor(boundary: string) {
    this.#boundary = boundary;
    const own = `batch_${randomUUID()}`;
    this.contentType = `multipart/mixed; boundary=${own}`;
    this.#delimiter = `--${own}`;
  }

  read(text: string): Result<readonly unknown[]> {
    const delimiter = `\n--${this.#boundary}`;
    const [, ...parts] = `\n${text.replaceAll("\r\n", "\n")}`.split(delimiter);
    const end = parts.pop() ?? "";
    const isWhole = this.#boundary !== "" && this.#boundary.length <= MAX_BOUNDARY && end.startsWith("--");
    if (!isWhole || parts.length === 0 || !parts.every((part) => /^[ \t]*\n/.test(part))) return WRONG_BODY;
    const requests = parts.map((part, i) => requestOf(part.slice(part.indexOf("\n") + 1), String(i + 1)));
    return requests.find(isHttpError) ?? requests;
  }

  part(id: string, { status, body, headers = {} }: Reply): string {
    const text = body.toString();
    const shown = { ...shownHeaders(headers), "content-length": String(Buffer.byteLength(text)) };
    return [
      this.#delimiter,
      ...["Content-Type: application/http", "Content-Transfer-Encoding: binary", `Content-ID: ${id}`, ""],
      `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ""}`,
      ...Object.entries(shown).map(([name, value]) => `${name}: ${value}`),
      ...["", text, ""],
    ].join("\r\n");
  }

  body(parts: readonly string[]): string {
    return `${parts.join("")}${this.#delimiter}--\r\n`;
  }
}

const WRONG_BODY = httpError("valueNotOfType", {
  name: "$batch",
  type: "multipart/mixed with the boundary of its Content-Type",
});

/** A part of the body: its own headers, then a request. `id`: where it has no `Content-ID`. */
function requestOf(part: string, id: string): Result<unknown> {
  const [head = "", request = ""] = part.split("\n\n", 2);
  const { "content-type": type = "", "content-id": own = id } = headersOf(head.split("\n"));
  if (!/^application\/http\b/i.test(type))
    return httpError("notImplemented", { name: "change sets", reason: "a batch has reads alone" });
  const [line = "", ...headers] = request.split("\n");
  const [, method, url] = /^([A-Za-z]+) (\S+)(?: HTTP\/1\.1)?$/.exec(line) ?? [];
  return { id: own.replace(/[^\w.:-]/g, "").slice(0, 100), method, url, headers: headersOf(headers) };
}

/** Header lines by name in lower case. */
function headersOf(lines: readonly string[]): Readonly<Record<string, string>> {
  const pairs = lines.map((line) => [line.indexOf(":"), line] as const).filter(([at]) => at > 0);
  return Object.fromEntries(
    pairs.map(([at, line]) => [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]),
  );
}

/** Headers of a response in a batch: the others are those of the batch. */
const SHOWN: ReadonlySet<string> = new Set([
  ...["content-type", "etag", "odata-version", "preference-applied", "retry-after", "www-authenticate"],
  ...["deprecation", "link", "sunset", "x-data-as-of", "x-data-freshness", "x-data-quality"],
]);

function shownHeaders(headers: NonNullable<Reply["headers"]>): Readonly<Record<string, string>> {
  const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(names.filter(([name]) => SHOWN.has(name)));
}
