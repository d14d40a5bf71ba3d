import {
  type Aggregation,
  AGGREGATIONS,
  type FormulaPart,
  type Grain,
  isGrain,
  type Leaf,
  ownValue,
  type Period,
  projectSqlProblem,
  tokensOf,
} from "@routewright/runtime/model";
import type { SemanticMeasure, WrittenPeriod } from "../../manifest/semantic-layer.js";
import { NotCompiled } from "./aggregate-parts.js";

const NAMES: Readonly<Record<string, Aggregation>> = { avg: "average", median: "percentile" };

export function aggregationOf({
  aggregation,
  percentile,
  isDiscrete,
}: SemanticMeasure): Pick<Leaf, "aggregation" | "percentile" | "isDiscrete"> {
  const name = ownValue(NAMES, aggregation) ?? AGGREGATIONS.find((each) => each === aggregation);
  if (name === undefined) throw new NotCompiled(`The aggregation ${aggregation || "none"} is not compiled.`);
  if (name !== "percentile") return { aggregation: name };
  const p = aggregation === "median" ? 0.5 : (percentile ?? 0.5);
  return { aggregation: name, percentile: p, ...(isDiscrete && { isDiscrete }) };
}

export function periodOf({ count, granularity }: WrittenPeriod): Period {
  return { count, grain: standardGrain(granularity.replace(/s$/, "")) };
}

export function standardGrain(text: string): Grain {
  if (isGrain(text)) return text;
  throw new NotCompiled(
    `${text || "Nothing"} is no standard grain: a custom one may stand in groups, filters and offset_window of derived metrics alone, as in MetricFlow.`,
  );
}

/** The texts around the parts that are values. */
export function textsOf(parts: readonly (string | object)[]): readonly string[] {
  const texts = [""];
  for (const part of parts) {
    if (typeof part === "string") texts.push((texts.pop() ?? "") + part);
    else texts.push("");
  }
  return texts;
}

/** A formula with its aliases found. Databases fold the case of names without quotes. */
export function formulaParts(expr: string, aliases: readonly string[]): readonly FormulaPart[] {
  const parts: FormulaPart[] = [];
  for (const token of tokensOf(expr)) {
    const name = token.replace(/^"(.*)"$/, "$1").toLowerCase();
    const alias = aliases.find((each) => each.toLowerCase() === name);
    const last = parts.at(-1);
    if (alias !== undefined) parts.push({ alias });
    else if (typeof last === "string") parts.splice(-1, 1, last + token);
    else parts.push(token);
  }
  const problem = projectSqlProblem(textsOf(parts));
  if (problem !== null) throw new NotCompiled(`The formula ${expr} is not compiled: ${problem}.`);
  return parts;
}
