/** What disturbs the server of the soak: table swaps, refreshes, downloads, slow readers; each response is checked. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Server } from "../process.js";
import { KEYS } from "../servers.js";
import { type Database, SCHEMA } from "../synthetic-api.js";

const LONG_ROWS = 20_000;
const PAGE_ROWS = 100;
const SWAP_MS = 7000;
/** Pause between two requests of one reader. */
const PAUSE_MS = 50;
/** A slow reader takes so many bytes, so often a second. */
const SLOW = { bytes: 2000, perSecond: 10, readers: 3 };

/** Two models on the swapped table: all rows as a stream, and a page of the first rows. */
export function swappedModels(): (readonly [string, object])[] {
  const pagination = { enabled: true, default_limit: PAGE_ROWS, max_limit: PAGE_ROWS, response: "list" };
  const page = { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }], pagination };
  return [model("long", {}), model("page", { meta: { api: page } })];
}

function model(name: string, config: object): readonly [string, object] {
  const tags = ["production", "soak", `api:${name}`];
  const columns = Object.fromEntries(
    Object.entries({ id: "integer", version: "integer", label: "text" }).map(([column, type]) => [
      column,
      { name: column, data_type: type },
    ]),
  );
  const unique_id = `model.bench.${name}`;
  const identity = { resource_type: "model", unique_id, name, alias: "swapped", schema: SCHEMA };
  return [unique_id, { ...identity, tags, description: "", columns, config: { tags, ...config } }];
}

export interface Counts {
  downloads: number;
  aborted: number;
  slow: number;
  pages: number;
  notModified: number;
  swaps: number;
  longestSwapMs: number;
  /** Streams that the server ended: the client saw a reset. */
  cut: number;
  readonly wrong: string[];
}

/** Disturbs the server until the signal. Everything that was answered wrongly is in `wrong`. */
export class Traffic {
  readonly counts: Counts = {
    downloads: 0,
    aborted: 0,
    slow: 0,
    pages: 0,
    notModified: 0,
    swaps: 0,
    longestSwapMs: 0,
    cut: 0,
    wrong: [],
  };
  /** The version that a request may show: `committed` before it began up to `started` when it ended. */
  #committed = 1;
  #started = 1;

  constructor(
    readonly server: Server,
    readonly database: Database,
  ) {}

  static async prepare(database: Database): Promise<void> {
    await database.query(tableSql("swapped", 1));
  }

  async run(signal: AbortSignal): Promise<void> {
    const again = async (step: (n: number) => Promise<void>, pause: number): Promise<void> => {
      for (let n = 0; !signal.aborted; n++) {
        await step(n).catch((error: unknown) => void this.counts.wrong.push(String(error)));
        await sleep(pause, undefined, { signal }).catch(() => undefined);
      }
    };
    const slow = Array.from({ length: SLOW.readers }, (_, i) =>
      again((n) => this.#slow(i, n, signal), PAUSE_MS),
    );
    await Promise.all([
      again(() => this.#swap(), SWAP_MS),
      again((n) => (n % 2 ? this.#abort(n) : this.#download(n)), PAUSE_MS),
      again((n) => this.#page(n), PAUSE_MS),
      ...slow,
    ]);
  }

  /** As dbt does it: a new table takes the name of the old one in one transaction, then the old one is dropped. */
  async #swap(): Promise<void> {
    const version = this.#committed + 1;
    const client = new pg.Client({ connectionString: this.database.url });
    await client.connect();
    try {
      await client.query(tableSql("swapped_new", version));
      this.#started = version;
      const begun = performance.now();
      await client.query(`BEGIN; ALTER TABLE ${SCHEMA}.swapped RENAME TO swapped_old;
        ALTER TABLE ${SCHEMA}.swapped_new RENAME TO swapped; COMMIT`);
      this.#committed = version;
      await client.query(`DROP TABLE ${SCHEMA}.swapped_old CASCADE`);
      this.counts.longestSwapMs = Math.max(this.counts.longestSwapMs, performance.now() - begun);
      this.counts.swaps++;
    } finally {
      await client.end();
    }
  }

  async #download(n: number): Promise<void> {
    const oldest = this.#committed;
    const body = await this.#read(await this.#get("/v1/soak/long", n));
    if (body === null) return;
    this.#check("download", body, LONG_ROWS, oldest);
    this.counts.downloads++;
  }

  async #abort(n: number): Promise<void> {
    const response = await this.#get("/v1/soak/long", n);
    response.on("error", () => undefined).resume();
    await sleep(n % 40);
    response.destroy();
    this.counts.aborted++;
  }

  async #slow(reader: number, n: number, signal: AbortSignal): Promise<void> {
    const oldest = this.#committed;
    const response = await this.#get("/v1/soak/long", KEYS.length - 1 - reader);
    const pieces: Buffer[] = [];
    response.on("error", () => undefined);
    while (!response.readableEnded && !response.errored && !signal.aborted) {
      const piece = response.read(Math.min(SLOW.bytes, response.readableLength)) as Buffer | null;
      if (piece) pieces.push(piece);
      else if (response.readableLength === 0) response.read(0);
      await sleep(1000 / SLOW.perSecond);
    }
    const isCut = response.errored !== null;
    response.destroy();
    if (signal.aborted) return;
    if (isCut) this.counts.cut++;
    else {
      this.#check(`slow reader ${String(n)}`, Buffer.concat(pieces).toString(), LONG_ROWS, oldest);
      this.counts.slow++;
    }
  }

  #tag: string | null = null;
  #tagged = 0;

  /** Every other page is requested with the tag of the one before. */
  async #page(n: number): Promise<void> {
    const oldest = this.#committed;
    const condition = n % 2 === 1 && this.#tag ? { "If-None-Match": this.#tag } : {};
    const response = await this.#get("/v1/soak/page", n, condition);
    const body = await this.#read(response);
    if (response.statusCode === 304) {
      this.counts.notModified++;
      if (this.#tagged < oldest) this.counts.wrong.push(`304 for version ${String(this.#tagged)}`);
    } else if (body !== null) {
      this.#tagged = this.#check("page", body, PAGE_ROWS, oldest);
      this.#tag = response.headers.etag ?? null;
      this.counts.pages++;
    }
  }

  async #get(path: string, n: number, headers: Record<string, string> = {}): Promise<IncomingMessage> {
    const key = KEYS[n % KEYS.length] ?? "";
    const { port } = this.server;
    const sent = request({
      host: "127.0.0.1",
      port,
      path,
      agent: false,
      headers: { "X-API-Key": key, ...headers },
    });
    const [response] = (await once(sent.end(), "response")) as [IncomingMessage];
    // A response that was read or closed already has no more to say about its connection.
    sent.on("error", () => undefined);
    if (response.statusCode === 200 || response.statusCode === 304) return response;
    response.resume();
    throw new Error(`${path}: status ${String(response.statusCode)}`);
  }

  /** The body; null when the server cut it. */
  async #read(response: IncomingMessage): Promise<string | null> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of response) pieces.push(piece as Buffer);
      return Buffer.concat(pieces).toString();
    } catch {
      this.counts.cut++;
      return null;
    }
  }

  /** Every row once, all of one version, of which the table was at some time of the request. */
  #check(what: string, body: string, count: number, oldest: number): number {
    const parsed = JSON.parse(body) as Row[] | { readonly data: Row[] };
    const rows = Array.isArray(parsed) ? parsed : parsed.data;
    const version = rows[0]?.version ?? 0;
    const ids = new Set(rows.map(({ id }) => id));
    const isRight =
      rows.length === count &&
      ids.size === count &&
      rows.every((row) => row.version === version && row.id <= count && row.label === labelOf(row)) &&
      version >= oldest &&
      version <= this.#started;
    if (!isRight)
      this.counts.wrong.push(
        `${what}: ${String(rows.length)} rows of version ${String(version)} (${String(oldest)})`,
      );
    return version;
  }
}

interface Row {
  readonly id: number;
  readonly version: number;
  readonly label: string;
}

const labelOf = ({ id, version }: Row): string =>
  createHash("md5")
    .update(`${String(version)}-${String(id)}`)
    .digest("hex");

function tableSql(name: string, version: number): string {
  return `CREATE TABLE ${SCHEMA}.${name} AS SELECT i AS id, ${String(version)} AS version,
    md5(${String(version)} || '-' || i) AS label FROM generate_series(1, ${String(LONG_ROWS)}) i`;
}
