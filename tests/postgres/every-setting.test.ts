/**
 * Views that depend on settings, under roles with settings of their own, against what the role itself finds. All
 * settings together in each of their values, 60 random sets of settings, and every setting by itself, on two servers; 333 sets on one took 33 minutes on two busy cores:
 * `EVERY_SETTING=1 npx vitest run --config tests/vitest.config.ts tests/postgres/every-setting.test.ts --project postgres`.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RoleSettings, ownRole } from "../support/database-roles.js";
import { ownDatabase, queryAt } from "../support/database.js";
import { post, sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { hasOlderPostgres, startOlderPostgres } from "../support/older-postgres.js";
import { KEYS, generateInto, ownFolder, startFolder } from "../support/service.js";
import { ASKED, type Found, type FoundRow, isCompared, operatorsOf, roleRows } from "./role-rows.js";
import { TABLES, VIEW_STATEMENTS, VIEWS } from "./setting-views.js";
import { type Setting, userSettings } from "./user-settings.js";

const isFull = process.env["EVERY_SETTING"] !== undefined;

/** Settings that CI sets together: those on which texts and days depend. */
const IN_CI = /^(DateStyle|TimeZone|IntervalStyle|extra_float_digits|bytea_output|quote_all_identifiers)$/;

/** Views that are asked at once. */
const AT_ONCE = 8;
/** Sets of a full run that sort and filter all views between them. Each setting is in more sets than these. */
const TURNS = 4;
const SCHEMA = "seen";
const PAGES = { enabled: true, default_limit: 7, max_limit: 100, cursor: true };

/** The views of a database, and the folder that serves them. */
async function setUp(url: string) {
  await queryAt(url, `CREATE SCHEMA @; ${TABLES} ${VIEW_STATEMENTS}`.replace(/@(?=[.;])/g, SCHEMA));
  const columns = await queryAt(
    url,
    `SELECT table_name AS view, format_type(atttypid, NULL) AS type FROM information_schema.views
     JOIN pg_catalog.pg_attribute ON attrelid = ('${SCHEMA}.' || table_name)::regclass AND attname = 'v' WHERE table_schema = '${SCHEMA}'`,
  );
  const types = new Map(columns.map(({ view, type }) => [String(view), String(type)]));
  const folder = ownFolder();
  generateInto(folder, manifestOf(VIEWS.map((view) => modelOf(view, types.get(view) ?? ""))));
  return { url, types, folder };
}

function modelOf(view: string, type: string) {
  return {
    ...{ name: view, schema: SCHEMA, tags: ["production", "views", `api:${view}`] },
    columns: { id: "integer", v: type },
    api: {
      ...{ methods: ["GET", "POST"], allow_unfiltered: true, pagination: PAGES },
      sort: [{ column: "id", direction: "ASC" }],
      sortable_fields: isCompared(type) ? ["id", "v"] : ["id"],
      parameters: type === "text" ? [{ name: "like", column: "v", operator: "ILIKE", type: "string" }] : [],
    },
    key: "id",
    routewright: isCompared(type) ? { filters: ["v"] } : {},
  };
}

/** JSON as PostgreSQL writes it, in the forms of the API: times end with `Z`. */
function inForms(value: unknown, isText: boolean): unknown {
  if (isText || value === null || typeof value === "number") return value;
  if (typeof value === "string") return value.replace(/^(\d{4}-\d\d-\d\dT[\d:.]+?)(\+00:00)?$/, "$1Z");
  if (Array.isArray(value)) return value.map((item) => inForms(item, false));
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inForms(item, false)]));
}

const cellOf = (value: unknown): string =>
  value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** Records of CSV whose cells may be quoted. */
function cellsIn(csv: string): readonly string[][] {
  const cells = [...csv.matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(,|\r\n|$)/g)];
  const records: string[][] = [[]];
  for (const [, cell = "", end] of cells) {
    records.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === "\r\n") records.push([]);
  }
  return records.slice(1).filter((record) => record.length === 2);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly total: unknown;
  readonly next: string | null;
}

async function get(base: string, target: string, headers = {}): Promise<Answer> {
  const reply = await sendRequest(base, target, { key: KEYS.tier3, headers });
  const [, next = null] = /<([^>]+)>; rel="next"/.exec(String(reply.headers["link"] ?? "")) ?? [];
  return {
    ...{ status: reply.status, text: reply.text, total: reply.headers["x-total-count"] },
    next: next?.replace(/^https?:\/\/[^/]+/, "") ?? null,
  };
}

async function walk(base: string, first: string): Promise<unknown> {
  const ids: number[] = [];
  for (let next: string | null = first; next !== null;) {
    const answer: Answer = await get(base, next);
    if (answer.status !== 200) return answer.text;
    ids.push(...(JSON.parse(answer.text) as readonly FoundRow[]).map(({ id }) => id));
    next = answer.next;
  }
  return ids;
}

/** The differences between what the API answers for a view and what the role finds. */
async function differences(
  base: string,
  found: Found,
  type: string,
  isSorted: boolean,
): Promise<readonly unknown[]> {
  const path = `/v1/views/${found.view}`;
  const whole = await get(base, `${path}?limit=100`, { Prefer: "count=exact" });
  if (found.rows === null) return whole.status >= 500 ? [] : [[found.view, "fails", whole]];
  const rows = found.rows.map(({ id, v }) => ({ id, v: inForms(v, type === "text" || type === "jsonb") }));
  const asked: [what: string, got: unknown, wanted: unknown][] = [
    ["rows", whole.status === 200 ? JSON.parse(whole.text) : whole.text, rows],
    ["count", whole.total, String(rows.length)],
  ];
  const csv = await get(base, `${path}.csv?limit=100`);
  const cells = cellsIn(csv.text).map(([id, v = ""], i) => [
    id,
    typeof rows[i]?.v === "object" && v !== ""
      ? JSON.stringify(JSON.parse(v))
      : typeof rows[i]?.v === "number"
        ? String(Number(v))
        : v,
  ]);
  asked.push(["csv", cells, rows.map(({ id, v }) => [String(id), cellOf(v)])]);
  if (isSorted && found.sorted)
    asked.push(["walk", await walk(base, `${path}?sort_by=v&limit=7`), found.sorted]);
  if (isSorted && found.filtered) asked.push(...(await filtered(base, path, type, { ...found, rows })));
  if (type === "text") asked.push(["like", await walk(base, `${path}?like=1`), found.like]);
  return asked
    .filter(([, got, wanted]) => JSON.stringify(got) !== JSON.stringify(wanted))
    .map(([what, got, wanted]) => [found.view, type, what, firstDifference(got, wanted)]);
}

/** What each operator finds by the values that the API shows. */
async function filtered(base: string, path: string, type: string, { rows, filtered }: Found) {
  const values = ASKED.map((asked) => rows?.find(({ id }) => id === asked)?.v ?? null);
  // The API trims texts of filters, and bounds their length.
  const isAsked = values.every(
    (value) => value !== null && String(value) === String(value).trim() && String(value).length <= 1000,
  );
  const asked: [what: string, got: unknown, wanted: unknown][] = [];
  for (const operator of isAsked ? operatorsOf(type) : []) {
    const body = { v: { [operator]: operator === "in" ? values : values[0] }, limit: 100 };
    const { status, text } = await post(base, path, body, { key: KEYS.tier3 });
    const got = status === 200 ? (JSON.parse(text) as readonly FoundRow[]).map(({ id }) => id) : text;
    asked.push([`v[${operator}]=${String(values)}`, got, filtered?.[operator]]);
  }
  return asked;
}

function firstDifference(got: unknown, wanted: unknown): unknown {
  if (!Array.isArray(got) || !Array.isArray(wanted)) return { got, wanted };
  const at = wanted.findIndex((item, i) => JSON.stringify(item) !== JSON.stringify(got[i]));
  return { got: got[at] as unknown, wanted: wanted[at] as unknown, lengths: [got.length, wanted.length] };
}

/** The sets of settings to try: none, then each setting in its first other value, in its second one and so on. */
function setsOf(settings: readonly (readonly Setting[])[]): readonly RoleSettings[] {
  const most = Math.max(...settings.map((values) => values.length));
  const tried = isFull ? settings : settings.filter(([[name] = [""]]) => IN_CI.test(name));
  const together = Array.from({ length: isFull ? most : 1 }, (_, i) =>
    Object.fromEntries(tried.flatMap((values) => values.slice(i % values.length).slice(0, 1))),
  );
  if (!isFull) return together;
  const one = fc.constantFrom(...settings).chain((values) => fc.constantFrom(...values));
  const some = fc.uniqueArray(one, {
    ...{ minLength: 10, maxLength: 40, size: "max" as const },
    selector: ([name]) => name,
  });
  const random = fc.sample(some, { numRuns: 60, seed: 50 });
  return [
    {},
    ...together.flatMap((set) => Array.from({ length: TURNS }, () => set)),
    ...[...random, ...settings.flat().map((setting) => [setting])].map((chosen) =>
      Object.fromEntries(chosen),
    ),
  ];
}

const servers: readonly (readonly [name: string, url: () => Promise<string>])[] = [
  ["the newest PostgreSQL", () => ownDatabase()],
  ...(hasOlderPostgres && isFull ? [["an older PostgreSQL", startOlderPostgres] as const] : []),
];

/** Each server with the views in it, a role that reads them, and the sets of settings that the role gets. */
const worlds = await Promise.all(
  servers.map(async ([name, start]) => {
    const world = await setUp(await start());
    const role = await ownRole(SCHEMA, {}, world.url);
    return { ...world, name, role, sets: setsOf(await userSettings(world.url)) };
  }),
);

describe.each(worlds)(
  "a view of $name under a role with settings of its own",
  ({ role, folder, types, sets }) => {
    it.each(sets.map((settings, turn) => [settings, turn] as const))(
      "has the rows that the role finds: in JSON and CSV, counted, filtered, sorted and by cursor: %j",
      async (settings, turn) => {
        await role.set(settings);
        const service = await startFolder(folder, { DATABASE_URL: role.url, RATE_LIMITS: "tier3=10000000" });
        const views = await roleRows(role.url, SCHEMA, types);
        const found: unknown[] = [];
        for (let i = 0; i < views.length; i += AT_ONCE) {
          const some = views.slice(i, i + AT_ONCE);
          const different = await Promise.all(
            some.map((view, n) =>
              differences(
                service.url,
                view,
                types.get(view.view) ?? "",
                (i + n + turn) % (isFull ? TURNS : 1) === 0,
              ),
            ),
          );
          found.push(...different.flat());
        }
        expect(found).toEqual([]);
        expect(views.filter(({ rows }) => rows?.length === 19).length).toBeGreaterThan(60);
      },
    );
  },
);
