import type { CatalogueEntry } from "../../../generator/catalogue/catalogue.js";
import { ownTables } from "../../support/engines.js";
import { startManifest } from "../../support/service.js";
import { differenceBetween, type Difference, type Pair, type Served } from "./compare.js";
import { type OracleRequest, probesOf, requestsTo } from "./requests.js";
import type { Case } from "./cases.js";
import { entriesByCase, makeSides, type Side } from "./sides.js";

/** Both revisions of all cases, and what callers of each base notice. */
export interface ServedCases {
  readonly base: Side;
  readonly head: Side;
  readonly noticed: readonly (readonly Difference[])[];
  /** Of each case: what its requests got from both. */
  readonly answered: readonly (readonly Pair[])[];
  /** Requests sent to each revision. */
  readonly requests: number;
}

/** Cursors of both revisions are signed with one key, as those of two releases are. */
const CURSOR_KEY = Buffer.alloc(32, 7).toString("base64");

/** Serves both revisions of all cases from the database, sends each the same requests, and compares the responses. */
export async function serveCases(cases: readonly Case[]): Promise<ServedCases> {
  const schema = await ownTables({ postgres: "CREATE EXTENSION IF NOT EXISTS citext", clickhouse: [] });
  const [base, head] = await makeSides(cases, schema);
  const serve = async ({ manifest }: Side): Promise<string> =>
    (await startManifest(manifest, { RATE_LIMITS: "2000000", CURSOR_KEY })).url;
  const urls = [await serve(base), await serve(head)] as const;
  const [ofBase, ofHead] = [entriesByCase(base.catalogue), entriesByCase(head.catalogue)];
  let requests = 0;
  const noticed: (readonly Difference[])[] = [];
  const answered: (readonly Pair[])[] = [];
  for (const i of cases.keys()) {
    const revisions = { base: ofBase.get(i) ?? [], head: ofHead.get(i) ?? [] };
    const sent = distinct([...requestsOf(base, revisions.base), ...requestsOf(head, revisions.head)]);
    requests += sent.length;
    const [before, after] = await Promise.all(urls.map((url) => askAll(url, sent)));
    const pairs = sent.map((request, at) => ({
      request,
      base: before?.[at] as Served,
      head: after?.[at] as Served,
    }));
    answered.push(pairs);
    noticed.push(differenceBetween(pairs, revisions));
  }
  return { base, head, noticed, answered, requests };
}

/** Requests to the endpoints at their paths, former ones too. */
function requestsOf({ stored }: Side, entries: readonly CatalogueEntry[]): readonly OracleRequest[] {
  const atEachPath = entries.flatMap((endpoint) =>
    [endpoint, ...(endpoint.formerPaths ?? [])].map(({ path }) => ({ ...endpoint, path })),
  );
  return atEachPath.flatMap((endpoint) => [
    ...requestsTo(endpoint, stored.get(endpoint.relation[1]) ?? []),
    ...probesOf(endpoint),
  ]);
}

function distinct(requests: readonly OracleRequest[]): readonly OracleRequest[] {
  return [...new Map(requests.map((request) => [JSON.stringify(request), request])).values()];
}

/** A few at a time: a server with a full queue answers 503. */
async function askAll(url: string, sent: readonly OracleRequest[]): Promise<readonly Served[]> {
  const served: Served[] = [];
  for (let i = 0; i < sent.length; i += 10)
    served.push(...(await Promise.all(sent.slice(i, i + 10).map((one) => ask(url, one)))));
  const busy = served.find(({ status }) => status === 503);
  if (busy !== undefined) throw new Error(`A server is overloaded: ${busy.body}`);
  return served;
}

/** As clients do: a busy server is asked again after the time that it says, and not for ever. */
async function ask(url: string, request: OracleRequest, left = 20): Promise<Served> {
  const { retryAfter, ...served } = await send(url, request);
  if (served.status !== 503 || left === 0) return served;
  await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
  return ask(url, request, left - 1);
}

async function send(url: string, { path, tier, method, fields }: OracleRequest) {
  const search = new URLSearchParams(fields as Record<string, string>).toString();
  const headers: Record<string, string> = tier === null ? {} : { "x-api-key": `sk_live_test_${tier}` };
  const response = await (method === "POST"
    ? fetch(url + path, {
        method,
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(fields),
      })
    : fetch(`${url}${path}${search === "" ? "" : `?${search}`}`, { headers }));
  const noticed = ["content-type", "deprecation", "sunset", "link"];
  return {
    status: response.status,
    retryAfter: Number(response.headers.get("retry-after") ?? 1),
    headers: noticed
      .map((name) => `${name}: ${response.headers.get(name)?.replaceAll(url, "") ?? ""}`)
      .join("\n"),
    body: await response.text(),
  };
}
