import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { messageOf, type Tier } from "@routewright/runtime/model";
import { type Environment, hashOf, Keyring, startService } from "@routewright/runtime/server";
import { DATA_DIR } from "../command.js";
import type { ReportProgress } from "../progress.js";
import { type EndpointTest, tierIn } from "./cases.js";
import { parseExactly } from "./exact-numbers.js";

/** What became of a test. */
export interface TestResult {
  readonly test: EndpointTest;
  /** Why it failed; none when it passed. */
  readonly failures: readonly string[];
  readonly milliseconds: number;
}

/** Runs tests one after the other against the generated folder, served in this process on the loopback interface. */
export async function runTests(
  tests: readonly EndpointTest[],
  environment: Environment,
  generated: string,
  progress: ReportProgress,
): Promise<readonly TestResult[]> {
  const keys = keysFor(tests);
  const owners = [...keys.values()].map(({ key, owner }): [string, typeof owner] => [hashOf(key), owner]);
  const service = await startService({
    environment: {
      ...environment,
      ...{
        host: "127.0.0.1",
        port: 0,
        logLevel: "silent",
        usageEnabled: false,
        redisUrl: null,
        keysFile: null,
        keysDatabaseUrl: null,
      },
      keys: new Keyring(new Map([...environment.keys.owners].concat(owners))),
      rateLimits: { tier0: UNLIMITED, tier1: UNLIMITED, tier2: UNLIMITED, tier3: UNLIMITED },
    },
    generated,
    dataDir: DATA_DIR,
  });
  try {
    const results: TestResult[] = [];
    for (const test of tests) {
      progress(results.length, tests.length);
      results.push(await runTest(test, service.url, keys.get(idOf(test))?.key));
    }
    return results;
  } finally {
    await service.stop();
  }
}

const UNLIMITED = 1_000_000;

/** A key for each tier and organization that tests ask as. */
function keysFor(tests: readonly EndpointTest[]) {
  const keys = new Map<string, { readonly key: string; readonly owner: ReturnType<typeof ownerOf> }>();
  for (const test of tests) {
    const tier = tierIn(test);
    if (tier === null || keys.has(idOf(test))) continue;
    const key = `sk_live_test_${randomBytes(16).toString("hex")}`;
    keys.set(idOf(test), { key, owner: ownerOf(key, tier, test.org ?? "") });
  }
  return keys;
}

function ownerOf(key: string, tier: Tier, org: string) {
  return { id: hashOf(key).slice(0, 12), user: "test", tier, org, expiresAt: null, allowed: null };
}

function idOf(test: EndpointTest): string {
  return JSON.stringify([tierIn(test), test.org]);
}

async function runTest(test: EndpointTest, url: string, own: string | undefined): Promise<TestResult> {
  const started = performance.now();
  const failures = await failuresOf(test, url, own).catch((error: unknown) => [
    `The request failed: ${messageOf(error)}`,
  ]);
  return { test, failures, milliseconds: performance.now() - started };
}

async function failuresOf(
  test: EndpointTest,
  url: string,
  own: string | undefined,
): Promise<readonly string[]> {
  const variable = test.key?.slice(1);
  const key = variable === undefined ? own : process.env[variable];
  if (variable !== undefined && key === undefined) return [`The variable ${variable} is not set.`];
  const response = await fetch(url + test.target, {
    method: test.method,
    headers: { ...test.headers, ...(key !== undefined && { "x-api-key": key }) },
    ...(test.method === "POST" && { body: JSON.stringify(test.body ?? {}) }),
  });
  const body = parsed(await response.text());
  return [
    ...statusFailures(test, response.status, body),
    ...Object.entries(test.expect.headers ?? {}).flatMap(([name, value]) =>
      differs(`header ${name}`, response.headers.get(name), value),
    ),
    ...bodyFailures(test, body),
  ];
}

function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

function statusFailures({ expect: { status = 200 } }: EndpointTest, found: number, body: unknown) {
  return found === status ? [] : [`Expected status ${String(status)}, got ${String(found)}: ${shown(body)}`];
}

function bodyFailures({ expect }: EndpointTest, body: unknown): readonly string[] {
  const { rows: all, contains, columns, count } = expect;
  const rows = rowsOf(body);
  const asksForRows = all !== undefined || columns !== undefined || count !== undefined;
  if (rows === null && asksForRows) return [`Expected rows, got ${shown(body)}`];
  const found = rows ?? [body as Row];
  return [
    ...(all === undefined ? [] : differs("rows", found, all)),
    ...(count === undefined ? [] : differs("count", found.length, count)),
    ...(contains === undefined || found.some((row) => holds(row, contains))
      ? []
      : [`Expected ${shown(contains)} in ${shown(body)}`]),
    ...(columns === undefined
      ? []
      : found.slice(0, 1).flatMap((row) => differs("columns", Object.keys(row), columns))),
  ];
}

type Row = Readonly<Record<string, unknown>>;

/** The rows of a list or an envelope; null for another answer. */
function rowsOf(body: unknown): readonly Row[] | null {
  if (Array.isArray(body)) return body as readonly Row[];
  const { items } = (body ?? {}) as { readonly items?: unknown };
  return Array.isArray(items) ? (items as readonly Row[]) : null;
}

function holds(row: Row, values: Row): boolean {
  return Object.entries(values).every(([name, value]) => isDeepStrictEqual(row[name], value));
}

function differs(what: string, found: unknown, expected: unknown): readonly string[] {
  if (isDeepStrictEqual(found, expected)) return [];
  return [`Expected ${what} ${shown(expected)}, got ${shown(found)}`];
}

/** Longest value in a message. */
const MAX_SHOWN = 500;

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
