import { describe, expect, it } from "vitest";
import { databaseUrl, query } from "../../support/database.js";
import { DbtProject } from "../../support/dbt.js";
import { needs } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { askedRows, seeded } from "../random-requests.js";
import { differenceOf } from "./answers.js";
import { startMetricFlow } from "./oracle.js";
import { PROJECTS } from "./projects.js";
import { Questions } from "./questions.js";

/** Random requests of each project; `METRICFLOW_REQUESTS=1000` for more, `METRICFLOW_SEED=7` for others. */
const REQUESTS = Number(process.env["METRICFLOW_REQUESTS"] ?? 10);
const SEED = Number(process.env["METRICFLOW_SEED"] ?? 54);

describe.skipIf(!needs("dbt", "mf", "python3"))("metrics beside MetricFlow", () => {
  it.each(Object.entries(PROJECTS))(
    "of the project %s",
    async (name, files) => {
      const schema = `metricflow_${name}`;
      await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      const project = new DbtProject(schema, files);
      const { code, output } = await project.run("run");
      expect([code, output]).toEqual([0, output]);
      const url = await serveManifest(project.manifest, { DATABASE_URL: databaseUrl });
      const metricFlow = startMetricFlow(project.manifestFile, databaseUrl);
      const questions = new Questions(url, project.manifest, seeded(SEED));
      const differing: unknown[] = [];
      let compared = 0;
      while (compared < REQUESTS) {
        const { path, asked } = await questions.next();
        const [{ status, rows }, answer] = await Promise.all([
          askedRows(url, path, KEYS.tier3),
          metricFlow.answer(asked),
        ]);
        // Both refuse, or MetricFlow cannot divide by zero.
        if ("error" in answer) {
          if (status !== 400 && !answer.error.includes("division by zero"))
            differing.push({ path, status, answer });
          continue;
        }
        const difference = differenceOf(asked, rows, answer);
        if (status !== 200 || difference !== null) differing.push({ path, asked, status, ...difference });
        compared++;
      }
      expect(differing.slice(0, 3)).toEqual([]);
    },
    180_000 + 1000 * REQUESTS,
  );
});
