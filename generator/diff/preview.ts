import { type ColumnType, parseColumnType } from "../catalogue/column-types/column-type.js";
import type { Change, ChangeKind } from "./change.js";

/** What consumers of some endpoints see: their JSON before and after, as lines of a unified diff. */
export interface RowPreview {
  readonly endpoints: readonly string[];
  readonly lines: readonly string[];
}

/** Previews of the changes that show in a row or in the response around it; endpoints that look alike share one. */
export function rowPreviews(changes: readonly Change[]): readonly RowPreview[] {
  const byLines = new Map<string, string[]>();
  for (const endpoint of new Set(changes.map((change) => change.endpoint))) {
    const text = previewOf(changes.filter((change) => change.endpoint === endpoint)).join("\n");
    if (text !== "") byLines.set(text, [...(byLines.get(text) ?? []), endpoint]);
  }
  return [...byLines].map(([text, endpoints]) => ({ endpoints, lines: text.split("\n") }));
}

const ROW_KINDS: ReadonlySet<ChangeKind> = new Set([
  "column-removed",
  "column-added",
  "column-exposed",
  "column-retyped",
  "column-widened",
  "column-scale-lowered",
  "column-number-changed",
  "column-made-nullable",
]);

function previewOf(changes: readonly Change[]): readonly string[] {
  const mode = changes.find(({ kind }) => kind === "response-mode-changed");
  const columns = new Map<string, Change>();
  for (const change of changes) {
    if (ROW_KINDS.has(change.kind) && change.subject !== null) columns.set(change.subject, change);
  }
  const rows = [...columns.values()].flatMap(fieldLines);
  return [
    ...(mode === undefined
      ? []
      : [`-${WRAPPED[mode.before ?? ""] ?? ""}`, `+${WRAPPED[mode.after ?? ""] ?? ""}`]),
    ...(rows.length === 0 ? [] : [" {", ...rows, " }"]),
  ];
}

const WRAPPED: Readonly<Record<string, string>> = {
  list: "[{…}]",
  envelope: '{"items": [{…}], "pagination": {…}}',
};

function fieldLines({ kind, subject, before, after }: Change): readonly string[] {
  const field = (sign: "-" | "+", value: string): string => `${sign}  ${JSON.stringify(subject)}: ${value},`;
  if (kind === "column-made-nullable") return [field("-", example(before)), field("+", "null")];
  const [was, is] = [before, after].map((type) => (type === null ? null : example(type)));
  if (was === is) return [];
  return [...(was == null ? [] : [field("-", was)]), ...(is == null ? [] : [field("+", is)])];
}

function example(text: string | null): string {
  const type = text?.replace(/ as a string\b.*| in \S+$/, "") ?? null;
  const value = exampleOf(parseColumnType(type ?? undefined), type);
  return text?.includes(" as a string") ? JSON.stringify(value) : value;
}

/** A value of a type as it stands in a response. */
function exampleOf(type: ColumnType, text: string | null = null): string {
  switch (type.kind) {
    case "integer":
      return type.max.length > 10 ? "9007199254740993" : "12";
    case "decimal":
      return type.scale === undefined ? "12.5" : `12.${"5".padEnd(Math.max(1, type.scale), "0")}`;
    case "float":
      return "12.5";
    case "string":
      return type.format === "uuid" ? '"0b0f…"' : '"text"';
    case "enum":
      return JSON.stringify(type.values[0] ?? "");
    case "boolean":
      return "true";
    case "date":
      return '"2026-01-31"';
    case "dateTime":
      return '"2026-01-31T12:00:00Z"';
    case "array":
      return `[${exampleOf(type.of)}]`;
    case "map":
      return `{"key": ${exampleOf(type.value)}}`;
    case "tuple":
      return `[${type.of.map((item) => exampleOf(item)).join(", ")}]`;
    case "record":
      return `{${type.fields.map((field) => `${JSON.stringify(field.name)}: ${exampleOf(field.type)}`).join(", ")}}`;
    case "json":
    case "unknown":
      return text === null || text === "no type" ? "…" : "{…}";
  }
}
