import { execFile } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { PYTHON_CLIENT_NAMES } from "../../generator/lint/rules/naming.js";
import { needs } from "../support/needs.js";
import { KEYS, ownFolder, serveManifest } from "../support/service.js";
import { compiled } from "./compile.js";
import { starterManifest } from "./starter.js";

const api = await serveManifest(starterManifest());
const root = join(import.meta.dirname, "../..");

/** A consumer's program. Each `@ts-expect-error` is a promise of the description that must hold too. */
const CLIENT = `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

export async function run(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

  const volume = await client.GET("/v1/bridges/volume/last_7d");
  type Row = components["schemas"]["bridges_volume_last_7d_row"];
  const isExact: Same<typeof volume.data, Row[] | undefined> = true;
  const figure: number | null | undefined = volume.data?.[0]?.value;
  const limit: string | null = volume.response.headers.get("x-ratelimit-limit");

  const activity = await client.GET("/v1/altchain/altchain_card_activity_by_action/daily", {
    params: { query: { action: "Payment", start_date: "2026-06-01" } },
  });
  const actions: (string | null)[] = (activity.data ?? []).map((row) => row.action);

  const busy = await client.GET("/v1/bridges/volume/weekly", {
    params: { query: { "transfers[gte]": 300, "week[lt]": "2026-03-01", fields: ["week", "transfers"] } },
  });
  const weeks: (string | null | undefined)[] = (busy.data ?? []).map((row) => row.week);

  const page = await client.POST("/v1/bridges/transactions", {
    body: { token: "usdc", limit: 2, sort_by: "amount_usd", sort_direction: "DESC" },
  });
  const amounts: (number | null)[] = (page.data?.items ?? []).map((row) => row.amount_usd);
  const more: boolean | undefined = page.data?.pagination.has_more;

  const refused = await client.POST("/v1/bridges/transactions", { body: {} });
  const detail: string | undefined = refused.error?.detail;

  // @ts-expect-error: no such path
  void (() => client.GET("/v1/bridges/none"));
  // @ts-expect-error: no such parameter
  void (() => client.GET("/v1/altchain/altchain_card_activity_by_action/daily", { params: { query: { nope: "1" } } }));
  // @ts-expect-error: no such operator
  void (() => client.GET("/v1/bridges/volume/weekly", { params: { query: { "transfers[near]": 1 } } }));
  // @ts-expect-error: no such column to choose
  void (() => client.GET("/v1/bridges/volume/weekly", { params: { query: { fields: ["nope"] } } }));
  // @ts-expect-error: no such column
  void (() => activity.data?.[0]?.nope.length);
  // @ts-expect-error: not a sortable field
  void (() => client.POST("/v1/cards/spend_by_country/monthly", { body: { sort_by: "country" } }));

  return { isExact, figure, limit, actions, busy: busy.data, weeks, amounts, more, detail };
}
`;

const folder = ownFolder();
const inFolder = (name: string): string => join(folder, name);

beforeAll(async () => {
  const description = readFileSync(join(root, "generated/openapi.json"), "utf8");
  writeFileSync(inFolder("api.d.ts"), astToString(await openapiTS(description)));
  writeFileSync(inFolder("client.ts"), CLIENT);
  writeFileSync(inFolder("package.json"), '{"type": "module"}');
  symlinkSync(join(root, "node_modules"), inFolder("node_modules"));
});

it("a client made from the description compiles under strict and calls the running server", async () => {
  const run = await compiled<(baseUrl: string, key: string) => Promise<Record<string, unknown>>>(
    folder,
    "client.ts",
  );
  const answer = await run(api, KEYS.tier3);
  expect(answer).toEqual({
    isExact: true,
    figure: expect.any(Number),
    limit: "10000",
    actions: expect.arrayContaining(["Payment"]),
    busy: expect.any(Array),
    weeks: expect.any(Array),
    amounts: [expect.any(Number), expect.any(Number)],
    more: true,
    detail: "At least one business filter is required for this endpoint.",
  });
  const busy = answer["busy"] as { week: string; transfers: number }[];
  expect(busy.length).toBeGreaterThan(0);
  for (const row of busy) {
    expect(Object.keys(row)).toEqual(["week", "transfers"]);
    expect([row.transfers >= 300, row.week < "2026-03-01"]).toEqual([true, true]);
  }
  const [first, second] = answer["amounts"] as [number, number];
  expect(first).toBeGreaterThanOrEqual(second);
});

const PYTHON = `
import datetime, json, sys
from client import AuthenticatedClient
from client.api.bridges import get_bridges_volume_last_7d as volume, get_bridges_volume_weekly as weekly

client = AuthenticatedClient(sys.argv[1], sys.argv[2], prefix="", auth_header_name="X-API-Key", raise_on_unexpected_status=True)
with client:
    [figure] = volume.sync(client=client)
    busy = weekly.sync(client=client, transfersgte=300, weeklt=datetime.date(2026, 3, 1))
    print(json.dumps({"value": figure.value, "busy": [row.to_dict() for row in busy]}))
`;

it.skipIf(!needs("openapi-python-client"))(
  "a client made by openapi-python-client sends each operator by its name",
  async () => {
    const run = promisify(execFile);
    const description = join(root, "generated/openapi.json");
    const options = ["--meta", "none", "--output-path", "client"];
    await run("openapi-python-client", ["generate", "--path", description, ...options], { cwd: folder });
    writeFileSync(inFolder("program.py"), PYTHON);
    const { stdout } = await run("python3", ["program.py", api, KEYS.tier3], {
      cwd: folder,
      env: process.env,
    });
    const { value, busy } = JSON.parse(stdout) as {
      value: number;
      busy: { week: string; transfers: number }[];
    };
    expect(value).toBeGreaterThan(0);
    expect(busy.length).toBeGreaterThan(0);
    for (const row of busy) expect([row.transfers >= 300, row.week < "2026-03-01"]).toEqual([true, true]);
  },
);

const ROWS_OF_NAMES = `
import importlib, json, sys
failed = []
for i, name in enumerate(json.loads(sys.argv[1])):
    row = {name: "x", "other": "y"}
    try:
        Row = getattr(importlib.import_module(f"names.models.row_{i}"), f"Row{i}")
        if Row.from_dict(row).to_dict() != row: failed.append(name)
    except (AttributeError, TypeError, ValueError): failed.append(name)
print(json.dumps(failed))
`;

/** A bug of openapi-python-client: when a release fixes it, this test fails, and the lint rule can be removed. */
it.skipIf(!needs("openapi-python-client"))(
  "a client made by openapi-python-client cannot read the columns that a rule of lint names, and reads others",
  async () => {
    const run = promisify(execFile);
    const names = [...PYTHON_CLIENT_NAMES, "date", "self", "src_dict", "key", "type"];
    const text = { type: "string" };
    const rows = names.map((name, i) => {
      const properties = { [name]: text, other: text };
      return [`row_${String(i)}`, { type: "object", properties, required: [name, "other"] }] as const;
    });
    const paths = rows.map(([name]) => {
      const content = { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } };
      return [`/${name}`, { get: { responses: { 200: { description: "A row.", content } } } }] as const;
    });
    const document = {
      ...{ openapi: "3.1.0", info: { title: "Names", version: "1" } },
      ...{ paths: Object.fromEntries(paths), components: { schemas: Object.fromEntries(rows) } },
    };
    writeFileSync(inFolder("names.json"), JSON.stringify(document));
    const options = ["--meta", "none", "--output-path", "names"];
    await run("openapi-python-client", ["generate", "--path", "names.json", ...options], { cwd: folder });
    // It imports all models, of which some do not load.
    writeFileSync(inFolder("names/models/__init__.py"), "");
    const { stdout } = await run("python3", ["-c", ROWS_OF_NAMES, JSON.stringify(names)], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual([...PYTHON_CLIENT_NAMES]);
  },
);
