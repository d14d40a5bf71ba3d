/**
 * Counts what changes between two raw dbt manifests, by kind: `node independent-count.js <base.json> <head.json>`.
 * Written from the specification alone and sharing nothing with generator/: each manifest is flattened into facts
 * (`path, kind of fact, name → value`), and the two sets of facts are compared. ClickHouse manifests only.
 */
import { readFileSync } from "node:fs";

const [, , baseFile, headFile] = process.argv;
const SYSTEM =
  "production view table incremental staging intermediate daily weekly monthly hourly latest in_ranges last_30d last_7d all_time".split(
    " ",
  );
const TIER = /^tier[0-3]$/;
const PAIRS = { "=": "string", ILIKE: "string", ">=": "date", "<=": "date", IN: "string_list" };

/** Path → what is published there. */
function endpoints(file) {
  const { nodes } = JSON.parse(readFileSync(file, "utf8"));
  const found = {};
  const ids = Object.keys(nodes).filter((id) => nodes[id].resource_type === "model");
  for (const id of ids.sort()) {
    const node = nodes[id];
    const tags = node.tags?.length ? node.tags : (node.config?.tags ?? []);
    if (!tags.includes("production") || !tags.some((tag) => /^api:/.test(tag))) continue;
    const path = pathFrom(tags);
    const meta = "api" in (node.config?.meta ?? {}) ? node.config.meta : (node.meta ?? {});
    const api = "api" in meta ? (meta.api ?? {}) : undefined;
    if (api?.exclude_from_api === true || path === null || found[path]) continue;
    if (api === undefined || isValid(api, node.columns ?? {})) found[path] = { node, tags, api };
  }
  return found;
}

function pathFrom(tags) {
  const after = (prefix) =>
    tags
      .find((tag) => tag.startsWith(prefix))
      ?.slice(prefix.length)
      .trim();
  const category =
    tags.find((tag) => !tag.includes(":") && !SYSTEM.includes(tag) && !TIER.test(tag)) ?? "general";
  const [grain, window] = [after("granularity:")?.toLowerCase(), after("window:")?.toLowerCase()];
  const parts = [category.toLowerCase(), after("api:"), grain, window === grain ? undefined : window];
  const given = parts.filter((part) => part !== undefined);
  return given.every((part) => /^[\w.-]{1,80}$/.test(part)) ? `/v1/${given.join("/")}` : null;
}

function isValid(api, declared) {
  const columns = Object.keys(declared);
  const shapeIn = (column) => shapeOf(declared[column]?.data_type)[1];
  const { parameters = [], require_any_of = [], sort = [], sortable_fields = [], pagination: page } = api;
  const names = parameters.map((parameter) => parameter.name);
  const isCount = (n) => Number.isInteger(n) && n > 0 && n < 2 ** 31;
  const isBoolean = (value) => value === undefined || typeof value === "boolean";
  const isGood = (parameter) =>
    Boolean(parameter.name) &&
    columns.includes(parameter.column) &&
    PAIRS[parameter.operator] === parameter.type &&
    parameter.type !== undefined &&
    (parameter.type !== "date" ||
      ["date", "time", "text", "any"].includes(shapeIn(parameter.column).split(" ")[0])) &&
    ["string", "undefined"].includes(typeof parameter.description) &&
    (parameter.case === undefined ||
      (["lower", "upper"].includes(parameter.case) && parameter.type !== "date")) &&
    (parameter.max_items === undefined || (isCount(parameter.max_items) && parameter.type === "string_list"));
  const reserved = [
    ...(page?.enabled ? ["limit", "offset"] : []),
    ...(sortable_fields.length ? ["sort_by", "sort_direction"] : []),
  ];
  return (
    [parameters, require_any_of, sort, sortable_fields].every(Array.isArray) &&
    isBoolean(api.allow_unfiltered) &&
    isBoolean(api.exclude_from_api) &&
    (api.methods === undefined ||
      (api.methods.length > 0 && api.methods.every((method) => /^(GET|POST)$/.test(method)))) &&
    parameters.every(isGood) &&
    new Set(names).size === names.length &&
    !names.some((name) => reserved.includes(name)) &&
    require_any_of.every((name) => names.includes(name)) &&
    sort.every((key) => columns.includes(key.column) && /^(ASC|DESC)$/.test(key.direction)) &&
    sortable_fields.every((name) => columns.includes(name)) &&
    (api.allow_unfiltered === true || names.length > 0) &&
    (page === undefined ||
      (typeof page.enabled === "boolean" &&
        (page.response === undefined || /^(list|envelope)$/.test(page.response)) &&
        (!page.enabled ||
          (isCount(page.default_limit) && isCount(page.max_limit) && page.default_limit <= page.max_limit))))
  );
}

/** A column's type as [may be null, its shape]; shapes of one family differ in width. */
function shapeOf(type) {
  let text = (type ?? "").trim();
  let isNull = false;
  for (let match; (match = /^(Nullable|LowCardinality)\((.*)\)$/.exec(text)); text = match[2])
    isNull ||= match[1] === "Nullable";
  const kinds = [
    [/^(U?)Int(\d+)$/, ([, sign, bits]) => `int ${sign ? 0 : -1} ${bits}`],
    // It can hold NaN, which is served as null.
    [/^Float(\d+)$/, ([, bits]) => ((isNull = true), `float ${bits}`)],
    [/^String$/, () => "text"],
    [/^Bool$/, () => "bool"],
    [/^UUID$/, () => "uuid"],
    [/^Date(32)?$/, () => "date"],
    [/^DateTime(64)?(?:\((\d?).*\))?$/, ([, wide, digits]) => `time ${wide ? digits || 3 : 0}`],
    [
      /^(Array|Map|Tuple)\((.*)\)$/,
      ([, outer, inner]) =>
        `${outer} ${inner.replace(/LowCardinality\((\w+)\)/g, "$1").replace(/DateTime64\([^)]*\)/g, "DateTime")}`,
    ],
  ];
  for (const [pattern, name] of kinds) {
    const shape = pattern.test(text) && name(pattern.exec(text));
    if (shape) return [isNull, shape];
  }
  return [null, "any"];
}

/** What somebody who expects values of the shape `was` meets in `is`. */
function columnKind(was, is) {
  if (was === is) return null;
  if (was === "any") return "narrowed";
  const [[a, sign, bits], [b, isSign, isBits]] = [was, is].map((shape) => shape.split(" "));
  if (a === "float" && b === "float") return Number(isSign) < Number(sign) ? "number-changed" : "widened";
  if (a === "float" && b === "int") return "scale-lowered";
  if (a === "time" && b === "time") return Number(isSign) < Number(sign) ? "scale-lowered" : "widened";
  const isWide = (size) => Number(size) > 53;
  if (a === "int" && b === "int") {
    const holds = (outer, outerBits, inner, innerBits) =>
      outer === inner
        ? Number(innerBits) <= Number(outerBits)
        : outer === "-1" && Number(innerBits) < Number(outerBits);
    const isNarrower = holds(sign, bits, isSign, isBits);
    if (!isNarrower && !holds(isSign, isBits, sign, bits)) return "retyped";
    return isWide(bits) !== isWide(isBits) ? "digits-changed" : isNarrower ? "narrowed" : "widened";
  }
  return a === "text" && ["uuid", "date", "time"].includes(b) ? "text-changed" : "retyped";
}

/** Whether a filter on a column of shape `is` takes all values that it took on one of shape `was`. */
function takesSame(was, is) {
  const [[a], [b]] = [was, is].map((shape) => shape.split(" "));
  if (["any", "text", "Array", "Map", "Tuple"].includes(b) || a === "any" || a === b) {
    return true;
  }
  return a === "int" && b === "float";
}

const [base, head] = [endpoints(baseFile), endpoints(headFile)];
const counts = {};
const count = (kind, n = 1) => n > 0 && (counts[kind] = (counts[kind] ?? 0) + n);
const lost = (a, b) => a.filter((item) => !b.includes(item));

const gone = lost(Object.keys(base), Object.keys(head));
const fresh = lost(Object.keys(head), Object.keys(base));
const pairs = Object.keys(base)
  .filter((path) => head[path])
  .map((path) => [base[path], head[path]]);
for (const path of [...gone]) {
  const twin = fresh.find((other) => head[other].node.unique_id === base[path].node.unique_id);
  if (!twin) continue;
  gone.splice(gone.indexOf(path), 1);
  fresh.splice(fresh.indexOf(twin), 1);
  pairs.push([base[path], head[twin]]);
  count("path-moved");
}
count("endpoint-removed", gone.length);
count("endpoint-added", fresh.length);

const tier = ({ tags }) => Number((tags.find((tag) => TIER.test(tag)) ?? "tier0").slice(4));
const relation = ({ node }) => `${node.schema} ${node.alias || node.name}`;
/** What of the base has the rows that an endpoint of the head serves, except `own`. */
const sourcesOf = (is, own) =>
  Object.values(base).filter(
    (one) => one !== own && (one.node.unique_id === is.node.unique_id || relation(one) === relation(is)),
  );
for (const path of fresh) {
  if (sourcesOf(head[path]).some((one) => tier(one) > tier(head[path]))) count("rows-exposed");
}

for (const [was, is] of pairs) {
  if (tier(is) !== tier(was)) count(tier(is) > tier(was) ? "tier-raised" : "tier-lowered");
  if (was.node.unique_id !== is.node.unique_id || relation(was) !== relation(is)) {
    const sources = sourcesOf(is, was);
    if (sources.some((one) => tier(one) > tier(is))) count("rows-exposed");
    else if (sources.length > 0 && relation(was) !== relation(is)) count("rows-exchanged");
  }
  if (was.node.name !== is.node.name) count("model-changed");
  else if (relation(was) !== relation(is)) count("relation-changed");
  const columns = [was.node.columns ?? {}, is.node.columns ?? {}];
  countApi(
    was.api ?? { allow_unfiltered: true },
    is.api ?? { allow_unfiltered: true },
    columns,
    tier(is) === 0,
  );
  countColumns(was.node.columns ?? {}, is.node.columns ?? {});
  if ((was.node.description ?? "").trim() !== (is.node.description ?? "").trim())
    count("description-changed");
}

function countApi(was, is, columns, isPublic) {
  const post = (api) => (api.methods ?? []).includes("POST");
  if (post(was) !== post(is)) count(post(was) ? "method-removed" : "method-added");
  const renamed = countParameters(was.parameters ?? [], is.parameters ?? [], ...columns);
  const [needWas, needIs] = [
    (was.require_any_of ?? []).map((name) => renamed[name] ?? name),
    is.require_any_of ?? [],
  ];
  const [freeWas, freeIs] = [was.allow_unfiltered === true, is.allow_unfiltered === true];
  if (freeWas && !freeIs && needWas.length === 0) count("unfiltered-refused");
  if (openness(is, columns[1]) > openness(was, columns[0]))
    count(isPublic ? "unfiltered-allowed-at-tier0" : "unfiltered-allowed");
  const accepted = needWas.length
    ? needWas
    : freeWas
      ? null
      : (was.parameters ?? []).map(({ name }) => renamed[name] ?? name);
  if (needIs.length && (accepted === null || lost(accepted, needIs).length))
    count(needWas.length ? "require-any-of-narrowed" : "require-any-of-added");
  else if (needWas.length && (needIs.length === 0 || lost(needIs, needWas).length))
    count("require-any-of-loosened");
  countPages(was.pagination?.enabled ? was.pagination : null, is.pagination?.enabled ? is.pagination : null);
  const keys = (api) => (api.sort ?? []).map(({ column, direction }) => `${column} ${direction}`);
  const [order, now] = [keys(was).join(), keys(is).join()];
  if (order !== now)
    count(keys(is).slice(0, keys(was).length).join() === order ? "sort-extended" : "sort-changed");
  const fields = (api) => [...new Set(api.sortable_fields ?? [])];
  count("sortable-field-removed", lost(fields(was), fields(is)).length);
  count("sortable-field-added", lost(fields(is), fields(was)).length);
}

/** 2: all rows without a filter; 1: all rows with a filter that excludes none; 0: a value has to be known. */
function openness({ allow_unfiltered, require_any_of = [], parameters = [] }, columns) {
  if (allow_unfiltered === true && require_any_of.length === 0) return 2;
  const enough = parameters.filter(
    ({ name }) => require_any_of.length === 0 || require_any_of.includes(name),
  );
  const listed = ({ column }) => /Bool|Enum/.test(columns[column]?.data_type ?? "");
  return enough.some((one) => !["=", "IN"].includes(one.operator) || listed(one)) ? 1 : 0;
}

/** Returns old name → new name. */
function countParameters(was, is, columnsWas, columnsIs) {
  const renamed = {};
  const isNew = is.filter((one) => !was.some(({ name }) => name === one.name));
  for (const one of was) {
    let now = is.find(({ name }) => name === one.name);
    if (!now) {
      const i = isNew.findIndex(({ column, operator }) => column === one.column && operator === one.operator);
      if (i === -1) {
        count("parameter-removed");
        continue;
      }
      [now] = isNew.splice(i, 1);
      renamed[one.name] = now.name;
      count("parameter-renamed");
    }
    if (now.column !== one.column) count("parameter-column-changed");
    if ((now.description ?? "").trim() !== (one.description ?? "").trim()) count("description-changed");
    if (one.operator === "=" && now.operator === "IN") count("parameter-takes-list");
    else if (now.operator !== one.operator) count("parameter-operator-changed");
    const types = [columnsWas, columnsIs].map((columns) => columns[one.column]?.data_type);
    const isValued = now.column === one.column && ["=", "IN"].includes(now.operator);
    if (isValued && types[0] && types[1] && !takesSame(...types.map((type) => shapeOf(type)[1])))
      count("parameter-values-narrowed");
    if (now.operator === one.operator) {
      if (now.case !== one.case && one.operator !== "ILIKE")
        count(now.case ? "parameter-case-added" : "parameter-case-removed");
      const [most, mostNow] = [one.max_items ?? 1e12, now.max_items ?? 1e12];
      if (most !== mostNow) count(mostNow < most ? "max-items-lowered" : "max-items-raised");
    }
  }
  count("parameter-added", isNew.length);
  return renamed;
}

function countPages(was, is) {
  if (!was || !is) return void (was !== is && count(is ? "pagination-enabled" : "pagination-disabled"));
  for (const limit of ["default", "max"]) {
    const change = is[`${limit}_limit`] - was[`${limit}_limit`];
    if (change !== 0) count(`${limit}-limit-${change < 0 ? "lowered" : "raised"}`);
  }
  if ((was.response ?? "list") !== (is.response ?? "list")) count("response-mode-changed");
}

function countColumns(was, is) {
  const [none, noneNow] = [was, is].map((columns) => Object.keys(columns).length === 0);
  if (none !== noneNow) return void count(none ? "columns-declared" : "columns-undeclared");
  const kept = Object.keys(was).filter((name) => name in is);
  if (kept.join() !== Object.keys(is).slice(0, kept.length).join()) count("column-order-changed");
  count("column-removed", lost(Object.keys(was), Object.keys(is)).length);
  count("column-added", lost(Object.keys(is), Object.keys(was)).length);
  for (const name of Object.keys(was).filter((key) => key in is)) {
    const [[nullWas, shapeWas], [nullIs, shapeIs]] = [
      shapeOf(was[name].data_type),
      shapeOf(is[name].data_type),
    ];
    const kind = columnKind(shapeWas, shapeIs);
    if (kind) count(`column-${kind}`);
    if (nullWas === false && nullIs === true) count("column-made-nullable");
    if (nullWas === true && nullIs === false) count("column-made-non-null");
    if ((was[name].description ?? "").trim() !== (is[name].description ?? "").trim())
      count("description-changed");
  }
}

console.log(JSON.stringify(counts));
