/** Names that every object of JavaScript has, wherever a name may stand, through every command, format and path. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { tableFromIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { readCall } from "../../generator/manifest/filter-template.js";
import { EXPOSURE } from "../metrics/exposure-tables.js";
import { engineUrl } from "../support/engines.js";
import { sendRequest } from "../support/http-client.js";
import { PROTOTYPE_NAMES, prototypeNames, rowsPath } from "../support/prototype-names.js";
import { KEYS, ownFolder, startFolder } from "../support/service.js";
import { routewright } from "./run.js";

interface Manifest {
  readonly nodes: Record<string, { columns: Record<string, unknown> }>;
}

const folder = ownFolder();
const write = (file: string, content: unknown): void =>
  writeFileSync(join(folder, file), JSON.stringify(content));
const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), "utf8")) as unknown;

const manifest = (await prototypeNames()) as Manifest;
/** One endpoint and two columns less. */
const before = structuredClone(manifest);
Reflect.deleteProperty(before.nodes, "model.test.__proto__");
for (const node of Object.values(before.nodes))
  node.columns = Object.fromEntries(
    Object.entries(node.columns).filter(([name]) => name !== "constructor" && name !== "toString"),
  );
write("manifest.json", manifest);
write("before.json", before);
write("columns.json", {});
write("routewright.config.json", { manifest: "manifest.json", columns: "columns.json" });

const run = (...args: readonly string[]) => routewright(folder, args, { DATABASE_URL: engineUrl() });
const pulled = await run("columns", "pull");
const generated = await run("generate");
const columns = [...PROTOTYPE_NAMES, "n"];
const rowOf = (i: number): Readonly<Record<string, unknown>> =>
  Object.fromEntries(columns.map((name) => [name, name === "n" ? i : `${name} ${String(i)}`]));

describe("commands", () => {
  it("columns pull and generate leave nothing out", async () => {
    expect(pulled).toMatchObject({ exit: 0, err: "" });
    expect(generated).toMatchObject({
      exit: 0,
      err: "",
      out: expect.stringContaining("no model skipped") as string,
    });
    expect((await run("generate", "--check")).exit).toBe(0);
    const { columns: found } = read("columns.json") as { columns: Record<string, { name: string }[]> };
    for (const name of PROTOTYPE_NAMES)
      expect(found[`model.test.${name}`]?.map((column) => column.name)).toEqual(columns);
  });

  it("lint names each of them", async () => {
    const { out } = await run("lint", "--format", "json");
    const { findings } = JSON.parse(out) as { findings: { rule: string; model: string }[] };
    const described = findings.filter(({ rule }) => rule === "unstable-pagination");
    expect(described.map(({ model }) => model).sort()).toEqual(
      PROTOTYPE_NAMES.map((name) => `model.test.${name}`).sort(),
    );
  });

  it("diff finds what goes and comes", async () => {
    const gone = await run("diff", "manifest.json", "before.json", "--format", "json");
    const { changes } = JSON.parse(gone.out) as {
      changes: { kind: string; endpoint: string; subject: string | null }[];
    };
    const removed = (kind: string) => changes.filter((change) => change.kind === kind);
    expect(removed("endpoint-removed").map(({ endpoint }) => endpoint)).toEqual([rowsPath("__proto__")]);
    expect(new Set(removed("column-removed").map(({ subject }) => subject))).toEqual(
      new Set(["constructor", "toString"]),
    );
    for (const format of ["text", "markdown", "sarif"])
      expect((await run("diff", "before.json", "manifest.json", "--format", format)).exit).toBe(0);
    expect((await run("diff", "manifest.json", "manifest.json", "--format", "json")).out).toContain(
      '"changes": []',
    );
  });

  it("metrics take no such name for an aggregation or an argument that they know", async () => {
    for (const name of PROTOTYPE_NAMES) {
      expect(readCall(`TimeDimension('metric_time', ${name}='day')`)).toMatchObject({
        dimension: "metric_time",
        grain: "day",
      });
      const changed = JSON.stringify(EXPOSURE).replaceAll('"agg":"sum"', `"agg":"${name}"`);
      const own = ownFolder();
      writeFileSync(join(own, "manifest.json"), changed);
      writeFileSync(join(own, "routewright.config.json"), '{"manifest": "manifest.json"}');
      const { out } = await routewright(own, ["metrics"], {});
      expect(out).toContain(`The aggregation ${name.toLowerCase()} is not compiled.`);
      expect(out).not.toContain("[native code]");
    }
  });

  it("verify, metrics, exposures and changelog end well", async () => {
    expect(await run("verify")).toMatchObject({ exit: 0, err: "" });
    const metrics = (await run("metrics")).out;
    for (const name of PROTOTYPE_NAMES) expect(metrics).toContain(`measure ${name} `);
    const exposures = await run("exposures", "--owner", "constructor");
    for (const name of PROTOTYPE_NAMES) expect(exposures.out).toContain(`ref('${name}')`);
    expect((await run("changelog", "before.json", "manifest.json")).out).toContain(rowsPath("__proto__"));
  });
});

const { url } = await startFolder(join(folder, "generated"), { RATE_LIMITS: "1000000" });
const ask = (path: string) => sendRequest(url, path, { key: KEYS.tier3 });
const rowsAt = async (path: string): Promise<unknown> => {
  const { status, text } = await ask(path);
  expect([path, status, text.slice(0, 200)]).toEqual([path, 200, expect.anything()]);
  return JSON.parse(text) as unknown;
};

describe("the API", () => {
  it.each(PROTOTYPE_NAMES)("serves the rows of %s in every format", async (name) => {
    const path = rowsPath(name);
    expect(await rowsAt(path)).toEqual([rowOf(1), rowOf(2)]);
    const lines = (await ask(`${path}.csv`)).text.trimEnd().split("\r\n");
    expect(lines[0]).toBe(columns.join(","));
    expect(lines).toHaveLength(3);
    const ndjson = (await ask(`${path}.ndjson`)).text.trimEnd().split("\n");
    expect(ndjson.map((line) => JSON.parse(line) as unknown)).toEqual([rowOf(1), rowOf(2)]);
    for (const suffix of ["arrow", "parquet"]) {
      const bytes = await (await fetch(`${url}${path}.${suffix}`)).arrayBuffer();
      if (suffix === "parquet") expect(Buffer.from(bytes).includes(`${name} 2`)).toBe(true);
      else expect(tableFromIPC(bytes).schema.fields.map((field) => field.name)).toEqual(columns);
    }
  });

  it.each(PROTOTYPE_NAMES)("filters, sorts, chooses and groups by %s", async (name) => {
    const path = rowsPath("constructor");
    const given = encodeURIComponent(`${name} 2`);
    for (const filter of [`${name}=${given}`, `${name}[eq]=${given}`, `${name}[in]=${given}`])
      expect(await rowsAt(`${path}?${filter}`)).toEqual([rowOf(2)]);
    expect(await rowsAt(`${path}?${name}[ne]=${given}`)).toEqual([rowOf(1)]);
    expect(await rowsAt(`${path}?fields=${name}&sort_by=${name}&sort_direction=desc`)).toEqual(
      [2, 1].map((i) => Object.fromEntries([[name, `${name} ${String(i)}`]])),
    );
    const posted = await sendRequest(url, path, {
      key: KEYS.tier3,
      method: "POST",
      body: `{${JSON.stringify(name)}: ${JSON.stringify(`${name} 2`)}}`,
    });
    expect([posted.status, JSON.parse(posted.text)]).toEqual([200, [rowOf(2)]]);
    expect(await rowsAt(`/v1/shop/groups?group_by=${name}&measures=volume&sort_by=${name}`)).toEqual(
      [1, 2].map((i) =>
        Object.fromEntries([
          [name, `${name} ${String(i)}`],
          ["volume", i],
        ]),
      ),
    );
    expect(await rowsAt(`/v1/shop/measures?measures=${name}`)).toEqual([Object.fromEntries([[name, 3]])]);
    expect(await rowsAt(`/v1/system/values?path=${path}&column=${name}`)).toEqual({
      values: [1, 2].map((i) => ({ value: `${name} ${String(i)}`, rows: 1 })),
      more: false,
    });
    for (const unknown of [`n[${name}]=1`, `x${name}=1`, `sort_by=x${name}`, `fields=x${name}`])
      expect((await ask(`${path}?${unknown}`)).status).toBe(400);
  });

  it("refuses them where it has no such name", async () => {
    for (const name of PROTOTYPE_NAMES) {
      for (const path of [
        `/${name}`,
        `/v1/${name}`,
        `/v1/system/${name}`,
        `/v1/shop/${name}`,
        `/v1/shop/groups/${name}`,
      ])
        expect([path, (await ask(path)).status]).toEqual([path, 404]);
      for (const query of [`measures=${name}`, `group_by=x${name}`, `${name}=1&group_by=${name}`])
        expect([query, (await ask(`/v1/shop/groups?${query}`)).status]).toEqual([query, 400]);
      const accepted = await sendRequest(url, rowsPath(name), { headers: { Accept: `text/${name}` } });
      expect(accepted.headers["content-type"]).toBe("application/json; charset=utf-8");
    }
  });

  it("describes them in OpenAPI, the catalogue, its search and llms.txt", async () => {
    const document = (await rowsAt("/openapi.json")) as {
      paths: Record<string, { get: { parameters: { name: string }[] } }>;
      tags: { name: string }[];
    };
    const catalogue = (await rowsAt("/v1/system/catalogue")) as {
      categories: { name: string }[];
      endpoints: { path: string; columns: { name: string }[] }[];
    };
    for (const name of PROTOTYPE_NAMES) {
      const path = rowsPath(name);
      expect(Object.keys(document.paths)).toContain(path);
      const parameters = document.paths[path]?.get.parameters.map((parameter) => parameter.name);
      expect(parameters).toEqual(expect.arrayContaining([...PROTOTYPE_NAMES]));
      expect(document.tags.map((tag) => tag.name)).toContain(name.toLowerCase());
      expect(catalogue.categories.map((category) => category.name)).toContain(name.toLowerCase());
      const found = catalogue.endpoints.find((endpoint) => endpoint.path === path);
      expect(found?.columns.map((column) => column.name)).toEqual(columns);
      const searched = await ask(`/v1/system/catalogue?q=${name}`);
      expect([searched.status, searched.text.includes(path)]).toEqual([200, true]);
      expect((await ask("/llms.txt")).text).toContain(path);
    }
  });

  it("gives tools their rows, values and descriptions", async () => {
    const client = new Client({ name: "test", version: "1" });
    const requestInit = { headers: { "X-API-Key": KEYS.tier3 } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    atEnd(() => client.close());
    const call = async (name: string, given: Readonly<Record<string, unknown>>): Promise<string> => {
      const result = (await client.callTool({ name, arguments: given })) as CallToolResult;
      const [content] = result.content;
      const text = content?.type === "text" ? content.text : "";
      expect([name, given, result.isError === true ? text : ""]).toEqual([name, given, ""]);
      return text;
    };
    for (const name of PROTOTYPE_NAMES) {
      const path = rowsPath(name);
      const parameters = Object.fromEntries([[name, `${name} 2`]]);
      expect(await call("search_endpoints", { query: name })).toContain(path);
      expect(await call("describe_endpoint", { path })).toContain(path);
      expect(JSON.parse(await call("query_endpoint", { path, parameters }))).toMatchObject({
        rows: [rowOf(2)],
      });
      expect(await call("list_values", { path, column: name })).toContain(`${name} 1`);
      expect(JSON.parse(await call("summarize_endpoint", { path, parameters }))).toMatchObject({ count: 1 });
      const groups = { path: "/v1/shop/measures", measures: [name] };
      expect(JSON.parse(await call("query_metrics", groups))).toMatchObject({
        rows: [Object.fromEntries([[name, 3]])],
      });
    }
  });
});
