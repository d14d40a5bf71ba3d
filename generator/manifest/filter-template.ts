import { ownValue } from "@routewright/runtime/model";
/** A filter of a semantic model, whose Jinja names dimensions: `{{ Dimension('payment__status') }} = 'settled'`. */

/** What a template names. `grain`: of a time. */
export interface NamedDimension {
  readonly dimension: string;
  readonly grain?: string;
}

/** The result of a metric by an entity: `{{ Metric('orders', group_by=['customer']) }} > 5`. */
export interface NamedMetric {
  readonly metric: string;
  /** The entity, behind those that lead to it. */
  readonly by: string;
}

export type TemplatePart = string | NamedDimension | NamedMetric;

/** The parts of a template, or why it cannot be read. */
export type Template = { readonly parts: readonly TemplatePart[] } | { readonly problem: string };

export function readTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const { 0: block, 1: code = "", index } of text.matchAll(/\{\{(.*?)\}\}/gs)) {
    const named = readNamed(code.trim());
    if ("problem" in named) return named;
    parts.push(text.slice(end, index), named);
    end = index + block.length;
  }
  parts.push(text.slice(end));
  const rest = parts.filter((part) => typeof part === "string").join("");
  if (/\{[{%#]|[%#}]\}/.test(rest))
    return { problem: "it has other Jinja than Dimension, TimeDimension, Entity and Metric" };
  return { parts: parts.filter((part) => part !== "") };
}

const TEXT = String.raw`(?:'([^'\\]*)'|"([^"\\]*)")`;
const ARGUMENT = String.raw`\s*(?:(\w+)\s*=\s*)?(?:${TEXT}|(\[[^\]]*\])|(None))\s*`;
const CALL = /^(Dimension|TimeDimension|Entity|Metric)\s*\((.*?)\)\s*((?:\.\s*\w+\s*\(.*?\)\s*)*)$/s;

function readNamed(code: string): NamedDimension | NamedMetric | { readonly problem: string } {
  const [, kind = "", inside = "", methods = ""] = CALL.exec(code) ?? [];
  if (kind !== "Metric") return readCall(code);
  const { texts: [metric] = [], path = [] } = readArguments(inside) ?? {};
  const [by, ...others] = path;
  if (metric === undefined || by === undefined || others.length > 0 || methods !== "")
    return { problem: `${code} needs a metric and one entity: Metric('orders', group_by=['customer'])` };
  return { metric, by: by.toLowerCase() };
}

/** `Dimension('customer__region').grain('month')`, also of a saved query's `group_by`. */
export function readCall(code: string): NamedDimension | { readonly problem: string } {
  const [, kind = "", inside = "", methods = ""] = CALL.exec(code) ?? [];
  if (kind === "") return { problem: `${code} names no dimension` };
  if (kind === "Metric") return { problem: `${code} is no group` };
  const read = readArguments(inside);
  if (read === null) return { problem: `the arguments of ${code} are not texts` };
  const [name, second, part] = read.texts;
  if (name === undefined) return { problem: `${code} names no dimension` };
  const isTime = kind === "TimeDimension";
  const grain = part === undefined || !isTime ? (isTime ? second : undefined) : `extract_${part}`;
  return withMethods(
    {
      dimension: [...read.path, name].join("__"),
      ...(grain !== undefined && { grain: grain.toLowerCase() }),
    },
    methods,
    code,
  );
}

interface TemplateArguments {
  readonly texts: readonly (string | undefined)[];
  /** The entities that lead to the dimension. */
  readonly path: readonly string[];
}

const textsIn = (list: string): readonly string[] =>
  [...list.matchAll(new RegExp(TEXT, "g"))].map(([, single, double]) => single ?? double ?? "");

const POSITIONS: Readonly<Record<string, number>> = {
  name: 0,
  time_dimension_name: 0,
  dimension_name: 0,
  entity_name: 0,
  metric_name: 0,
  time_granularity_name: 1,
  time_granularity: 1,
  date_part_name: 2,
};

function readArguments(inside: string): TemplateArguments | null {
  const texts: (string | undefined)[] = [];
  let path: readonly string[] = [];
  const pattern = new RegExp(`${ARGUMENT}(?:,|$)`, "y");
  for (let position = 0; pattern.lastIndex < inside.length; position++) {
    const found = pattern.exec(inside);
    if (found === null) return null;
    const [, keyword, single, double, list] = found;
    if (list !== undefined) path = [...path, ...textsIn(list)];
    else if (keyword === "entity_path") return null;
    else
      texts[keyword === undefined ? position : (ownValue(POSITIONS, keyword) ?? position)] = single ?? double;
  }
  return { texts, path };
}

function withMethods(
  named: NamedDimension,
  methods: string,
  code: string,
): NamedDimension | { readonly problem: string } {
  let found = named;
  for (const [, name = "", , single, double] of methods.matchAll(
    new RegExp(String.raw`\.\s*(\w+)\s*\(${ARGUMENT}\)`, "g"),
  )) {
    if (name !== "grain" && name !== "date_part") return { problem: `.${name}() of ${code} is not compiled` };
    const grain = (single ?? double ?? "").toLowerCase();
    found = { ...found, grain: name === "grain" ? grain : `extract_${grain}` };
  }
  const count = methods.match(/\.\s*\w+\s*\(/g)?.length ?? 0;
  const isRead = count === (found === named ? 0 : 1);
  return isRead ? found : { problem: `${code} is not compiled` };
}
