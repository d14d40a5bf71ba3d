import { type Endpoint, TIERS } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Difference } from "./change.js";
import { compareColumns } from "./compare-columns.js";
import { compareParameters, renamedParameters } from "./compare-parameters.js";

/** The calendar of a comparison: removals and sunsets depend on the day. */
export interface Calendar {
  /** `YYYY-MM-DD`. */
  readonly today: string;
  /** Days that consumers must have between the announcement of a sunset and the sunset. */
  readonly minimumNoticeDays: number;
}

/** What differs between two versions of an endpoint. */
export function compareEndpoints(
  base: CatalogueEntry,
  head: CatalogueEntry,
  calendar: Calendar,
): readonly Difference[] {
  const [was, is] = [base.endpoint, head.endpoint];
  return [
    ...compareSource(was, is),
    ...compareTiers(base, head),
    ...compareNames("method", was.methods, is.methods),
    ...compareParameters(was, is),
    ...comparePagination(was, is),
    ...compareColumns(base, head),
    ...compareFixedSort(was, is),
    ...compareNames("sortable-field", was.sortableFields, is.sortableFields),
    ...compareSunsets(was.deprecationDate, is.deprecationDate, calendar),
    ...compareSuccessors(was.successor, is.successor),
    ...compareDocumentation(base, head),
  ];
}

/** Path, model and relation. A model's relation bears its name: if both change, only the model is reported. */
function compareSource(base: Endpoint, head: Endpoint): readonly Difference[] {
  const moved: Difference[] =
    base.path === head.path ? [] : [{ kind: "path-moved", before: base.path, after: head.path }];
  const [was, is] = [relationText(base), relationText(head)];
  if (base.model !== head.model) {
    return [
      ...moved,
      { kind: "model-changed", before: `${base.model} (${was})`, after: `${head.model} (${is})` },
    ];
  }
  if (was === is) return moved;
  const [[schema, name], [newSchema, newName]] = [base.relation, head.relation];
  if (name === newName)
    return [...moved, { kind: "relation-changed", subject: "schema", before: schema, after: newSchema }];
  if (schema === newSchema)
    return [...moved, { kind: "relation-changed", subject: "name", before: name, after: newName }];
  return [...moved, { kind: "relation-changed", before: was, after: is }];
}

function relationText({ relation }: Endpoint): string {
  return relation.map((name) => JSON.stringify(name)).join(".");
}

function compareTiers(
  { endpoint: { tier: before } }: CatalogueEntry,
  head: CatalogueEntry,
): readonly Difference[] {
  const { tier: after } = head.endpoint;
  if (before === after) return [];
  const kind = TIERS.indexOf(after) > TIERS.indexOf(before) ? "tier-raised" : "tier-lowered";
  return [{ kind, before, after, details: tierDetails(head) }];
}

/** Says where an endpoint has the default tier. */
export function tierDetails({ facts }: CatalogueEntry): readonly string[] {
  return facts.hasTierTag ? [] : ["No tag of the model names a tier: the default tier applies."];
}

function compareNames(
  what: "method" | "sortable-field",
  base: readonly string[],
  head: readonly string[],
): readonly Difference[] {
  const removed = base.filter((name) => !head.includes(name));
  const added = head.filter((name) => !base.includes(name));
  return [
    ...removed.map((subject) => ({ kind: `${what}-removed`, subject }) as const),
    ...added.map((subject) => ({ kind: `${what}-added`, subject }) as const),
  ];
}

function comparePagination(
  { pagination: base }: Endpoint,
  { pagination: head }: Endpoint,
): readonly Difference[] {
  if (base === null) return head === null ? [] : [{ kind: "pagination-enabled", after: pagesText(head) }];
  if (head === null) return [{ kind: "pagination-disabled", before: pagesText(base) }];
  const [before, after] = [base.response, head.response];
  return [
    ...compareLimit("default", base.defaultLimit, head.defaultLimit),
    ...compareLimit("max", base.maxLimit, head.maxLimit),
    ...(before === after ? [] : [{ kind: "response-mode-changed", before, after } as const]),
  ];
}

function compareLimit(limit: "default" | "max", base: number, head: number): readonly Difference[] {
  if (base === head) return [];
  const kind = `${limit}-limit-${head < base ? "lowered" : "raised"}` as const;
  return [{ kind, before: String(base), after: String(head) }];
}

function pagesText({ defaultLimit, maxLimit, response }: NonNullable<Endpoint["pagination"]>): string {
  return `${String(defaultLimit)} rows, at most ${String(maxLimit)}, as ${response}`;
}

/** Keys added behind the old ones only decide ties: rows keep the order that consumers know. */
function compareFixedSort(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [was, is] = [sortKeys(base), sortKeys(head)];
  const isKept = was.every((key, i) => key === is[i]);
  if (isKept && was.length === is.length) return [];
  const kind = isKept ? "sort-extended" : "sort-changed";
  return [{ kind, before: was.join(", ") || "no order", after: is.join(", ") || "no order" }];
}

function sortKeys({ sort }: Endpoint): readonly string[] {
  return sort.map(([column, direction]) => `${column} ${direction}`);
}

function compareSunsets(
  before: string | null,
  after: string | null,
  calendar: Calendar,
): readonly Difference[] {
  if (before === after) return [];
  if (after === null) return before === null ? [] : [{ kind: "deprecation-lifted", before }];
  if (before !== null && after > before) return [{ kind: "sunset-put-off", before, after }];
  const was = before === null ? {} : { before };
  const days = Math.floor((Date.parse(after) - Date.parse(`${calendar.today}T00:00:00Z`)) / DAY_MS);
  if (days >= calendar.minimumNoticeDays)
    return [{ kind: before === null ? "endpoint-deprecated" : "sunset-brought-forward", ...was, after }];
  const notice =
    days < 0 ? "The date has passed" : days === 1 ? "1 day from now" : `${String(days)} days from now`;
  const details = [`${notice}; the minimum is ${String(calendar.minimumNoticeDays)} days.`];
  return [{ kind: "sunset-too-soon", ...was, after, details }];
}

const DAY_MS = 86_400_000;

function compareSuccessors(before: string | null, after: string | null): readonly Difference[] {
  if (before === after) return [];
  return [
    { kind: "successor-changed", ...(before !== null && { before }), ...(after !== null && { after }) },
  ];
}

/** Descriptions of the model, and of the columns and parameters that both revisions have. */
function compareDocumentation(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [was, is] = [base.documentation, head.documentation];
  const renamed = renamedParameters(base.endpoint, head.endpoint);
  const nameInHead = (name: string): string => renamed.get(name) ?? name;
  const columns = base.endpoint.columns.filter(({ name }) =>
    head.endpoint.columns.some((column) => column.name === name),
  );
  const parameters = base.endpoint.parameters.filter(({ name }) =>
    head.endpoint.parameters.some((parameter) => parameter.name === nameInHead(name)),
  );
  return [
    ...compareText(undefined, was.description, is.description),
    ...columns.flatMap(({ name }) =>
      compareText(`column ${name}`, was.columns.get(name), is.columns.get(name)),
    ),
    ...parameters.flatMap(({ name }) =>
      compareText(`parameter ${name}`, was.parameters.get(name), is.parameters.get(nameInHead(name))),
    ),
  ];
}

function compareText(subject: string | undefined, was = "", is = ""): readonly Difference[] {
  const [before, after] = [was.trim(), is.trim()];
  if (before === after) return [];
  return [
    {
      kind: "description-changed",
      ...(subject !== undefined && { subject }),
      ...(before !== "" && { before }),
      ...(after !== "" && { after }),
    },
  ];
}
