import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { catalogueOf } from "../../../generator/catalogue/build.js";
import { parseManifest } from "../../../generator/manifest/manifest.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { serveManifest } from "../../support/service.js";
import { type MetricFlow, startMetricFlow } from "./oracle.js";

/** `METRICFLOW_PROJECTS`: folders of projects, with `manifest.json` and `setup.sql`, which makes their tables; pay by default. */
export const FOLDERS: readonly string[] = (
  process.env["METRICFLOW_PROJECTS"] ?? fileURLToPath(new URL("../pay", import.meta.url))
).split(":");

interface Manifest {
  readonly metrics: Readonly<Record<string, Metric>>;
}
interface Metric {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** On a busy machine a question may take long. */
export const longTimeout = { STATEMENT_TIMEOUT_MS: "300000" } as const;

/** A project that is served, beside MetricFlow over the same rows. */
export interface ServedFolder {
  readonly manifest: Manifest;
  readonly url: string;
  /** Of PostgreSQL. */
  readonly database: string;
  readonly metricFlow: MetricFlow;
  /** Why a metric has no endpoint. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** `path`: the resource of a metric, below `/v1/all`. */
export async function serveFolder(folder: string, path: (metric: string) => string): Promise<ServedFolder> {
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const manifest = published(JSON.parse(read("manifest.json")) as Manifest, path);
  const database = await ownDatabase();
  if (existsSync(join(folder, "setup.sql"))) await queryAt(database, read("setup.sql"));
  const file = join(mkdtempSync(join(tmpdir(), "routewright-test-")), "manifest.json");
  writeFileSync(file, JSON.stringify(manifest));
  const url = await serveManifest(manifest, { DATABASE_URL: database, ...longTimeout });
  return {
    manifest,
    url,
    database,
    metricFlow: startMetricFlow(file, database),
    reasons: reasonsOf(manifest),
  };
}

/** Each metric at its path, with all of its groups. */
function published(manifest: Manifest, path: (metric: string) => string): Manifest {
  const metrics = Object.entries(manifest.metrics).map(([id, metric]): [string, Metric] => {
    const { name, config } = metric;
    const own = {
      tags: ["production", "all", `api:${path(name)}`, "tier0"],
      meta: { routewright: { group_by: "all" } },
    };
    return [id, { ...metric, tags: [], meta: own.meta, config: { ...config, ...own } } as Metric];
  });
  return { ...manifest, metrics: Object.fromEntries(metrics), saved_queries: {} } as Manifest;
}

function reasonsOf(manifest: Manifest): ReadonlyMap<string, string> {
  const reading = parseManifest(JSON.stringify(manifest), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const { skipped } = catalogueOf(reading.value, {});
  return new Map(
    skipped.map(({ model, problems }) => [
      model.split(".").at(-1) ?? "",
      problems.map(({ message }) => message).join(" "),
    ]),
  );
}
