import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { needs } from "../../support/needs.js";
import { KEYS } from "../../support/service.js";
import { askedRows, seeded } from "../random-requests.js";
import { differenceOf } from "./answers.js";
import { FOLDERS, serveFolder } from "./folders.js";
import type { MetricFlowRequest } from "./oracle.js";

/**
 * Asks MetricFlow every question of some projects anew: each metric alone, by each of its groups, and by each group and a
 * time. `METRICFLOW_PROJECTS`: folders with `manifest.json` and `setup.sql` (default: pay); `METRICFLOW_QUESTIONS`: so
 * many of each metric, or `all`; `METRICFLOW_ONLY`: a pattern of metrics and groups; `METRICFLOW_REPORT`: a file that gets
 * a line of JSON per question.
 */
const QUESTIONS = process.env["METRICFLOW_QUESTIONS"] ?? "2";
const ONLY = new RegExp(process.env["METRICFLOW_ONLY"] ?? "");
const REPORT = process.env["METRICFLOW_REPORT"];

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

describe.skipIf(!needs("mf", "python3"))("every question of MetricFlow", () => {
  it.each(FOLDERS)(
    "on the project %s",
    async (folder) => {
      const { manifest, url, metricFlow, reasons } = await serveFolder(folder, (metric) => metric);
      const ask = async (asked: MetricFlowRequest): Promise<Outcome> => {
        const [metric = ""] = asked.metrics;
        const groups = asked.group_by.length > 0 ? `&group_by=${asked.group_by.join(",")}` : "";
        const path = `/v1/all/${metric}?limit=50000${groups}`;
        const [answer, { status, rows, text }] = await Promise.all([
          metricFlow.answer(asked),
          askedRows(url, path, KEYS.tier3),
        ]);
        if (status !== 200) {
          const detail = reasons.get(metric) ?? `${String(status)} ${text.slice(0, 300)}`;
          return "error" in answer
            ? { outcome: "both refuse", detail: answer.error.slice(0, 300) }
            : { outcome: "refused", detail };
        }
        if ("error" in answer) return { outcome: "both refuse", detail: `only MetricFlow: ${answer.error}` };
        const difference = differenceOf(asked, rows, answer);
        return difference === null ? { outcome: "equal" } : { outcome: "different", detail: difference };
      };
      const random = seeded(75);
      const different: unknown[] = [];
      const counts: Record<string, number> = {};
      for (const { name } of Object.values(manifest.metrics)) {
        for (const asked of questionsOf(name, await metricFlow.groupsOf([name]), random)) {
          const found = await ask(asked);
          counts[found.outcome] = (counts[found.outcome] ?? 0) + 1;
          if (found.outcome === "different") different.push({ asked, ...found });
          if (REPORT !== undefined)
            appendFileSync(
              REPORT,
              `${JSON.stringify({ folder, metric: name, by: asked.group_by, ...found })}\n`,
            );
        }
      }
      if (REPORT !== undefined) appendFileSync(REPORT, `${JSON.stringify({ folder, counts })}\n`);
      expect(different.slice(0, 5)).toEqual([]);
    },
    3_600_000,
  );
});
