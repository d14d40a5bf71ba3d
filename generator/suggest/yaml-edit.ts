import { isDeepStrictEqual } from "node:util";
import {
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  stringify,
  type ToStringOptions,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { Json } from "@routewright/runtime/model";

/** A step into a YAML file: a key, or the member of a list whose `name` it is. */
export type YamlStep = string | { readonly name: string };

/** What a model's YAML should say. `add`: to a list, which it may begin. */
export interface YamlEdit {
  readonly at: readonly YamlStep[];
  readonly value: Json;
  readonly how: "set" | "add";
}

/**
 * A YAML text with an edit; the same text where it says so already, null where the edit cannot be made without a change of anything else.
 * Only the lines of the edit differ: comments, order, quotes and indentation stay.
 */
export function edited(text: string, edit: YamlEdit): string | null {
  const document = parsed(text);
  if (document.errors.length > 0 || document.contents === null) return null;
  const content = contentOf(document);
  const wanted = content === null ? null : wantedOf(content, edit);
  if (wanted === null) return null;
  if (isDeepStrictEqual(wanted, content)) return text;
  const splice = spliceOf(text, document.contents, edit);
  if (splice === null) return null;
  const lines = text.includes("\r\n") ? splice.text.replaceAll("\n", "\r\n") : splice.text;
  const made = `${text.slice(0, splice.from)}${lines}${text.slice(splice.to)}`;
  const read = parsed(made);
  return read.errors.length === 0 && isDeepStrictEqual(contentOf(read), wanted) ? made : null;
}

/** With the keys that `<<` merges, as dbt reads them. */
export const parsed = (text: string) => parseDocument(text, { merge: true });

/** What a document says; null where an alias has no anchor, or stands for too much. */
export function contentOf(document: ReturnType<typeof parsed>): Json | null {
  try {
    return document.toJS() as Json;
  } catch {
    return null;
  }
}

/** dbt reads YAML 1.1, where `yes`, `12:30` and `2026-01-01` without quotes are no texts. */
const written = (value: unknown, options: ToStringOptions): string =>
  stringify(value, { ...options, version: "1.1", lineWidth: 0 });

interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

type Loose = Record<string, unknown> | unknown[];

/** The content after the edit; null where something else stands in its place. */
function wantedOf(content: Json, { at, value, how }: YamlEdit): Json | null {
  const root = copyOf(content);
  let place: unknown = root;
  for (const [i, step] of at.entries()) {
    const isLast = i === at.length - 1;
    const next = at[i + 1];
    if (!isContainer(place, step)) return null;
    const known = memberOf(place, step);
    if (isLast) {
      if (how === "set") put(place, step, value);
      else if (known === undefined || known === null) put(place, step, [value] as Json);
      else if (Array.isArray(known)) {
        if (!known.some((each) => isDeepStrictEqual(each, value))) known.push(value);
      } else return null;
    } else if (known === undefined || known === null) {
      const made: Loose = typeof next === "object" ? [] : {};
      put(place, step, (typeof step === "object" ? { name: step.name } : made) as Json);
      place = memberOf(place, step);
      continue;
    }
    place = memberOf(place, step);
  }
  return root as Json;
}

/** A copy in which nothing stands twice: an alias is what its anchor is, and an edit of one is a change of the other. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]));
}

function isContainer(place: unknown, step: YamlStep): place is Loose {
  return typeof step === "object"
    ? Array.isArray(place)
    : typeof place === "object" && place !== null && !Array.isArray(place);
}

function memberOf(place: Loose, step: YamlStep): unknown {
  if (typeof step === "string") return (place as Record<string, unknown>)[step];
  return (place as unknown[]).find((each) => (each as { name?: unknown } | null)?.name === step.name);
}

function put(place: Loose, step: YamlStep, value: Json): void {
  if (typeof step === "string") (place as Record<string, unknown>)[step] = value;
  else (place as unknown[]).push(value);
}

/** What is written where: the deepest node that is there gets what is left of the path. */
function spliceOf(text: string, root: Node, { at, value, how }: YamlEdit): Splice | null {
  let node: Node = root;
  for (const [i, step] of at.entries()) {
    const child = childOf(node, step);
    if (child === null) return insertion(text, node, step, restOf(at.slice(i + 1), value, how));
    node = child;
  }
  if (how === "add" && isSeq(node)) return appended(text, node, value);
  const range = node.range;
  if (range == null || (!isFlow(node) && !isScalar(node))) return null;
  return { from: range[0], to: range[1], text: flowText(how === "add" ? [value] : value) };
}

function childOf(node: Node, step: YamlStep): Node | null {
  if (typeof step === "string") {
    const found = isMap(node) ? node.get(step, true) : null;
    return (found as Node | null | undefined) ?? null;
  }
  if (!isSeq(node)) return null;
  const found = node.items.find((item) => isMap(item) && item.get("name") === step.name);
  return (found as Node | undefined) ?? null;
}

/** The value of the first missing step: the rest of the path around the value. */
function restOf(rest: readonly YamlStep[], value: Json, how: YamlEdit["how"]): Json {
  const innermost = how === "add" ? [value] : value;
  return rest.reduceRight<Json>(
    (inner, step) =>
      typeof step === "string"
        ? { [step]: inner }
        : [{ name: step.name, ...(inner as Record<string, Json>) }],
    innermost,
  );
}

function insertion(text: string, node: Node, step: YamlStep, value: Json): Splice | null {
  if (typeof step === "object") {
    return isSeq(node) ? appended(text, node, { name: step.name, ...(value as Record<string, Json>) }) : null;
  }
  if (!isMap(node) || node.range == null) return null;
  if (isFlow(node)) return intoFlow(node, `${written(step, {}).trim()}: ${flowText(value)}`);
  return afterFirst(text, node, written({ [step]: value }, {}));
}

/** Behind the line of the map's first member where that is a scalar on one line, such as `- name: orders`; else before it. */
function afterFirst(text: string, map: YAMLMap, lines: string): Splice | null {
  const [first] = map.items;
  const key = first?.key as Node | undefined;
  if (first === undefined || key?.range == null) return null;
  const start = key.range[0];
  const column = start - (text.lastIndexOf("\n", start - 1) + 1);
  const indent = " ".repeat(column);
  const inner = lines.trimEnd().split("\n");
  const scalar = first.value;
  const isShort =
    isScalar(scalar) && scalar.range != null && !text.slice(start, scalar.range[1]).includes("\n");
  if (!isShort) {
    return {
      from: start,
      to: start,
      text: `${inner.map((line, i) => (i === 0 ? line : indent + line)).join("\n")}\n${indent}`,
    };
  }
  const end = lineEnd(text, scalar.range?.[1] ?? start);
  return { from: end, to: end, text: inner.map((line) => `\n${indent}${line}`).join("") };
}

function appended(text: string, list: YAMLSeq, value: Json): Splice | null {
  if (isFlow(list)) return intoFlow(list, flowText(value));
  const last = list.items.at(-1) as Node | undefined;
  const [first] = list.items as Node[];
  if (last === undefined || first?.range == null) return null;
  const dash = text.lastIndexOf("-", first.range[0]);
  const indent = " ".repeat(dash - (text.lastIndexOf("\n", dash) + 1));
  const end = lineEnd(text, endOf(last));
  const lines = written([value], {}).trimEnd().split("\n");
  return { from: end, to: end, text: lines.map((line) => `\n${indent}${line}`).join("") };
}

/** The end of what a node says, without comments and blank lines behind it. */
function endOf(node: Node): number {
  if (!isFlow(node)) {
    const last: unknown = isMap(node)
      ? (node.items.at(-1)?.value ?? node.items.at(-1)?.key)
      : isSeq(node)
        ? node.items.at(-1)
        : null;
    if (last != null) return endOf(last as Node);
  }
  return node.range?.[1] ?? 0;
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf("\n", text[from - 1] === "\n" ? from - 1 : from);
  if (at === -1) return text.length;
  return text[at - 1] === "\r" ? at - 1 : at;
}

function intoFlow(node: YAMLMap | YAMLSeq, part: string): Splice | null {
  const last = node.items.at(-1);
  if (node.range == null) return null;
  if (last === undefined) {
    const [open, close] = isMap(node) ? ["{ ", " }"] : ["[", "]"];
    return { from: node.range[0], to: node.range[1], text: `${open}${part}${close}` };
  }
  const end = endOf(
    (isMap(node)
      ? ((last as { value: Node | null; key: Node }).value ?? (last as { key: Node }).key)
      : last) as Node,
  );
  return { from: end, to: end, text: `, ${part}` };
}

function isFlow(node: unknown): boolean {
  return (isMap(node) || isSeq(node)) && node.flow === true;
}

function flowText(value: Json): string {
  return written(value, { collectionStyle: "flow" }).trim();
}
