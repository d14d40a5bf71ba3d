import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { routewright } from "../commands/run.js";
import { manifestWith, parameter } from "../diff/feature-model.js";
import { manifestOf } from "../support/manifest.js";
import { needs } from "../support/needs.js";
import { generateInto, KEYS, ownFolder, serveManifest } from "../support/service.js";
import { compiled } from "./compile.js";
import { starterManifest, starterRepository } from "./starter.js";

const folder = starterRepository();
const api = await serveManifest(starterManifest());

/** A server that answers 500 first, then 503 without `Retry-After`; `statuses` has what it sent. */
async function failing(): Promise<{ url: string; statuses: number[] }> {
  const statuses: number[] = [];
  const server = createServer((_request, response) => {
    const status = statuses.length === 0 ? 500 : 503;
    statuses.push(status);
    response.writeHead(status, status === 500 ? { "retry-after": "0" } : {}).end('{"detail":"no"}');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => void server.close());
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, statuses };
}

/** A server before the API that first loses a connection, then answers 429 and 503, then passes everything on. */
async function unreliable(): Promise<{ url: string; statuses: number[] }> {
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    if (statuses.length === 0) {
      statuses.push(0);
      return void request.socket.destroy();
    }
    if (statuses.length < 3) {
      statuses.push(statuses.length === 1 ? 429 : 503);
      return void response.writeHead(statuses.at(-1) ?? 0, { "retry-after": "0" }).end();
    }
    const headers = Object.entries(request.headers).filter(
      ([name]) => name !== "host" && name !== "connection",
    );
    void fetch(`${api}${request.url ?? ""}`, { headers: headers as [string, string][] }).then(
      async (answer) => {
        statuses.push(answer.status);
        const kept = ["etag", "link", "content-type"].flatMap((name) => {
          const value = answer.headers.get(name);
          return value === null ? [] : [[name, value.replaceAll(api, url)] as const];
        });
        response
          .writeHead(answer.status, Object.fromEntries(kept))
          .end(Buffer.from(await answer.arrayBuffer()));
      },
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => void server.close());
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { url, statuses };
}

/** The example of generator/README.md; its import compiles it and does not run it. */
const README_EXAMPLE = /^## Client$[\s\S]*?^```ts$\n([\s\S]*?)^```$/m.exec(
  readFileSync(new URL("../../generator/README.md", import.meta.url), "utf8"),
)![1]!;
const PROCESS = "declare const process: { readonly env: Record<string, string | undefined> };\n";

const PROGRAM = `
import type {} from "./readme.js";
import { ApiError } from "./client/client.js";
import { createClient } from "./client/endpoints.js";

export async function run(baseUrl: string, unreliable: string, failing: string, apiKey: string) {
  const client = createClient({ baseUrl, apiKey });
  const [figure] = await client.rows("/v1/bridges/volume/last_7d");
  const value: number | null | undefined = figure?.value;
  const actions: (string | null)[] = [];
  const query = { action: "Payment", start_date: "2026-06-01" } as const;
  for (const row of await client.rows("/v1/altchain/altchain_card_activity_by_action/daily", query)) actions.push(row.action);

  const busy = await client.rows("/v1/bridges/volume/weekly", { "transfers[gte]": 300, fields: ["week", "transfers"] });
  const page = { token: "usdc", limit: 40, sort_by: "amount_usd", sort_direction: "DESC" } as const;
  const first = await client.rows("/v1/bridges/transactions", page);
  const amounts: (number | null)[] = [];
  for await (const row of client.iterate("/v1/bridges/transactions", page)) {
    amounts.push(row.amount_usd);
    if (amounts.length === 100) break;
  }
  const refused = await createClient({ baseUrl }).rows("/v1/bridges/transactions", page).catch((error: unknown) => error);
  const status: number | null = refused instanceof ApiError ? refused.status : null;

  const retrying = createClient({ baseUrl: unreliable, apiKey });
  const again = [await retrying.rows("/v1/bridges/volume/last_7d"), await retrying.rows("/v1/bridges/volume/last_7d")];
  const failures: (number | null)[] = [];
  for (const _ of [1, 2])
    await createClient({ baseUrl: failing })
      .rows("/v1/bridges/volume/last_7d")
      .catch((error: unknown) => failures.push(error instanceof ApiError ? error.status : null));
  const stopped = await client
    .rows("/v1/bridges/volume/last_7d", {}, { signal: AbortSignal.abort(new Error("stopped")) })
    .catch((error: unknown) => (error as Error).message);

  // @ts-expect-error: no such path
  void (() => client.rows("/v1/bridges/none"));
  // @ts-expect-error: no such parameter
  void (() => client.rows("/v1/bridges/transactions", { nope: "1" }));
  // @ts-expect-error: no such operator
  void (() => client.rows("/v1/bridges/volume/weekly", { "transfers[near]": 300 }));
  // @ts-expect-error: not a sortable field
  void (() => client.rows("/v1/bridges/transactions", { sort_by: "tx_hash" }));
  // @ts-expect-error: no such column
  void (() => figure?.nope);
  return { value, busy, actions: new Set(actions), page: first.length, amounts, status, again, failures, stopped };
}
`;

const TYPED = `
import { createClient } from "./client/endpoints.js";

export function run() {
  const client = createClient({ baseUrl: "http://127.0.0.1:1" });
  void (() => client.rows("/v1/shop/sales/daily", { state: "paid", states: ["paid", "open"] }));
  void (() => client.rows("/v1/shop/sales/daily", { states: "open" }));
  void (async () => (await client.rows("/v1/shop/raw"))[0]?.["anything"]);
  // @ts-expect-error: no such value
  void (() => client.rows("/v1/shop/sales/daily", { state: "void" }));
  // @ts-expect-error: no such value
  void (() => client.rows("/v1/shop/sales/daily", { states: ["paid", "void"] }));
}
`;

const TYPED_PYTHON = `
from typing import Any
from typed_api import Client

client = Client("http://127.0.0.1:1")
client.rows("/v1/shop/sales/daily", {"state": "paid", "states": ["paid", "open"]})
client.rows("/v1/shop/sales/daily", {"states": "open"})
anything: Any = client.rows("/v1/shop/raw")[0]["anything"]
client.rows("/v1/shop/sales/daily", {"state": "void"})  # type: ignore[call-overload]
client.rows("/v1/shop/sales/daily", {"states": ["void"]})  # type: ignore[call-overload]
`;

/** An endpoint with parameters of listed values, and one whose model declares no column. */
function typedManifest(): unknown {
  const one = { column: "status", operator: "=", type: "string" };
  const manifest = manifestWith(parameter("shop", { ...one, name: "state", description: "The state" }));
  const { nodes } = manifest;
  const sales = nodes["model.shop.sales"];
  sales.columns.day.description = "Day of the sale";
  const several = { name: "states", column: "status", operator: "IN", type: "string_list" };
  sales.config.meta.api.parameters.push(several);
  nodes["model.shop.raw"] = {
    ...sales,
    ...{ name: "raw", alias: "raw", columns: {}, tags: ["production", "shop", "api:raw"] },
    config: {},
  };
  return manifest;
}

/** Whether rows have the two chosen columns, and only what the filter selects. */
function busyWeeks(rows: unknown): boolean {
  const all = rows as readonly { transfers: number }[];
  return (
    all.length > 0 && all.every((row) => Object.keys(row).join() === "week,transfers" && row.transfers >= 300)
  );
}

describe("routewright client", () => {
  it("types listed values and rows without declared columns, and joins words as sentences", async () => {
    const own = ownFolder();
    generateInto(join(own, "generated"), typedManifest());
    writeFileSync(join(own, "package.json"), '{"type":"module"}');
    expect(routewright(own, ["client", "--out", "client"]).exit).toBe(0);
    writeFileSync(join(own, "program.ts"), TYPED);
    await compiled(own, "program.ts");
    const text = readFileSync(join(own, "client/endpoints.ts"), "utf8");
    expect(text).toContain("/** Day of the sale. `YYYY-MM-DD`. */");
    expect(text).toContain("/** The state: status = value. */");
  });

  it("writes a TypeScript client that compiles under strict and calls the running server", async () => {
    expect(routewright(folder, ["client", "--out", "client"])).toEqual({
      exit: 0,
      err: "",
      out: "added    client/client.ts\nadded    client/endpoints.ts\n28 endpoints in client\n",
    });
    expect(routewright(folder, ["client", "--check"]).exit).toBe(0);
    writeFileSync(join(folder, "readme.ts"), PROCESS + README_EXAMPLE);
    writeFileSync(join(folder, "program.ts"), PROGRAM);
    const run = await compiled<
      (url: string, unreliable: string, failing: string, key: string) => Promise<Record<string, unknown>>
    >(folder, "program.ts");
    const { url, statuses } = await unreliable();
    const broken = await failing();
    const result = await run(api, url, broken.url, KEYS.tier3);
    expect(broken.statuses).toEqual([500, 503]);
    expect(result).toMatchObject({ value: expect.any(Number), page: 40, status: 403, stopped: "stopped" });
    expect(result["failures"]).toEqual([500, 503]);
    expect(busyWeeks(result["busy"])).toBe(true);
    expect(result["actions"]).toEqual(new Set(["Payment"]));
    const amounts = result["amounts"] as number[];
    expect(amounts).toHaveLength(100);
    expect(amounts).toEqual(amounts.toSorted((a, b) => b - a));
    const [first, second] = result["again"] as unknown[];
    expect(second).toEqual(first);
    // Sent again after the lost connection, the 429 and the 503; the second request had the ETag of the first.
    expect(statuses).toEqual([0, 429, 503, 200, 304]);
  });

  it("keeps files that it did not write, and names those in conflict", () => {
    const own = ownFolder();
    generateInto(join(own, "generated"), starterManifest());
    writeFileSync(join(own, "notes.md"), "mine");
    writeFileSync(join(own, "client.ts"), "mine");
    const { exit, err } = routewright(own, ["client", "--out", "."]);
    expect(exit).toBe(2);
    expect(err).toBe(
      "error: ./client.ts was not written by Routewright, or is a link. Move it away, or choose another folder with --out.\n",
    );
    expect(routewright(own, ["client", "nowhere"]).exit).toBe(2);
    expect(routewright(own, ["client", "--check"])).toMatchObject({
      exit: 1,
      out: expect.stringContaining("missing"),
    });
  });
});

const PYTHON = `
import json, sys
from shop_api import ApiError, Client
from shop_api.endpoints import BridgesTransactionsQuery

api, unreliable, failing, key = sys.argv[1:]
query: BridgesTransactionsQuery = {"token": "usdc", "limit": 40, "sort_by": "amount_usd", "sort_direction": "DESC"}
with Client(api, key) as client:
    value: float | None = client.rows("/v1/bridges/volume/last_7d")[0]["value"]
    busy = client.rows("/v1/bridges/volume/weekly", {"transfers[gte]": 300, "fields": ["week", "transfers"]})
    page = client.rows("/v1/bridges/transactions", query)
    amounts: list[float | None] = []
    for row in client.iterate("/v1/bridges/transactions", query):
        amounts.append(row["amount_usd"])
        if len(amounts) == 100:
            break
    frames = [client.pandas("/v1/bridges/volume/daily"), client.polars("/v1/bridges/volume/daily")]
status = 0
try:
    Client(api).rows("/v1/bridges/transactions", query)
except ApiError as error:
    status = error.status
retrying = Client(unreliable, key)
again = [retrying.rows("/v1/bridges/volume/last_7d") for _ in range(2)]
failures = []
for _ in range(2):
    try:
        Client(failing).rows("/v1/bridges/volume/last_7d")
    except ApiError as error:
        failures.append(error.status)
print(json.dumps({"value": value, "busy": busy, "failures": failures, "page": len(page), "amounts": amounts, "status": status, "again": again,
    "shapes": [list(frame.shape) for frame in frames], "columns": [list(frame.columns) for frame in frames]}))
`;

const ONE_ENDPOINT = `
from sales_api import Client

client = Client("http://127.0.0.1:1")
number: int | None = client.rows("/v1/general/sales")[0]["n"]
numbers: list[int | None] = [row["n"] for row in client.iterate("/v1/general/sales", {})]
text: str = client.rows("/v1/general/sales")[0]["n"]  # type: ignore[assignment]
client.rows("/v1/general/none")  # type: ignore[arg-type]
client.rows("/v1/general/sales", {"none": 1})  # type: ignore[arg-type]
`;

describe.skipIf(!needs("mypy"))("routewright client --language python", () => {
  const run = promisify(execFile);

  it("writes a package that type checkers accept and that calls the running server", async () => {
    const { exit } = routewright(folder, ["client", "--language", "python", "--out", "shop_api"]);
    expect(exit).toBe(0);
    writeFileSync(join(folder, "program.py"), PYTHON);
    const options = { cwd: folder, encoding: "utf8" } as const;
    await run("mypy", ["--strict", "--cache-dir", join(folder, "mypy"), "program.py", "shop_api"], options);
    const { url, statuses } = await unreliable();
    const broken = await failing();
    const { stdout } = await run("python3", ["program.py", api, url, broken.url, KEYS.tier3], options);
    expect(broken.statuses).toEqual([500, 503]);
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(result).toMatchObject({ value: expect.any(Number), page: 40, status: 403, failures: [500, 503] });
    expect(busyWeeks(result["busy"])).toBe(true);
    const amounts = result["amounts"] as number[];
    expect(amounts).toHaveLength(100);
    expect(amounts).toEqual(amounts.toSorted((a, b) => b - a));
    expect(statuses).toEqual([0, 429, 503, 200, 304]);
    const { shapes, columns } = result as { shapes: number[][]; columns: string[][] };
    expect(shapes[0]?.[0]).toBeGreaterThan(300);
    expect(shapes[1]).toEqual(shapes[0]);
    expect(columns[1]).toEqual(columns[0]);
  });

  it("types the methods of an API with a single endpoint, too, listed values, and rows without declared columns", async () => {
    const own = ownFolder();
    const model = {
      name: "api_sales",
      tags: ["production", "api:sales"],
      columns: { n: "integer" },
    };
    generateInto(join(own, "generated"), manifestOf([model]));
    expect(routewright(own, ["client", "--language", "python", "--out", "sales_api"]).exit).toBe(0);
    generateInto(join(own, "typed"), typedManifest());
    const typed = ["client", "typed", "--language", "python", "--out", "typed_api"];
    expect(routewright(own, typed).exit).toBe(0);
    writeFileSync(join(own, "program.py"), ONE_ENDPOINT);
    writeFileSync(join(own, "typed.py"), TYPED_PYTHON);
    // Strict: an ignored error that does not occur is an error.
    const checked = run("mypy", ["--strict", "program.py", "typed.py", "sales_api", "typed_api"], {
      cwd: own,
      encoding: "utf8",
    });
    expect(await checked.catch((error: unknown) => error)).toMatchObject({
      stdout: expect.stringMatching(/^Success/),
    });
  });
});
