import { KEYS } from "../../support/service.js";
import { askedRows, seeded } from "../random-requests.js";
import { differenceOf } from "./answers.js";
import type { MetricFlow } from "./oracle.js";
import { Questions } from "./questions.js";

interface Compared {
  readonly url: string;
  readonly manifest: unknown;
  readonly metricFlow: MetricFlow;
}

/** `equal`, `different`, `both refuse`, and `refused` or `answered` by the API alone. */
export interface Answered {
  readonly outcome: "equal" | "different" | "both refuse" | "refused" | "answered";
  readonly path: string;
  readonly detail?: unknown;
}

/** As many rows as `Questions` asks for. */
const PAGE = 50_000;

/** The rows of all pages of a request. */
async function everyRow(url: string, path: string): ReturnType<typeof askedRows> {
  const first = await askedRows(url, path, KEYS.tier3);
  const rows = [...first.rows];
  for (let page = first.rows; page.length === PAGE;) {
    page = (await askedRows(url, `${path}&offset=${String(rows.length)}`, KEYS.tier3)).rows;
    for (const row of page) rows.push(row);
  }
  return { ...first, rows };
}

/** Random requests in both words; `byMetricFlow`: groups are those that MetricFlow has, not those that the API lists. */
export async function* randomAnswers(
  { url, manifest, metricFlow }: Compared,
  seed: number,
  byMetricFlow = false,
): AsyncGenerator<Answered> {
  const groupsOf = byMetricFlow ? metricFlow.groupsOf : undefined;
  const questions = new Questions(url, manifest, seeded(seed), groupsOf);
  for (;;) {
    const { path, asked } = await questions.next();
    const [{ status, rows, text }, answer] = await Promise.all([
      everyRow(url, path),
      metricFlow.answer(asked),
    ]);
    const detail = text.slice(0, 400);
    if ("error" in answer) {
      const { error } = answer;
      yield { outcome: status === 400 ? "both refuse" : "answered", path, detail: { status, error, detail } };
    } else if (status !== 200) {
      yield { outcome: status === 400 ? "refused" : "different", path, detail };
    } else {
      const difference = differenceOf(asked, rows, answer);
      yield difference === null
        ? { outcome: "equal", path }
        : { outcome: "different", path, detail: { asked, ...difference } };
    }
  }
}
