import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { filesIn } from "../support/files.js";
import { ownFolder } from "../support/service.js";
import { readIfModified } from "../../generator/artifacts/source.js";
import { buildFiles } from "./builds.js";
import { withVariables } from "./store.js";

/** A folder with dbt's files of builds 1, 2, …, each in `target-<n>/`, and a config file. */
function project(config: object = {}, ...without: readonly string[]): string {
  const folder = ownFolder();
  for (const build of [1, 2, 3]) {
    mkdirSync(join(folder, `target-${build}`));
    for (const [name, text] of Object.entries(buildFiles(build)))
      if (!without.includes(name)) writeFileSync(join(folder, `target-${build}`, name), text);
  }
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  return folder;
}

/** What `routewright config` says of dbt's files: value and origin. */
async function inForce(config: object, variables: Readonly<Record<string, string>> = {}) {
  const { out, err } = await routewright(project(config), ["config", "--json"], variables);
  expect(err).toBe("");
  const all = JSON.parse(out) as Record<string, { value: unknown; from: string }>;
  return ["manifest", "catalog", "runResults"].map(
    (key) => `${String(all[key]?.value)} (${String(all[key]?.from)})`,
  );
}

const FILE = "routewright.config.json";

describe("where dbt's files are", () => {
  it.each<[string, object, Record<string, string>, readonly string[]]>([
    [
      "one folder",
      { artifacts: "target-1" },
      {},
      [
        `target-1/manifest.json (${FILE})`,
        `target-1/catalog.json (${FILE})`,
        `target-1/run_results.json (${FILE})`,
      ],
    ],
    [
      "a file that is named for itself, in the same source",
      { artifacts: "target-1/", manifest: "target-2/manifest.json" },
      {},
      [
        `target-2/manifest.json (${FILE})`,
        `target-1/catalog.json (${FILE})`,
        `target-1/run_results.json (${FILE})`,
      ],
    ],
    [
      "the environment before each key of the file",
      { artifacts: "target-1", manifest: "target-1/manifest.json", catalog: "c.json", runResults: "r.json" },
      { DBT_ARTIFACTS_URL: "target-2" },
      [
        "target-2/manifest.json (DBT_ARTIFACTS_URL)",
        "target-2/catalog.json (DBT_ARTIFACTS_URL)",
        "target-2/run_results.json (DBT_ARTIFACTS_URL)",
      ],
    ],
    [
      "a file of the environment before its folder",
      { artifacts: "target-1" },
      { DBT_ARTIFACTS_URL: "s3://b/target/", DBT_CATALOG_PATH: "target-3/catalog.json" },
      [
        "s3://b/target/manifest.json (DBT_ARTIFACTS_URL)",
        "target-3/catalog.json (DBT_CATALOG_PATH)",
        "s3://b/target/run_results.json (DBT_ARTIFACTS_URL)",
      ],
    ],
    [
      "a file of the environment, and the rest of the config file's folder",
      { artifacts: "https://me:secret@host/target?sig=secret" },
      { DBT_MANIFEST_URL: "dbt-cloud://1/jobs/2" },
      [
        "dbt-cloud://1/jobs/2/manifest.json (DBT_MANIFEST_URL)",
        `https://host/target/catalog.json (${FILE})`,
        `https://host/target/run_results.json (${FILE})`,
      ],
    ],
  ])("is %s", async (_, config, variables, expected) => {
    expect(await inForce(config, variables)).toEqual(expected);
  });

  /** The build that `generate` has read, and the type of the column, which the catalog has. */
  async function generated(
    config: object,
    args: readonly string[] = [],
    variables = {},
    without: readonly string[] = [],
  ) {
    const folder = project(config, ...without);
    const { exit, err } = await routewright(folder, ["generate", ...args], variables);
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    const module = filesIn(join(folder, "generated"))["routes/shop/orders.ts"] ?? "";
    return {
      build: Number(/Build (\d)/.exec(module)?.[1]),
      type: /n: "(\w+) null"/.exec(module)?.[1] ?? null,
    };
  }

  it("is read by generate: flags first, absent catalogs and results are no error", async () => {
    expect(await generated({ artifacts: "target-1" })).toEqual({ build: 1, type: "bigint" });
    const flag = ["--manifest", "target-2/manifest.json"];
    expect(await generated({ artifacts: "target-1" }, flag)).toEqual({ build: 2, type: "bigint" });
    expect(await generated({ artifacts: "target-1" }, flag, { DBT_ARTIFACTS_URL: "target-2" })).toEqual({
      build: 2,
      type: "text",
    });
    const others = ["catalog.json", "run_results.json"];
    expect(await generated({ artifacts: "target-1" }, [], {}, others)).toEqual({ build: 1, type: null });
  });

  it("is an error where the manifest of the folder or a catalog that is named for itself is absent", async () => {
    const absent = await routewright(project({ artifacts: "none" }), ["generate"]);
    expect(absent).toMatchObject({
      exit: 2,
      err: expect.stringContaining("Cannot read none/manifest.json: there is no such file"),
    });
    const catalog = await routewright(project({ artifacts: "target-1", catalog: "c.json" }), ["generate"]);
    expect(catalog).toMatchObject({
      exit: 2,
      err: expect.stringContaining("Cannot read c.json: there is no such file"),
    });
  });

  it("takes pulled columns before the catalog of the folder", async () => {
    const columns = {
      "x-generated-by": "Routewright. Do not edit: run `routewright columns pull`.",
      schemaVersion: 1,
      columns: { "model.test.orders": [{ name: "n", type: "date" }] },
    };
    const folder = project({ artifacts: "target-1", columns: "columns.json" });
    writeFileSync(join(folder, "columns.json"), JSON.stringify(columns));
    expect((await routewright(folder, ["generate"])).exit).toBe(0);
    expect(filesIn(join(folder, "generated"))["routes/shop/orders.ts"]).toContain('n: "date null"');
  });

  it("is a warning, and read once more, where manifest and results are of two invocations", async () => {
    const folder = project({ artifacts: "target-1" });
    writeFileSync(join(folder, "target-1/run_results.json"), buildFiles(2)["run_results.json"] ?? "");
    const { exit, out, err } = await routewright(folder, ["generate"]);
    expect(exit).toBe(0);
    expect(out + err).toContain(
      "target-1/manifest.json is of the dbt invocation build-1, target-1/run_results.json of build-2: keep the files of one `dbt build` together.",
    );
  });
});

const SECRET = "s3cr3t";

describe("a setting that is wrong", () => {
  it.each<[Record<string, string>, RegExp]>([
    [{ DBT_ARTIFACTS_URL: "s3://" }, /^error: DBT_ARTIFACTS_URL must be a folder, or an https:/],
    [
      { DBT_ARTIFACTS_URL: `s3://key:${SECRET}@bucket/target` },
      /^error: DBT_ARTIFACTS_URL must be a folder, or an https:/,
    ],
    [
      { DBT_ARTIFACTS_URL: `ftp://me:${SECRET}@host/target` },
      /^error: DBT_ARTIFACTS_URL must be a folder, or an https:/,
    ],
    [{ DBT_ARTIFACTS_URL: "dbt-cloud://12345/projects/9" }, /^error: DBT_ARTIFACTS_URL must be a folder/],
    [{ DBT_MANIFEST_URL: "abfss://container/manifest.json" }, /^error: DBT_MANIFEST_URL must be an https:/],
    [{ DBT_CATALOG_URL: "catalog.json" }, /^error: DBT_CATALOG_URL must be an https:/],
    [
      { DBT_ARTIFACTS_HEADER: `Bearer ${SECRET}` },
      /^error: DBT_ARTIFACTS_HEADER must be a header, as in `Name: value`\.\n$/,
    ],
    [{ DBT_ARTIFACTS_HEADER: `X-Token: ${SECRET}\r\nX: 1` }, /^error: DBT_ARTIFACTS_HEADER must be a header/],
    [{ DBT_CLOUD_API_TOKEN: `${SECRET}\nx` }, /^error: DBT_CLOUD_API_TOKEN must be a token/],
    [
      { DBT_CLOUD_HOST: "http://cloud.getdbt.com" },
      /^error: DBT_CLOUD_HOST must be a host name, or an https:/,
    ],
    [{ DBT_CLOUD_HOST: `https://me:${SECRET}@cloud.getdbt.com` }, /^error: DBT_CLOUD_HOST must be/],
  ])("stops a command in one line that does not show it: %j", async (variables, message) => {
    const { exit, out, err } = await routewright(
      project({ manifest: "target-1/manifest.json" }),
      ["generate"],
      variables,
    );
    expect(exit).toBe(2);
    expect(err).toMatch(message);
    expect(out + err).not.toContain(SECRET);
  });

  it.each<[string, RegExp]>([
    ["s3://bucket", /Not a valid address: s3:\/\/bucket\. Write it as s3:\/\/bucket\/path\/manifest\.json/],
    [`s3://key:${SECRET}@bucket/manifest.json`, /Not a valid address: s3:\/\/…/],
    [`az://container/target/manifest.json?sig=${SECRET}`, /the storage account is not known/],
    ["ftp://host/manifest.json", /ftp:\/\/ is not read: name a file, or an https:/],
    ["dbt-cloud://12345/jobs/678", /set DBT_CLOUD_API_TOKEN/],
    [
      "dbt-cloud://12345/jobs/x",
      /Not a valid address: dbt-cloud:\/\/12345\/jobs\/x\. Write it as dbt-cloud:/,
    ],
  ])("--manifest %s says what to write", async (address, message) => {
    const { exit, out, err } = await routewright(project(), ["generate", "--manifest", address]);
    expect(exit).toBe(2);
    expect(err).toMatch(message);
    expect(err.trimEnd()).not.toContain("\n");
    expect(out + err).not.toContain(SECRET);
  });
});

describe("a store whose credentials are not found", () => {
  /** A connection string of one account opens no other. */
  const AZURITE = `DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=${Buffer.from(SECRET).toString("base64")};BlobEndpoint=http://127.0.0.1:1/shop;`;

  it.each([
    ["s3://bucket/manifest.json", {}, /no credentials were found\. Set AWS_ACCESS_KEY_ID/],
    [
      "gs://bucket/manifest.json",
      { METADATA_SERVER_DETECTION: "none" },
      /Set GOOGLE_APPLICATION_CREDENTIALS/,
    ],
    ["gs://bucket/manifest.json", { GOOGLE_APPLICATION_CREDENTIALS: "/none.json" }, /cannot be used\.$/],
    [
      "gs://bucket/manifest.json",
      { CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: "http://192.0.2.1" },
      /or not of https\.$/,
    ],
    [
      "abfss://container@other.dfs.core.windows.net/manifest.json",
      { AZURE_STORAGE_CONNECTION_STRING: AZURITE },
      /no credentials were found\. Set AZURE_STORAGE_CONNECTION_STRING, run `az login`/,
    ],
    [
      "az://container/manifest.json",
      { AZURE_STORAGE_CONNECTION_STRING: SECRET },
      /is not a connection string\.$/,
    ],
  ])("%s says where they are looked for: %j", async (address, variables, message) => {
    withVariables(variables);
    const read = await readIfModified(address, null);
    expect(read).toMatchObject({ kind: "failed", problem: expect.stringMatching(message) });
    expect(JSON.stringify(read)).not.toContain(SECRET);
  });
});
