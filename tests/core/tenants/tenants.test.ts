/** What a tenant reads depends on nothing that others have asked before, or ask at the same time. */
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, expect, it, vi } from "vitest";
import { BoundedCache } from "../../../runtime/core/http/bounded-cache.js";
import { seeded } from "../../metrics/random-requests.js";
import { byEngine } from "../../support/engines.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";
import { BUILT, tenantManifest } from "./tenant-manifest.js";
import { type CallerName, type Question, RandomQuestions, without } from "./tenant-requests.js";
import { tenantTables } from "./tenant-tables.js";
import { written } from "./written-request.js";

/** `TENANT_REQUESTS=5000 npx vitest run --config tests/vitest.config.ts tests/core/tenants` asks so many, `TENANT_SEED` others. */
const COUNT = Number(process.env["TENANT_REQUESTS"] ?? byEngine({ postgres: 300, clickhouse: 100 }));
const SEED = Number(process.env["TENANT_SEED"] ?? 81);

const ORGS: Readonly<Record<CallerName, string | null>> = {
  ...{ acme: "acme", acme0: "acme", listed: "acme", other: "other" },
  ...{ all: null, partner: null, nobody: null },
};
const LISTED = ["/v1/shop/orders", "/v1/shop/sums", "/v1/shop/revenue", "/v1/shop/premium"];

const API_KEYS = JSON.stringify({
  sk_live_acme: { tier: "tier3", user: "acme", org: "acme" },
  sk_live_acme0: { tier: "tier0", user: "acme0", org: "acme" },
  sk_live_other: { tier: "tier3", user: "other", org: "other" },
  sk_live_listed: { tier: "tier3", user: "listed", org: "acme", allowed: LISTED },
  sk_live_all: { tier: "tier3", user: "all", org: "*" },
  sk_live_partner: { tier: "tier2", user: "partner", org: "" },
});

const BUILDS = Date.parse("2026-11-01T00:00:00Z");

/** A service over the tables of a schema. */
async function started(schema: string) {
  const folder = ownFolder();
  generateInto(folder, tenantManifest(schema));
  const { url, recordBuilds } = await startFolder(folder, {
    API_KEYS,
    ...{ RATE_LIMITS: "100000000", CACHE_TTL_SECONDS: "60", CATALOGUE: "allowed" },
  });
  const build = (at: number): void => {
    const times = { startedAt: at, completedAt: at + 1000 };
    recordBuilds(BUILT.map((name) => ({ node: `model.test.${name}`, ...times })));
    const later = { startedAt: at + 60_000, completedAt: at + 61_000 };
    recordBuilds([{ node: "model.test.orders_by_day", ...later }]);
  };
  build(BUILDS);
  const plain = (text: string): string =>
    text
      .replaceAll(url, "")
      .replaceAll(schema, "@")
      .replaceAll(/(skiptoken=|cursor=|next_cursor\\?":\\?")[\w-]+/g, "$1")
      .replaceAll(/"etag":"(?:[^"\\]|\\.)*"/gi, "")
      .replaceAll(/2026-11-\d\dT[\d:.]+Z/g, "");
  const send = async (caller: CallerName, target: string, options: Parameters<typeof sendRequest>[2]) => {
    const key = caller === "nobody" ? {} : { key: `sk_live_${caller}` };
    const reply = await sendRequest(url, target, { ...options, ...key });
    return { reply, body: plain(bodyOf(reply)) };
  };
  return { url, build, send };
}

type Service = Awaited<ReturnType<typeof started>>;

function bodyOf({ bytes, headers }: Reply): string {
  const coding = headers["content-encoding"];
  const decoded =
    coding === "gzip" ? gunzipSync(bytes) : coding === "br" ? brotliDecompressSync(bytes) : bytes;
  return /arrow/.test(headers["content-type"] ?? "") ? decoded.toString("base64") : decoded.toString();
}

interface Asked {
  readonly question: Question;
  /** Whether the second page is asked, with a cursor that this caller got. */
  readonly cursorOf: CallerName | null;
  /** The tag that was sent, and the body that came with it before. */
  readonly known: { readonly tag: string; readonly body: string } | null;
  readonly reply: Reply;
  readonly body: string;
}

/** Asks one service everything, some of it at the same time. */
class Crowd {
  readonly #service: Service;
  readonly #questions: RandomQuestions;
  readonly #tags: { readonly target: string; readonly tag: string; readonly body: string }[] = [];
  readonly #pages: { readonly question: Question; readonly next: string }[] = [];
  readonly asked: Asked[] = [];

  constructor(service: Service, random: () => number) {
    this.#service = service;
    this.#questions = new RandomQuestions(random);
  }

  async ask(count: number): Promise<void> {
    for (let builds = 1; this.asked.length < count;) {
      if (this.#questions.is(0.02)) this.#service.build(BUILDS + builds++ * 600_000);
      const side = this.#questions.is(0.4) ? 4 : 1;
      const turn = Array.from({ length: side }, () => this.#next());
      this.asked.push(...(await Promise.all(turn.map((next) => next()))));
    }
  }

  #next(): () => Promise<Asked> {
    const random = this.#questions;
    if (this.#pages.length > 0 && random.is(0.1)) {
      const { question, next } = random.pick(this.#pages);
      const { caller } = random.next();
      return () => this.#asked({ ...question, caller }, { cursorOf: question.caller, target: next });
    }
    const question = random.next();
    const { target } = written(question);
    const same = this.#tags.filter((each) => each.target === target);
    const known =
      this.#tags.length > 0 && random.is(0.3) ? random.pick(same.length > 0 ? same : this.#tags) : null;
    return () => this.#asked(question, { target, known });
  }

  async #asked(
    question: Question,
    {
      target,
      known = null,
      cursorOf = null,
    }: { target: string } & Partial<Pick<Asked, "known" | "cursorOf">>,
  ): Promise<Asked> {
    const { options } = written(question);
    const headers = { ...options.headers, ...(known && { "if-none-match": known.tag }) };
    const { reply, body } = await this.#service.send(question.caller, target, { ...options, headers });
    const tag = reply.headers["etag"];
    const isGet = (options.method ?? "GET") === "GET";
    if (reply.status === 200 && tag !== undefined && isGet) {
      this.#tags.push({ target, tag, body });
      if (this.#tags.length > 60) this.#tags.shift();
    }
    const next = /<([^>]+)>; rel="next"/.exec(String(reply.headers["link"] ?? ""))?.[1];
    if (next?.includes("cursor=") === true && cursorOf === null && isGet) {
      this.#pages.push({ question, next: pathIn(next, this.#service) });
      if (this.#pages.length > 30) this.#pages.shift();
    }
    return { question, cursorOf, known, reply, body };
  }
}

const pathIn = (link: string, { url }: Service): string => {
  const { pathname, search } = new URL(link, url);
  return pathname.replace(/^\/elsewhere/, "") + search;
};

const [all, acme, other] = [
  await tenantTables(null),
  await tenantTables("acme"),
  await tenantTables("other"),
];
const crowd = new Crowd(await started(all), seeded(SEED));
const oracles = { acme: await started(acme), other: await started(other), all: await started(all) };
afterAll(() => void vi.restoreAllMocks());

const oracleOf = (caller: CallerName): Service => oracles[(ORGS[caller] ?? "all") as keyof typeof oracles];

/** What a caller is answered where no request finds what another has left, and no other rows are there. */
async function expected({ question, cursorOf, reply }: Asked) {
  // What has not changed is compared whole.
  const headers = without(question.headers, "range");
  const asked = reply.status === 304 ? { ...question, method: "GET" as const, headers } : question;
  const { target, options } = written(asked);
  const oracle = oracleOf(question.caller);
  const first = await oracle.send(question.caller, target, options);
  const next = /<([^>]+)>; rel="next"/.exec(String(first.reply.headers["link"] ?? ""))?.[1];
  if (cursorOf === null || next === undefined) return first;
  return oracle.send(question.caller, pathIn(next, oracle), options);
}

/** What is not offered is 501. */
const isFault = ({ status }: Reply): boolean => status >= 500 && status !== 501;

const isSameBody = (one: string, other: string): boolean => one === other || sorted(one) === sorted(other);

const sorted = (text: string): string =>
  text
    .split(/\},\s*\{|\r?\n/)
    .toSorted()
    .join();

const isRefusedCursor = ({ question, cursorOf, reply, body }: Asked): boolean =>
  cursorOf !== null &&
  ORGS[cursorOf] !== ORGS[question.caller] &&
  reply.status === 400 &&
  body.includes("cursor");

/** What is wrong with an answer; null where nothing is. */
async function faultOf(asked: Asked): Promise<object | null> {
  const { question, reply, body, known, cursorOf } = asked;
  const wanted = await expected(asked);
  const same = (name: string): boolean => reply.headers[name] === wanted.reply.headers[name];
  const isSame =
    reply.status === 304
      ? known !== null && isSameBody(known.body, wanted.body)
      : reply.status === wanted.reply.status && isSameBody(body, wanted.body) && same("content-type");
  const isLong = question.method === "GET" || reply.status === 304 || same("content-length");
  if (!isFault(reply) && !isFault(wanted.reply) && (isRefusedCursor(asked) || (isSame && isLong)))
    return null;
  let at = 0;
  while (at < body.length && body[at] === wanted.body[at]) at++;
  const from = Math.max(0, at - 200);
  return {
    ...{ question, target: written(question).target, cursorOf, tag: known?.tag },
    got: [reply.status, body.slice(from, from + 600)],
    wanted: [wanted.reply.status, wanted.body.slice(from, from + 600)],
  };
}

it("each answer is that of a service without caches, over the caller's rows alone", async () => {
  await crowd.ask(COUNT);
  const isAnswered = ({ reply }: Asked): boolean => reply.status < 400;
  expect(crowd.asked.filter(isAnswered).length / COUNT).toBeGreaterThan(0.5);
  vi.spyOn(BoundedCache.prototype, "get").mockReturnValue(undefined);
  const found: object[] = [];
  for (const asked of crowd.asked) {
    const wrong = await faultOf(asked);
    if (wrong !== null) found.push(wrong);
  }
  expect(found.slice(0, 5), `${String(found.length)} of ${String(crowd.asked.length)}`).toEqual([]);
}, 3_600_000);
