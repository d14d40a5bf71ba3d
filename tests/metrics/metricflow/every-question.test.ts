import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasClickhouse } from "../../support/clickhouse.js";
import { needs } from "../../support/needs.js";
import { KEYS } from "../../support/service.js";
import { askedRows, OF_POSTGRES, seeded } from "../random-requests.js";
import { differenceOf } from "./answers.js";
import { serveCopy } from "./clickhouse-tables.js";
import { FOLDERS, type ServedFolder, serveFolder } from "./folders.js";
import type { MetricFlowAnswer, MetricFlowRequest } from "./oracle.js";

/**
 * Asks MetricFlow every question of some projects anew: each metric alone, by each of its groups, and by each group and a
 * time. `METRICFLOW_PROJECTS`: folders with `manifest.json` and `setup.sql` (default: pay); `METRICFLOW_QUESTIONS`: so
 * many of each metric, or `all`; `METRICFLOW_SEED`: others; `METRICFLOW_ONLY`: a pattern of metrics and groups;
 * `METRICFLOW_REPORT`: a file that gets a line of JSON per question. Then ClickHouse has the same questions, over copies of
 * the tables, with PostgreSQL's answers, but those of OF_POSTGRES, which are counted as skipped.
 */
const QUESTIONS = process.env["METRICFLOW_QUESTIONS"] ?? "2";
const ONLY = new RegExp(process.env["METRICFLOW_ONLY"] ?? "");
const REPORT = process.env["METRICFLOW_REPORT"];
const SEED = Number(process.env["METRICFLOW_SEED"] ?? 75);

const isTime = /^metric_time__(?!extract_)/;

/** Alone, by each group, and by each group and a time. */
function questionsOf(
  metric: string,
  groups: readonly string[],
  random: () => number,
): readonly MetricFlowRequest[] {
  const times = groups.filter((name) => isTime.test(name));
  const pick = (): string => times[Math.floor(random() * times.length)] ?? "";
  const pairs = groups.filter((name) => times.length > 0 && !isTime.test(name)).map((name) => [pick(), name]);
  const all = [[], ...groups.map((name) => [name]), ...pairs].map((group_by) => ({
    metrics: [metric],
    group_by,
    where: [],
  }));
  const wanted = all.filter(({ group_by }) => ONLY.test([metric, ...group_by].join(" ")));
  if (QUESTIONS === "all") return wanted;
  return wanted
    .map((each) => [random(), each] as const)
    .toSorted(([a], [b]) => a - b)
    .slice(0, Number(QUESTIONS))
    .map(([, each]) => each);
}

/** `equal`; `refused` by the API alone; `both refuse`; `different`. */
interface Outcome {
  readonly outcome: "equal" | "refused" | "both refuse" | "different";
  readonly detail?: unknown;
}

/** `failure`: the judge itself failed, which is no refusal. */
type Judge = (asked: MetricFlowRequest) => Promise<MetricFlowAnswer | { readonly failure: string }>;

const resourceOf = ({ metrics: [metric = ""], group_by }: MetricFlowRequest): string =>
  `/v1/all/${metric}?limit=50000${group_by.length > 0 ? `&group_by=${group_by.join(",")}` : ""}`;

/** A time of the API's as MetricFlow writes it. */
const asWritten = (value: string | null): string | null =>
  value?.replace(/^(\d{4}-\d\d-\d\dT[\d:.]+)Z$/, "$1") ?? null;

/** The API of another address as the judge. */
const answersAt =
  (url: string): Judge =>
  async (asked) => {
    const { status, rows, text } = await askedRows(url, resourceOf(asked), KEYS.tier3);
    if (status >= 500) return { failure: `${String(status)} ${text}` };
    if (status !== 200) return { error: text };
    const columns = [...asked.group_by, ...asked.metrics];
    return { columns, rows: rows.map((row) => columns.map((name) => asWritten(row[name] ?? null))) };
  };

/** Compares an answer of the API with the judge's. A failure of a server, also of the judge's, is no refusal. */
async function outcomeOf(asked: MetricFlowRequest, url: string, judge: Judge): Promise<Outcome> {
  const [answer, { status, rows, text }] = await Promise.all([
    judge(asked),
    askedRows(url, resourceOf(asked), KEYS.tier3),
  ]);
  const detail = `${String(status)} ${text.slice(0, 300)}`;
  if ("failure" in answer) return { outcome: "different", detail: `the judge: ${answer.failure}` };
  if (status >= 500) return { outcome: "different", detail };
  if (status !== 200)
    return "error" in answer
      ? { outcome: "both refuse", detail: answer.error.slice(0, 300) }
      : { outcome: "refused", detail };
  if ("error" in answer) return { outcome: "both refuse", detail: `only the judge: ${answer.error}` };
  const difference = differenceOf(asked, rows, answer);
  return difference === null ? { outcome: "equal" } : { outcome: "different", detail: difference };
}

/** Asks the questions of a folder: how many have each outcome, or are skipped, and the first that differ. */
async function outcomesOf(
  { manifest, url, metricFlow, reasons }: ServedFolder,
  judge: Judge,
  of: object,
  skips: (asked: MetricFlowRequest) => boolean = () => false,
) {
  const random = seeded(SEED);
  const different: unknown[] = [];
  const counts = { equal: 0, refused: 0, "both refuse": 0, different: 0, skipped: 0 };
  for (const { name } of Object.values(manifest.metrics)) {
    for (const asked of questionsOf(name, await metricFlow.groupsOf([name]), random)) {
      if (skips(asked)) {
        counts.skipped++;
        continue;
      }
      const found = await outcomeOf(asked, url, judge);
      counts[found.outcome]++;
      if (found.outcome === "different") different.push({ asked, ...found });
      const reason = reasons.get(name);
      report({ ...of, metric: name, by: asked.group_by, ...found, ...(reason !== undefined && { reason }) });
    }
  }
  report({ ...of, counts });
  return { different: different.slice(0, 5), counts };
}

/** Whether a metric, or a group in any of its grains, has a name of OF_POSTGRES. */
const isOfPostgres = ({ metrics, group_by }: MetricFlowRequest): boolean =>
  [...metrics, ...group_by].some((name) => name.split("__").some((part) => OF_POSTGRES.has(part)));

/** No answer differs, and most of those that the judge has are equal: one who refuses everything is not right. */
function expectEqual({ different, counts }: Awaited<ReturnType<typeof outcomesOf>>): void {
  expect(different).toEqual([]);
  expect(counts.equal, JSON.stringify(counts)).toBeGreaterThan(counts.refused + counts.skipped);
}

function report(line: object): void {
  if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify(line)}\n`);
}

describe.skipIf(!needs("mf", "python3"))("every question of MetricFlow", () => {
  it.each(FOLDERS)(
    "on the project %s",
    async (folder) => {
      const served = await serveFolder(folder, (metric) => metric);
      expectEqual(await outcomesOf(served, served.metricFlow.answer, { folder }));
    },
    3_600_000,
  );

  it.skipIf(!hasClickhouse).each(FOLDERS)(
    "on ClickHouse as on PostgreSQL, on the project %s",
    async (folder) => {
      const served = await serveFolder(folder, (metric) => metric);
      const url = await serveCopy(served.manifest, served.database);
      const judge = answersAt(served.url);
      const of = { folder, engine: "clickhouse" };
      expectEqual(await outcomesOf({ ...served, url }, judge, of, isOfPostgres));
    },
    3_600_000,
  );
});
