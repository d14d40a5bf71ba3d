/** Exports in real stores, which ClickHouse reads itself, and DuckDB for PostgreSQL. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { clickhouseLibrary } from "../../scripts/clickhouse/start-clickhouse.js";
import { azurite, moto } from "../artifacts/object-stores.js";
import type { TestStore } from "../artifacts/store.js";
import { start } from "../support/command.js";
import { proxyThatNotes } from "../support/database-proxy.js";
import { needs } from "../support/needs.js";
import { listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const hasStores = needs("pyarrow", "moto_server", "azurite-blob");

/** A home with the extensions that DuckDB reads stores with: it would download them. */
async function homeWith(...extensions: readonly string[]): Promise<string> {
  const home = ownFolder();
  const code = `import duckdb_extensions, sys
for name in sys.argv[1:]: duckdb_extensions.import_extension(name)`;
  // Version managers of Python live in the home.
  const env = {
    ...process.env,
    HOME: home,
    PYENV_ROOT: process.env["PYENV_ROOT"] ?? `${process.env["HOME"] ?? ""}/.pyenv`,
  };
  if (extensions.length > 0) await promisify(execFile)("python3", ["-c", code, ...extensions], { env });
  return home;
}
const home = hasStores ? await homeWith("httpfs", "azure") : "";

type Store = Pick<TestStore, "folder" | "put" | "variables" | "secrets">;

/** moto does not accept how DuckDB and ClickHouse sign a listing: keys are not checked. */
async function amazon(): Promise<Store> {
  const store = await moto();
  const url = store.variables["AWS_ENDPOINT_URL_S3"] ?? "";
  await fetch(`${url}/moto-api/reset-auth`, { method: "POST", body: "1000000" });
  return store;
}

/** Google's store speaks the protocol of S3 too; its emulators do not, and moto does. */
function asGoogle({ folder, put, variables, secrets }: Store): Store {
  return {
    put,
    secrets,
    folder: folder.replace("s3:", "gs:"),
    variables: {
      STORAGE_EMULATOR_HOST: variables["AWS_ENDPOINT_URL_S3"] ?? "",
      GCS_HMAC_KEY_ID: variables["AWS_ACCESS_KEY_ID"] ?? "",
      GCS_HMAC_SECRET: variables["AWS_SECRET_ACCESS_KEY"] ?? "",
    },
  };
}

/** A server for each two schemes: what the tests put has the schema of their project in its path. */
async function ownStores(): Promise<Readonly<Record<string, Store>>> {
  const [s3, az] = await Promise.all([amazon(), azurite("az")]);
  const folder = az.folder.replace(/^az:\/\/([^/]+)/, "abfss://$1@devstoreaccount1.dfs.core.windows.net");
  return { "s3://": s3, "gs://": asGoogle(s3), "az://": az, "abfss://": { ...az, folder } };
}
const STORES = hasStores ? await ownStores() : {};

const MODEL = { name: "orders", columns: { id: "NUMBER(10,0)", amount: "NUMBER(38,10)" } };

/** With a column that only the folders of the files have. */
const PARTITIONED = { ...MODEL, columns: { ...MODEL.columns, day: "DATE" } };

describe.skipIf(!hasStores).each(COPY_ENGINES)("exports loaded into %s", (engine) => {
  const loaded = async (project: CopiedProject, args: readonly string[], variables = {}, from = home) => {
    const all = { LOAD_DATABASE_URL: project.ownerUrl, HOME: from, ...variables };
    return start(project.folder, ["ddl", "manifest.json", ...args], all).finished;
  };
  const files = async (project: CopiedProject): Promise<readonly Buffer[]> => {
    const write = async (id: number): Promise<Buffer> => {
      const file = project.file(`${String(id)}.parquet`);
      // The files differ in the type of a column.
      const ids = `pa.array([${String(id)}], pa.int${String(32 * id)}())`;
      await writeParquet(file, `{'ID': ${ids}, 'AMOUNT': [D('12345678901234567890.0123456789')]}`);
      return readFileSync(file);
    };
    return [await write(1), await write(2)];
  };
  const served = async (project: CopiedProject): Promise<string> => {
    const text = await (await fetch(`${await project.serve()}/v1/shop/orders`)).text();
    return text.replaceAll(/\s/g, "");
  };
  const row = (id: number, more = ""): string =>
    `{"id":${String(id)},"amount":12345678901234567890.0123456789${more}}`;

  it.each(Object.keys(STORES))(
    "from %s: all files of the folders of days, with the keys of the environment",
    async (scheme) => {
      const store = STORES[scheme] as Store;
      const project = await CopiedProject.of(engine, "snowflake", PARTITIONED);
      for (const [part, file] of (await files(project)).entries())
        await store.put(`${project.schema}/orders/day=2026-01-0${String(part + 1)}/part.parquet`, file);
      const from = ["--from", `${store.folder}/{schema}/{name}/*/*.parquet`];
      const { url, addresses } = await proxyThatNotes(project.ownerUrl);
      const load = await loaded(project, [...from, "--apply"], {
        ...store.variables,
        LOAD_DATABASE_URL: url,
      });
      expect(load).toMatchObject({ code: 0, stderr: "" });
      if (engine === "clickhouse") expect(addresses.length).toBeGreaterThan(2);
      for (const secret of store.secrets)
        expect(addresses.filter((address) => decodeURIComponent(address).includes(secret))).toEqual([]);
      const rows = await served(project);
      for (const id of [1, 2]) expect(rows).toContain(row(id, `,"day":"2026-01-0${String(id)}"`));
      const script = await loaded(project, from, store.variables);
      expect(script.code).toBe(0);
      for (const secret of store.secrets) expect(script.stdout).not.toContain(secret);
      if (engine === "clickhouse") await expectRun(project, script.stdout, store.variables);
      if (/^[sg]/.test(scheme)) return;
      const wrong = Object.entries(store.variables).map(([name, value]) => [
        name,
        value.replace(/(AccountKey=)[^;]+/, "$1d3Jvbmc="),
      ]);
      const refused = await loaded(project, [...from, "--apply"], Object.fromEntries(wrong));
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("cannot read the export") as string,
      });
    },
  );

  it("from https:// or http://: one file for each relation, and the values of its folders", async () => {
    const columns = { ...MODEL.columns, env: "VARCHAR" };
    const project = await CopiedProject.of(engine, "snowflake", { ...MODEL, columns });
    const [file = Buffer.of()] = await files(project);
    const host = await listen(
      createServer((request, response) => {
        const [, from, to] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? "") ?? [];
        const [first, last] = [Number(from ?? 0), to ? Number(to) : file.length - 1];
        const part = file.subarray(first, last + 1);
        response.writeHead(from === undefined ? 200 : 206, {
          "accept-ranges": "bytes",
          "content-length": part.length,
          ...(from !== undefined && {
            "content-range": `bytes ${String(first)}-${String(last)}/${String(file.length)}`,
          }),
        });
        response.end(request.method === "HEAD" ? undefined : part);
      }),
    );
    const load = await loaded(project, [
      "--from",
      // The folder is `env=a%2Fb`.
      `http://${host}/env=a%252Fb/{name}.parquet?signature=geheim`,
      "--apply",
    ]);
    expect(load).toMatchObject({ code: 0, stderr: "" });
    expect(await served(project)).toBe(`[${row(1, ',"env":"a/b"')}]`);
  });
});

/** Runs a printed script as its first line says. */
async function expectRun(
  project: CopiedProject,
  script: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const [, command = ""] = /^-- Run: (.+)$/m.exec(script) ?? [];
  const [file, data] = [project.file("load.sql"), ownFolder()];
  writeFileSync(file, script);
  const rows = join(data, "rows.txt");
  const server = join(import.meta.dirname, "../../scripts/clickhouse/server.py");
  const started = `python3 '${server}' '${clickhouseLibrary() ?? ""}' --path='${data}'`;
  const shell = `clickhouse() { ${started} --query="CREATE DATABASE ${project.schema} ENGINE = Atomic;
    $(cat); SELECT id FROM ${project.schema}.orders ORDER BY id INTO OUTFILE '${rows}' FORMAT TSV"; }
    ${command.replace("this file", `'${file}'`)}`;
  const env = { ...process.env, ...variables };
  const { stdout, stderr } = await promisify(execFile)("sh", ["-c", shell], { env });
  expect(stdout + stderr).toBe("");
  expect(readFileSync(rows, "utf8")).toBe("1\n2\n");
}

it.skipIf(!hasStores)("says how to install an extension of DuckDB that cannot be downloaded", async () => {
  const project = await CopiedProject.of("postgres", "snowflake", MODEL);
  const variables = {
    LOAD_DATABASE_URL: project.ownerUrl,
    HOME: await homeWith(),
    HTTP_PROXY: "http://127.0.0.1:1",
  };
  const args = ["ddl", "manifest.json", "--from", "az://exports/{name}.parquet", "--apply"];
  const { code, stderr } = await start(project.folder, args, { ...variables, AZURE_STORAGE_ACCOUNT: "shop" })
    .finished;
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /extension azure is not installed, and cannot be downloaded .+INSTALL azure/,
    ) as string,
  });
});
