import type { DataRoute, Exchange } from "../../../core/handler/exchange.js";
import { queryOf } from "../../../core/http/route.js";
import type { Reply } from "../../../core/http/send.js";
import type { Overview, SumOfUse } from "../../../pages/account/overview.js";
import type { Statements } from "../../../postgres/own-tables.js";
import { type AccountPage, pageRoute, unknown, type UseOfKey, visitorOf } from "./account.js";
import { membershipsOf } from "./members.js";

const DAYS = 30;
const DAY_MS = 86_400_000;
/** Lines of a table on the page; the CSV has all. */
const SHOWN_LINES = 20;

/** Names of the keys of an organization by their ids, revoked ones too; the last 1,000. */
export async function keysOf(tables: Statements, organization: string): Promise<ReadonlyMap<string, string>> {
  const keys = await tables.run<{ readonly id: string; readonly name: string }>([KEYS], [organization]);
  return new Map(keys.map(({ id, name }) => [id, name]));
}

const KEYS = `SELECT id, user_name AS name FROM routewright_keys.keys WHERE organization = $1 ORDER BY created_at DESC LIMIT 1000`;

export async function shownUsage(
  page: AccountPage,
  keys: ReadonlyMap<string, string>,
): Promise<Overview["usage"]> {
  const lines = await usageIn(page, keys);
  if (lines === null) return null;
  const now = Date.now();
  const byDay = sumsBy(lines, ({ day }) => day);
  const days = Array.from({ length: DAYS }, (_, i) => {
    const day = new Date(now - (DAYS - 1 - i) * DAY_MS).toISOString().slice(0, 10);
    return { day, requests: byDay.get(day)?.requests ?? 0 };
  });
  const sorted = (sums: ReadonlyMap<string, SumOfUse>) =>
    [...sums.values()].sort((a, b) => b.requests - a.requests).slice(0, SHOWN_LINES);
  return {
    days,
    byEndpoint: sorted(sumsBy(lines, ({ route }) => (route === "none" ? "no endpoint" : route))),
    byKey: sorted(sumsBy(lines, ({ key }) => keys.get(key) || key)),
  };
}

async function usageIn(
  page: AccountPage,
  keys: ReadonlyMap<string, string>,
): Promise<readonly UseOfKey[] | null> {
  return (await page.usageOf([...keys.keys()])) as readonly UseOfKey[] | null;
}

function sumsBy(
  lines: readonly UseOfKey[],
  nameOf: (line: UseOfKey) => string,
): ReadonlyMap<string, SumOfUse> {
  const sums = new Map<string, SumOfUse>();
  for (const line of lines) {
    const name = nameOf(line);
    const { requests, refused, errors, rows } = sums.get(name) ?? {
      requests: 0,
      refused: 0,
      errors: 0,
      rows: 0,
    };
    sums.set(name, {
      name,
      requests: requests + line.requests,
      refused: refused + line.refused,
      errors: errors + line.errors,
      rows: rows + line.rows,
    });
  }
  return sums;
}

/** Usage as a file. */
export function usageRoute(page: AccountPage): DataRoute {
  return pageRoute(page, "GET", "/usage.csv", (exchange) => usageFile(page, exchange));
}

async function usageFile(page: AccountPage, exchange: Exchange): Promise<Reply> {
  const asked = queryOf(exchange.request).get("organization");
  const keys = await page.tables.inTransaction(async (tables) => {
    const visitor = await visitorOf(page, tables, exchange);
    const memberships = visitor === null ? [] : await membershipsOf(tables, visitor.person.id);
    return memberships.some(({ organization }) => organization === asked)
      ? keysOf(tables, asked ?? "")
      : null;
  });
  const lines = keys === null ? null : await usageIn(page, keys);
  if (keys === null || lines === null) return unknown(page);
  const rows = lines.map(({ day, route, key, ...sums }) => {
    const { requests, refused, errors, rows: sent, bytes } = sums;
    return [day, route, key, keys.get(key) ?? "", requests, refused, errors, sent, bytes].map(cell).join(",");
  });
  const head = "day,endpoint,key,name,requests,refused,errors,rows,bytes";
  return {
    status: 200,
    body: `${[head, ...rows].join("\r\n")}\r\n`,
    headers: {
      "Content-Type": "text/csv; charset=utf-8",
      "Content-Disposition": 'attachment; filename="usage.csv"',
    },
  };
}

/** A name that a spreadsheet would run as a formula gets an apostrophe. */
function cell(value: string | number): string {
  const text = String(value);
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
