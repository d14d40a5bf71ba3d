import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { databaseUrl, query } from "../../support/database.js";
import { DbtProject } from "../../support/dbt.js";
import { needs } from "../../support/needs.js";
import { serveManifest } from "../../support/service.js";
import { FOLDERS, serveFolder } from "./folders.js";
import { startMetricFlow } from "./oracle.js";
import { PROJECTS } from "./projects.js";
import { type Answered, randomAnswers } from "./random-questions.js";

/**
 * Random requests of each project; `METRICFLOW_REQUESTS=1000` for more, `METRICFLOW_SEED=7` for others. Of folders
 * (`METRICFLOW_PROJECTS`) they name the groups that MetricFlow has; `METRICFLOW_REPORT`: a file that gets a line of JSON
 * for each of them.
 */
const REQUESTS = Number(process.env["METRICFLOW_REQUESTS"] ?? 10);
const SEED = Number(process.env["METRICFLOW_SEED"] ?? 54);
const REPORT = process.env["METRICFLOW_REPORT"];
const TIMEOUT = 180_000 + 2000 * REQUESTS;

describe.skipIf(!needs("dbt", "mf", "python3"))("metrics beside MetricFlow", () => {
  it.each(Object.entries(PROJECTS))(
    "of the project %s",
    async (name, files) => {
      const schema = `metricflow_${name}`;
      await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      const project = new DbtProject(schema, files);
      const { code, output } = await project.run("run");
      expect([code, output]).toEqual([0, output]);
      const { manifest } = project;
      const url = await serveManifest(manifest, { DATABASE_URL: databaseUrl });
      const metricFlow = startMetricFlow(project.manifestFile, databaseUrl);
      const differing: Answered[] = [];
      let compared = 0;
      for await (const answered of randomAnswers({ url, manifest, metricFlow }, SEED)) {
        if (!isRefusal(answered)) compared++;
        // Every group that the API lists is asked of an endpoint that has it.
        if (answered.outcome === "refused" || isFault(answered)) differing.push(answered);
        if (compared >= REQUESTS) break;
      }
      expect(differing.slice(0, 3)).toEqual([]);
    },
    TIMEOUT,
  );

  it.each(FOLDERS)(
    "of the folder %s",
    async (folder) => {
      const served = await serveFolder(folder, () => "all");
      const differing: Answered[] = [];
      let asked = 0;
      for await (const answered of randomAnswers(served, SEED, true)) {
        if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify({ folder, ...answered })}\n`);
        if (isFault(answered)) differing.push(answered);
        if (++asked >= REQUESTS) break;
      }
      expect(differing.slice(0, 3)).toEqual([]);
    },
    TIMEOUT,
  );
});

const isRefusal = ({ outcome }: Answered): boolean => outcome === "both refuse" || outcome === "answered";

/** MetricFlow cannot divide by zero. */
const isFault = ({ outcome, detail }: Answered): boolean =>
  outcome === "different" || (outcome === "answered" && !JSON.stringify(detail).includes("division by zero"));
