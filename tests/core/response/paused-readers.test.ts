import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTls, TLSSocket } from "node:tls";
import { gunzipSync } from "node:zlib";
import express, { type Express, type Request, type Response } from "express";
import { pino } from "pino";
import { expect, it } from "vitest";
import { openGateway, readKeyring, withGateway } from "../../../runtime/index.js";
import { evaluateModule } from "../../../runtime/server/release/generated-folder.js";
import { readGeneratedRelease } from "../../../runtime/server/release/release.js";
import { Random } from "../../ramp/simulation/random.js";
import { atEnd } from "../../support/at-end.js";
import { proxyOf } from "../../support/database-proxy.js";
import { byEngine, engine, engineUrl, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { needs } from "../../support/needs.js";
import { listen } from "../../support/port.js";
import { generateInto, KEYS, ownFolder, startFolder } from "../../support/service.js";
import { poisonFreedMemory, readSlowly } from "./paused-reader.js";

/** The full time is 30 minutes: `READER_SECONDS=1800 npm test -- paused-readers`. `READER_SEED` gives other pauses and sizes. */
const SECONDS = Number(process.env["READER_SECONDS"] ?? 10);
const SEED = Number(process.env["READER_SEED"] ?? 77);
const READERS = 32;

const [ROWS, PAGE] = [40_000, 1000];
const columns = byEngine({
  postgres: { id: "integer", hash: "text", note: "text", amount: "bigint", at: "timestamptz" },
  clickhouse: { id: "Int32", hash: "String", note: "String", amount: "Int64", at: "DateTime64(3)" },
});
const schema = await ownTables({
  postgres: `CREATE TABLE @.rows AS SELECT i AS id, md5(i::text) AS hash, repeat(md5((i * 7)::text), i % 5) AS note,
    i * 1000000007::bigint AS amount, timestamptz '2020-01-01 00:00:00Z' + i * interval '61 s' AS at
    FROM generate_series(1, ${String(ROWS)}) i; ALTER TABLE @.rows ADD PRIMARY KEY (id)`,
  clickhouse: [
    `CREATE TABLE @.rows ORDER BY id AS SELECT toInt32(number + 1) AS id, lower(hex(MD5(toString(id)))) AS hash,
      repeat(lower(hex(MD5(toString(id * 7)))), id % 5) AS note, toInt64(id) * 1000000007 AS amount,
      toDateTime64(1577836800, 3, 'UTC') + id * 61 AS at FROM numbers(${String(ROWS)})`,
  ],
});
const api = {
  allow_unfiltered: true,
  methods: ["GET", "POST"],
  parameters: [{ name: "ids", column: "id", operator: "IN", type: "string_list" }],
  sort: [{ column: "id", direction: "ASC" }],
  pagination: { enabled: true, default_limit: PAGE, max_limit: ROWS, response: "envelope" },
};
const routewright = { cursor: true, filters: ["id"] };
const folder = ownFolder();
generateInto(
  folder,
  manifestOf([
    {
      name: "rows",
      key: "id",
      schema,
      tags: ["production", "read", "api:rows"],
      columns,
      api,
      routewright,
    },
  ]),
);

const CURSOR_KEY = Buffer.alloc(32, 7);
const VARIABLES = {
  DATABASE_STREAM_POOL_SIZE: "8",
  STREAMS_PER_CALLER: "8",
  RATE_LIMITS: "100000000",
  CURSOR_KEY: CURSOR_KEY.toString("hex"),
};

/** A certificate for 127.0.0.1 that nobody else trusts. */
function ownCertificate(): { readonly key: string; readonly cert: string } {
  const folder = ownFolder();
  const [key, cert] = [join(folder, "key"), join(folder, "cert")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", key, "-out", cert];
  const options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...subject];
  execFileSync("openssl", options, { stdio: "ignore" });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

const hasTls = needs("openssl");
const certificate = hasTls ? ownCertificate() : null;

/** The database's address behind TLS, which a proxy ends. */
async function tlsUrl({ key, cert }: { readonly key: string; readonly cert: string }): Promise<string> {
  const trust = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  atEnd(() => {
    if (trust === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = trust;
  });
  const secure = createTls({ key, cert });
  const join = (client: Socket, database: Socket): void => {
    client.pipe(database).pipe(client);
    client.on("error", () => database.destroy()).on("close", () => database.destroy());
    database.on("close", () => client.destroy());
  };
  const { url } = await proxyOf(engineUrl(), (client, open) => {
    const encrypt = (): void => {
      const encrypted = new TLSSocket(client, { isServer: true, server: secure, key, cert });
      join(encrypted, open());
    };
    if (engine === "clickhouse") return encrypt();
    // PostgreSQL's client asks for TLS first.
    client.once("data", () => {
      client.write("S");
      encrypt();
    });
  });
  if (engine === "clickhouse") return url.replace("clickhouse:", "clickhouses:");
  const address = new URL(url);
  address.searchParams.set("sslmode", "no-verify");
  return address.href;
}

/** The same endpoint in an app of one's own, behind `use`. */
async function ownApp(use: (app: Express) => void = () => undefined): Promise<Express> {
  const keyring = readKeyring({ [KEYS.tier3]: { tier: "tier3", user: "u", org: "test" } }, "test");
  if (!keyring.ok) throw new Error(keyring.problems.join());
  const gateway = openGateway({
    databaseUrl: engineUrl(),
    keys: keyring.value,
    log: pino({ level: "silent" }),
    cursorKey: CURSOR_KEY,
    rateLimits: { tier0: 1e8, tier1: 1e8, tier2: 1e8, tier3: 1e8 },
  });
  atEnd(() => gateway.close());
  const app = express().use(withGateway(gateway));
  use(app);
  for (const module of (await readGeneratedRelease({ generated: folder })).release.modules) {
    const { spec, get, post } = evaluateModule(module);
    app.all(spec.path, (request: Request, response: Response, next) =>
      (request.method === "POST" ? post : get)(request as never, response as never, next),
    );
  }
  return app;
}

interface Form {
  readonly target: string;
  readonly headers: http.OutgoingHttpHeaders;
  readonly body?: string;
}

const ACCEPTED = [
  "application/json",
  "application/json; numbers=string",
  "text/csv",
  "application/x-ndjson",
  "application/vnd.apache.parquet",
  "application/vnd.apache.arrow.file",
  "application/vnd.apache.arrow.stream",
];
const path = "/v1/read/rows";

/** Streams and pages of each format, whole, compressed, by offset, by cursor, posted, and in parts. */
const FORMS: readonly Form[] = ACCEPTED.flatMap((accept) => {
  const headers = { accept };
  const gzip = { accept, "accept-encoding": "gzip" };
  const page = (offset: number, limit = PAGE): string =>
    `${path}?limit=${String(limit)}&offset=${String(offset)}`;
  const posted = JSON.stringify({
    ids: Array.from({ length: 500 }, (_, i) => String(1 + 3 * i)),
    limit: 500,
  });
  return [
    { target: page(0, ROWS), headers },
    { target: page(100, ROWS - 100), headers: gzip },
    { target: page(1000), headers },
    { target: page(7000, 9000), headers },
    { target: page(3000), headers: gzip },
    { target: `${path}?limit=2000`, headers },
    { target: page(5, 30), headers },
    { target: path, headers: { ...headers, "content-type": "application/json" }, body: posted },
    { target: page(2000, 3000), headers: { ...headers, range: "bytes=70000-190000" } },
  ];
});

/** The response as soon as its head is there. */
function ask(origin: string, { target, headers, body }: Form): Promise<http.IncomingMessage> {
  const { request } = origin.startsWith("https") ? https : http;
  const method = body === undefined ? "GET" : "POST";
  const sent = { "x-api-key": KEYS.tier3, ...headers };
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: sent,
      agent: false,
      rejectUnauthorized: false,
    } as https.RequestOptions;
    request(origin + target, options, resolve)
      .on("error", reject)
      .end(body);
  });
}

/** The body, read without a pause and before anybody else reads. */
async function wholeBody(origin: string, form: Form): Promise<Buffer> {
  const response = await ask(origin, form);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  expect([200, 206], body.toString("latin1", 0, 200)).toContain(response.statusCode);
  return response.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
}

it(
  "every byte is the one that a reader without pauses gets, whoever pauses and leaves beside it",
  { timeout: (SECONDS + 600) * 1000 },
  async () => {
    const plain = await startFolder(folder, VARIABLES);
    const origins = [plain.url];
    if (certificate !== null) {
      const databaseUrl = await tlsUrl(certificate);
      const behindTls = await startFolder(folder, { ...VARIABLES, DATABASE_URL: databaseUrl });
      const app = https.createServer(certificate, await ownApp());
      origins.push(behindTls.url, `https://${await listen(app)}`);
    }
    const expected = new Map<Form, Buffer>();
    for (const form of FORMS) expected.set(form, await wholeBody(plain.url, form));
    poisonFreedMemory();
    const until = Date.now() + SECONDS * 1000;
    const counts = { read: 0, refused: 0, bytes: 0 };
    const read = async (reader: number): Promise<void> => {
      const random = new Random(SEED * 1000 + reader);
      // On a busy machine it takes longer until each has read one.
      while (Date.now() < until || counts.read <= READERS) {
        const form = random.pick(FORMS);
        const response = await ask(random.pick(origins), form);
        if (response.statusCode === 503) {
          response.resume();
          counts.refused++;
          continue;
        }
        const of = `${String(response.statusCode)} ${JSON.stringify(form)}`;
        expect([200, 206], of).toContain(response.statusCode);
        counts.bytes += await readSlowly(response, expected.get(form) as Buffer, {
          random,
          until,
        }).catch((error: unknown) => {
          throw new Error(`Seed ${String(SEED)}, ${of}: ${(error as Error).message}`);
        });
        counts.read++;
      }
    };
    await Promise.all(Array.from({ length: READERS }, (_, reader) => read(reader)));
    console.info(`${String(READERS)} readers: ${JSON.stringify(counts)}`);
    expect(counts.read).toBeGreaterThan(READERS);
  },
);

it("a middleware that keeps what is sent has it as it was", async () => {
  const kept: Buffer[][] = [];
  const keeping = (_: Request, response: Response, next: () => void): void => {
    const chunks: Buffer[] = [];
    kept.push(chunks);
    const keep = (method: "write" | "end"): void => {
      const send = response[method].bind(response) as (...given: unknown[]) => never;
      response[method] = (...given: unknown[]) => {
        const [chunk] = given;
        if (Buffer.isBuffer(chunk)) chunks.push(chunk);
        else if (typeof chunk === "string") chunks.push(Buffer.from(chunk, "latin1"));
        return send(...given);
      };
    };
    keep("write");
    keep("end");
    next();
  };
  const origin = `http://${await listen(http.createServer(await ownApp((app) => app.use(keeping))))}`;
  const forms = FORMS.filter(({ headers }) => headers["accept-encoding"] === undefined);
  const bodies: Buffer[] = [];
  poisonFreedMemory();
  for (const form of forms) bodies.push(await wholeBody(origin, form));
  expect(kept.map((chunks) => Buffer.concat(chunks).equals(bodies.shift() as Buffer))).toEqual(
    forms.map(() => true),
  );
});
