import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { ClickhouseAddress } from "@routewright/runtime/model";

/** Runs statements with the rights of the address's user. `fetch` would end a load after five minutes without a header. */
export type RunSql = (text: string, parameters?: Readonly<Record<string, string>>) => Promise<string>;

export function clickhouseSession(address: ClickhouseAddress): RunSql {
  const { hostname, port, isTls, user, password } = address;
  const send = isTls ? requestHttps : requestHttp;
  return (text, parameters = {}) =>
    new Promise((resolve, reject) => {
      const named = Object.entries(parameters).map(
        ([name, value]) => [`param_${name}`, escaped(value)] as [string, string],
      );
      const query = new URLSearchParams([["wait_end_of_query", "1"], ...named]).toString();
      const headers = { "X-ClickHouse-User": encoded(user), "X-ClickHouse-Key": encoded(password) };
      const sent = send({ hostname, port, method: "POST", path: `/?${query}`, headers }, (response) => {
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
      sent.end(text);
    });
}

/** Names and passwords of any script, as `fetch` sends them: a header holds bytes. */
const encoded = (text: string): string => Buffer.from(text).toString("latin1");

/** The text of a parameter is read as a value of a line with tabs. */
const escaped = (text: string): string =>
  text.replace(/[\\\t\n]/g, (character) => ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n" })[character] ?? "");

/** Without the plan in which an error occurred and the version of the server. */
function messageIn(body: string): string {
  const text = body.replace(/^Code: \d+\. DB::Exception: /, "").trim();
  return text.replace(/: while executing .*$|\. \([A-Z0-9_]+\) \(version .*$/s, "").slice(0, 600);
}
