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
      askedRows(url, path, KEYS.tier3),
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
