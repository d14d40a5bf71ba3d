import { describe, expect, it } from "vitest";
import { databaseUrl, query } from "../../support/database.js";
import { DbtProject } from "../../support/dbt.js";
import { needs } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { askedRows, isSameValue, seeded } from "../random-requests.js";
import { type MetricFlowAnswer, startMetricFlow } from "./oracle.js";
import { PROJECTS } from "./projects.js";
import { Questions } from "./questions.js";

/** Random requests of each project; `METRICFLOW_REQUESTS=1000` for more. */
const REQUESTS = Number(process.env["METRICFLOW_REQUESTS"] ?? 15);

/** A time of MetricFlow's as the API writes it. */
function asServed(value: string | null): string | null {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)T([\d:.]+)(?:\+00:00)?$/.exec(value ?? "") ?? [];
  if (day === undefined || time === undefined) return value;
  return time === "00:00:00" ? day : `${day}T${time}Z`;
}

const isMidnight = /^(\d{4}-\d\d-\d\d)T00:00:00Z$/;

type Cells = readonly (string | null)[];

function sorted(rows: readonly Cells[], groups: number): readonly Cells[] {
  const key = (row: Cells): string =>
    JSON.stringify(row.slice(0, groups).map((value) => [value === null, value]));
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** MetricFlow's columns by the names of the request: it adds the grain to a time that has none. */
function rowsOf(
  answer: Exclude<MetricFlowAnswer, { error: string }>,
  names: readonly string[],
): readonly Cells[] {
  const columns = answer.columns.map((name) => name.replaceAll('"', ""));
  const positions = names.map((name) => {
    const exact = columns.indexOf(name);
    return exact >= 0
      ? exact
      : columns.findIndex((column) => !names.includes(column) && column.startsWith(`${name}__`));
  });
  return answer.rows.map((row) => positions.map((i) => asServed(row[i] ?? null)));
}

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
      const ask = startMetricFlow(project.manifestFile, databaseUrl);
      const questions = new Questions(url, project.manifest, seeded(54));
      const differing: unknown[] = [];
      let compared = 0;
      while (compared < REQUESTS) {
        const { path, asked } = await questions.next();
        const [{ status, rows }, answer] = await Promise.all([askedRows(url, path, KEYS.tier3), ask(asked)]);
        // Both refuse, or MetricFlow cannot divide by zero.
        if ("error" in answer) {
          if (status !== 400 && !answer.error.includes("division by zero"))
            differing.push({ path, status, answer });
          continue;
        }
        const names = [...asked.group_by, ...asked.metrics];
        const groups = asked.group_by.length;
        const got = sorted(
          rows.map((row) => names.map((each) => (row[each] ?? null)?.replace(isMidnight, "$1") ?? null)),
          groups,
        );
        const wanted = sorted(rowsOf(answer, names), groups);
        const isSame = (row: Cells, i: number): boolean =>
          row.every((value, k) => {
            const cell = wanted[i]?.[k];
            // Counts over nothing are 0 here.
            return (
              cell !== undefined &&
              (isSameValue(cell, value) || (groups === 0 && value === "0" && cell === null))
            );
          });
        const first = got.findIndex((row, i) => !isSame(row, i));
        if (status !== 200 || got.length !== wanted.length || first >= 0)
          differing.push({
            path,
            asked,
            status,
            rows: [got.length, wanted.length],
            row: [got[first], wanted[first]],
          });
        compared++;
      }
      expect(differing.slice(0, 3)).toEqual([]);
    },
    180_000 + 1000 * REQUESTS,
  );
});
