import { type Endpoint, ERRORS, type ErrorCode, type Method } from "@routewright/runtime/model";

/** What a caller can ask for, as far as refusals differ. */
export type Operation =
  | { readonly kind: "data"; readonly endpoint: Endpoint; readonly method: Method }
  | { readonly kind: "refresh" }
  | { readonly kind: "metrics" }
  | { readonly kind: "open" };

export type Status = (typeof ERRORS)[ErrorCode]["status"];

/** The rows of the error table that an operation can answer with one status. */
export interface RefusalSet {
  readonly status: Status;
  /** Name in `components.responses`, `BadRequestGetPage`; it tells the rows, so that equal sets share a component. */
  readonly name: string;
  readonly codes: readonly ErrorCode[];
}

/** The refusals of an operation by status, lowest first (data-api.md §7). */
export function refusalsOf(operation: Operation): readonly RefusalSet[] {
  const holding = CONDITION_NAMES.filter((condition) => CONDITIONS[condition](operation));
  const key = holding.join();
  const sets = known.get(key) ?? refusalSets(new Set(holding));
  known.set(key, sets);
  return sets;
}

/** Few sets of facts are met by hundreds of operations. */
const known = new Map<string, readonly RefusalSet[]>();

function refusalSets(holding: ReadonlySet<Condition>): readonly RefusalSet[] {
  return STATUSES.map((row) => refusalSet(row, holding)).filter((set) => set.codes.length > 0);
}

function refusalSet({ status, possible, isTelling }: StatusRow, holding: ReadonlySet<Condition>): RefusalSet {
  const codes = possible.filter((code) => holding.has(APPLIES[code]));
  const labels = new Set(
    codes.map((code) => APPLIES[code]).filter((label) => isTelling && !UNTOLD.has(label)),
  );
  return { status, name: [TITLES[status], ...[...labels].map(capitalised)].join(""), codes };
}

/** When each row of the table can be met. A row that is added there does not compile until it is placed here. */
const APPLIES: Readonly<Record<ErrorCode, Condition>> = {
  missingKey: "tiered",
  unknownKey: "always",
  tierTooLow: "tiered",
  metricsForbidden: "metrics",
  unsupportedQuery: "get",
  unsupportedBody: "post",
  filterRequired: "filter",
  anyOfRequired: "anyOf",
  legacyParameters: "legacy",
  aboveMaximum: "page",
  belowMinimum: "page",
  notInteger: "page",
  tooManyValues: "maxItems",
  notSingle: "declared",
  notDate: "date",
  nulCharacter: "parameters",
  notSortable: "unsorted",
  sortField: "sort",
  sortDirectionAlone: "sort",
  sortDirection: "sort",
  queryOnPost: "post",
  bodyNotJson: "post",
  bodyNotObject: "post",
  bodyTooLarge: "post",
  notFound: "data",
  methodNotAllowed: "post",
  rateLimited: "limited",
  queryFailed: "data",
  unexpected: "always",
  overloaded: "data",
};

/**
 * Facts about an operation on which refusals depend. A path that is described may be gone (404) or may have lost its
 * POST (405) by the time it is called: endpoints come and go with the manifest (data-api.md §9). The system
 * endpoints that are open never answer 429 (decisions.md §A).
 */
const CONDITIONS = {
  always: () => true,
  metrics: ({ kind }) => kind === "metrics",
  data: data(() => true),
  limited: ({ kind }) => kind === "data" || kind === "refresh",
  tiered: (operation) => operation.kind === "refresh" || isTiered(operation),
  legacy: data(({ legacy }) => legacy),
  declared: data(({ legacy }) => !legacy),
  get: data(({ legacy }, method) => !legacy && method === "GET"),
  post: data((_, method) => method === "POST"),
  filter: data(({ allowUnfiltered, legacy }) => !allowUnfiltered && !legacy),
  anyOf: data(({ requireAnyOf }) => requireAnyOf.length > 0),
  page: data(({ pagination }) => pagination !== null),
  date: data(({ parameters }) => parameters.some(({ type }) => type === "date")),
  maxItems: data(({ parameters }) => parameters.some((one) => one.type === "string_list" && one.maxItems)),
  parameters: data(({ parameters }) => parameters.length > 0),
  sort: data(({ sortableFields }) => sortableFields.length > 0),
  unsorted: data(({ sortableFields, legacy }) => sortableFields.length === 0 && !legacy),
} as const satisfies Record<string, (operation: Operation) => boolean>;

type Condition = keyof typeof CONDITIONS;
const CONDITION_NAMES = Object.keys(CONDITIONS) as readonly Condition[];

/** Conditions that names leave out: they hold always, or whenever another one does not. */
const UNTOLD: ReadonlySet<Condition> = new Set(["always", "declared", "unsorted"]);

function data(holds: (endpoint: Endpoint, method: Method) => unknown): (operation: Operation) => boolean {
  return (operation) => operation.kind === "data" && Boolean(holds(operation.endpoint, operation.method));
}

function isTiered(operation: Operation): boolean {
  return operation.kind === "data" && operation.endpoint.tier !== "tier0";
}

const CODES = Object.keys(ERRORS) as readonly ErrorCode[];

const TITLES: Readonly<Record<Status, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "ContentTooLarge",
  429: "TooManyRequests",
  500: "InternalServerError",
  503: "ServiceUnavailable",
};

interface StatusRow {
  readonly status: Status;
  readonly possible: readonly ErrorCode[];
  /** Whether the name has to tell which of the possible codes there are. */
  readonly isTelling: boolean;
}

const STATUSES: readonly StatusRow[] = [...new Set(CODES.map((code) => ERRORS[code].status))]
  .sort((a, b) => a - b)
  .map((status) => {
    const possible = CODES.filter((code) => ERRORS[code].status === status);
    return { status, possible, isTelling: new Set(possible.map((code) => APPLIES[code])).size > 1 };
  });

function capitalised(label: string): string {
  return label.charAt(0).toUpperCase() + label.slice(1);
}
