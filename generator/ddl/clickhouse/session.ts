import { randomUUID } from "node:crypto";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { ClickhouseAddress } from "@routewright/runtime/model";

/** Runs statements with the rights of the address's user. `fetch` would end a load after five minutes without a header. */
export type RunSql = (text: string, parameters?: Readonly<Record<string, string>>) => Promise<string>;

export function clickhouseSession(address: ClickhouseAddress): RunSql {
  const { hostname, port, isTls, user, password } = address;
  const send = isTls ? requestHttps : requestHttp;
  const own = { "X-ClickHouse-User": encoded(user), "X-ClickHouse-Key": encoded(password) };
  const options = { hostname, port, method: "POST", path: "/?wait_end_of_query=1" } as const;
  return (text, parameters = {}) =>
    new Promise((resolve, reject) => {
      const { type, body } = requestBody(text, parameters);
      const headers = { ...own, "Content-Type": type };
      const sent = send({ ...options, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const body = Buffer.concat(chunks).toString();
          const hasFailed = response.statusCode !== 200 || "x-clickhouse-exception-code" in response.headers;
          if (hasFailed) reject(new Error(messageIn(body)));
          else resolve(body);
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
}

/** Longest part of a statement in characters: ClickHouse joins the fields `query`, each of which may have 128 KiB. */
const PART_LENGTH = 30_000;

/** Parameters are keys of stores, too, and never in an address, which proxies log: ClickHouse takes them as fields of a form. */
function requestBody(text: string, parameters: Readonly<Record<string, string>>) {
  const named = Object.entries(parameters);
  if (named.length === 0) return { type: "text/plain", body: text };
  const boundary = randomUUID();
  const parts = text.match(new RegExp(`.{1,${String(PART_LENGTH)}}`, "gsu")) ?? [];
  const fields = [
    ...parts.map((part) => ["query", part] as const),
    ...named.map(([name, value]) => [`param_${name}`, escaped(value)] as const),
  ].map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: `${fields.join("")}--${boundary}--\r\n`,
  };
}

/** Names and passwords of any script, as `fetch` sends them: a header holds bytes. */
const encoded = (text: string): string => Buffer.from(text).toString("latin1");

/** The text of a parameter is read as a value of a line with tabs. */
const escaped = (text: string): string =>
  text.replace(/[\\\t\n]/g, (character) => ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n" })[character] ?? "");

/** One line without the plan in which an error occurred, the type of an exception of a library and the version of the server. */
function messageIn(body: string): string {
  return body
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/^std::exception\. Code: \d+, type: \S+, e\.what\(\) = /, "")
    .replace(/^[^\n]+ table structure [^\n]+\. Error:\n/, "")
    .replace(
      /: while executing .*$|\. \([A-Z0-9_]+\) \(version .*$|\s*\(version [^()]*(?:\([^()]*\))?\)\s*$/s,
      "",
    )
    .replace(/\nYou can specify the structure manually:?/, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 600);
}
