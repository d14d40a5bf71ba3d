/** Random sequences of what operators do, much of it at once and at two servers of one database, beside a model of keys and figures. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { queryAt } from "../../support/database.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { seeded } from "../../metrics/random-requests.js";
import { startFolder } from "../../support/service.js";
import { type Json, OPERATOR, ownOperated, SOON } from "./operated.js";

/** `OPERATOR_STEPS=2000 npx vitest run …` takes so many steps, `OPERATOR_SEED` others. */
const STEPS = Number(process.env["OPERATOR_STEPS"] ?? 60);
const SEED = Number(process.env["OPERATOR_SEED"] ?? 1);

const { folder, database, service } = await ownOperated();
const API_KEYS = JSON.stringify({ [OPERATOR]: { tier: "tier3", user: "ops", allowed: ["system"] } });
const second = await startFolder(folder, {
  KEYS_DATABASE_URL: database,
  RATE_LIMITS: "tier0=1000000",
  API_KEYS,
});
const urls = [service.url, second.url];

const random = seeded(SEED);
const below = (n: number): number => Math.floor(random() * n);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;

/** Texts as people, and others, send them. */
const TEXTS = [
  "Ann",
  "C:\\udata\\u0000",
  "\u{1f984}\u202e",
  "'; DROP TABLE keys; --",
  "é̀",
  "{{x}}",
  "a".repeat(100),
];
const FIGURES = ["requestsPerMinute", "requests", "rows", "bytes", "members"] as const;
/** Keys that an organization of the model may have. */
const MOST_KEYS = 8;

interface Organization {
  id: string;
  /** What a figure may be: of several that were sent at once, one. */
  readonly own: Map<string, Set<number | null>>;
}
interface Key {
  readonly id: string;
  readonly key: string;
  isLive: boolean;
}

const organizations: Organization[] = [];
const keys: Key[] = [];
const faults: unknown[] = [];
let sent = 0;
let names = 0;

async function send(method: string, path: string, body?: unknown, idempotency?: string) {
  sent++;
  const headers = idempotency === undefined ? {} : { "idempotency-key": idempotency };
  const options = { method, key: OPERATOR, headers, ...(body !== undefined && { body }) };
  const url = pick(urls);
  const ask = () => sendRequest(url, `/v1/system${path}`, options);
  let reply = await ask();
  // A machine stood still for longer than keys are waited for: nothing has been done.
  while (reply.status === 503 && reply.text.includes("The keys cannot be read.")) {
    await sleep(1000);
    reply = await ask();
  }
  const json = (reply.text === "" ? null : JSON.parse(reply.text)) as Json | null;
  if (reply.status >= 500 || json === null) faults.push([method, path, body, reply.status, reply.text]);
  return { ...reply, json: json ?? {} };
}

const expected = (what: string, reply: Reply, ...statuses: readonly number[]): void => {
  if (!statuses.includes(reply.status) && reply.status < 500) faults.push([what, reply.status, reply.text]);
};

async function make(): Promise<void> {
  const id = `org ${String(++names)}`;
  const reply = await send("POST", "/organizations", { id, name: pick(TEXTS), plan: pick(["free", "pro"]) });
  expected("make", reply, 201);
  await send("PATCH", `/organizations/${encodeURIComponent(id)}`, { own: { keys: MOST_KEYS } });
  organizations.push({ id, own: new Map() });
}

async function addKey({ id: organization }: Organization): Promise<void> {
  const tier = pick(["tier1", "tier2", "tier3"]);
  const idempotency = random() < 0.3 ? `key ${String(++names)}` : undefined;
  const body = { user: pick(TEXTS), tier, organization };
  const replies = [
    await send("POST", "/keys", body, idempotency),
    ...(idempotency === undefined ? [] : [await send("POST", "/keys", body, idempotency)]),
  ];
  const [first, again] = replies;
  if (first === undefined) return;
  expected("key", first, 201, 400);
  if (again !== undefined && first.status === 201 && again.json["id"] !== first.json["id"])
    faults.push(["repeated", first.text, again.text]);
  for (const { status, json } of again?.status === 201 && first.status !== 201 ? [again] : [first])
    if (status === 201) keys.push({ id: String(json["id"]), key: String(json["key"]), isLive: true });
}

async function rotate(old: Key): Promise<void> {
  const reply = await send("POST", `/keys/${old.id}/rotate`, {});
  expected("rotate", reply, ...(old.isLive ? [201, 404, 400] : [404, 400]));
  if (reply.status !== 201) return;
  keys.push({ id: String(reply.json["id"]), key: String(reply.json["key"]), isLive: true });
}

async function revoke(old: Key): Promise<void> {
  const reply = await send("DELETE", `/keys/${old.id}`);
  expected("revoke", reply, 200, 404);
  if (reply.status === 200) old.isLive = false;
}

async function figure({ id, own }: Organization, name: string): Promise<void> {
  const value = pick([null, 1 + below(1e6)]);
  const reply = await send("PATCH", `/organizations/${encodeURIComponent(id)}`, { own: { [name]: value } });
  expected("figure", reply, 200, 404);
  if (reply.status !== 200) return;
  own.set(name, (own.get(name) ?? new Set()).add(value));
  if (reply.json["own"]?.[name] !== value) faults.push(["not what was sent", name, value, reply.text]);
}

async function rename(organization: Organization): Promise<void> {
  const to = `org ${String(++names)}`;
  const reply = await send("PATCH", `/organizations/${encodeURIComponent(organization.id)}`, { id: to });
  expected("rename", reply, 200, 404);
  if (reply.status === 200) renamed.push(() => (organization.id = to));
}
/** Known once all that runs at the same time has ended. */
let renamed: (() => void)[] = [];

async function hostile(): Promise<void> {
  const odd = pick(["\0", "\ud800", "*", "", "x".repeat(300), "../keys", "%", "a\nb", "__proto__"]);
  const value = pick([odd, 1e400, -1, 1.5, [], {}, null, true, "9".repeat(50)]);
  const field = pick([
    "user",
    "tier",
    "organization",
    "expires",
    "allowed",
    "keep_seconds",
    "own",
    "id",
    "name",
    "plan",
  ]);
  const path = pick([
    "/keys",
    "/organizations",
    `/organizations/${encodeURIComponent(odd.toWellFormed())}`,
    "/keys/0123456789ab/rotate",
  ]);
  const method = path.startsWith("/organizations/") ? "PATCH" : "POST";
  const reply = await send(method, path, { user: "x", tier: "tier1", [field]: value });
  expected("hostile", reply, 201, 400, 404);
}

/**
 * One thing to do. `begun`: what runs at the same time. Of that no two are about the same figure of one organization, and no key is made
 * while its organization gets another id: it would make one of the former id.
 */
function next(begun: Set<string>): () => Promise<void> {
  const organization = pick(organizations);
  const isFree = (...what: readonly string[]): boolean =>
    what.every((each) => !begun.has(`${organization.id} ${each}`));
  const begin = (what: string, act: () => Promise<void>): (() => Promise<void>) => {
    begun.add(`${organization.id} ${what}`);
    return act;
  };
  const old = keys.length === 0 ? null : pick(keys.slice(-12));
  const at = random();
  if (at < 0.3 && isFree("rename")) return begin("key", () => addKey(organization));
  if (at < 0.4 && isFree("rename", "key")) return begin("rename", () => rename(organization));
  if (at < 0.5) return hostile;
  if (at < 0.65 && old !== null) return () => rotate(old);
  if (at < 0.75 && old !== null) return () => revoke(old);
  const name = pick(FIGURES);
  if (!isFree(name)) return hostile;
  organization.own.delete(name);
  return begin(name, () => figure(organization, name));
}

/** Neither revoked, expired nor replaced by another that is not revoked. */
const COUNTED = `SELECT count(*)::int AS counted FROM routewright_keys.keys WHERE organization = $1 AND revoked_at IS NULL
  AND coalesce(expires_at > now(), true) AND id NOT IN (
    SELECT replaces FROM routewright_keys.keys WHERE replaces IS NOT NULL AND revoked_at IS NULL)`;

async function checkOrganizations(): Promise<void> {
  for (const { id, own } of organizations) {
    const { json } = await send("GET", `/organizations/${encodeURIComponent(id)}`);
    for (const [name, values] of own)
      if (!values.has(json["own"]?.[name])) faults.push(["lost", id, name, [...values], json["own"]]);
    const [{ counted = 0 } = {}] = await queryAt(database, COUNTED, [id]);
    if (Number(counted) > MOST_KEYS) faults.push(["too many keys", id, counted]);
    if (json["own"]?.keys !== MOST_KEYS) faults.push(["lost", id, "keys", json["own"]]);
  }
}

it("loses nothing, fails nowhere, and gives no organization more keys than it may have", async () => {
  for (let n = 0; n < 3; n++) await make();
  for (let step = 0; step < STEPS; step++) {
    const begun = new Set<string>();
    renamed = [];
    await Promise.all(Array.from({ length: pick([1, 4, 8]) }, () => next(begun)()));
    for (const isRenamed of renamed) isRenamed();
    await checkOrganizations();
    if (faults.length > 0) break;
  }
  console.log(`${String(sent)} requests, ${String(keys.length)} keys, seed ${String(SEED)}`);
  expect(faults.slice(0, 5)).toEqual([]);
  for (const url of urls)
    await expect
      .poll(async () => {
        const statuses = await Promise.all(
          keys.map(async ({ key, isLive }) => [
            isLive,
            (await sendRequest(url, "/v1/shop/sales", { key })).status,
          ]),
        );
        return statuses.filter(([isLive, status]) => status !== (isLive ? 200 : 403));
      }, SOON)
      .toEqual([]);
}, 3_600_000);
