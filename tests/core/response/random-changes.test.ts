import fc from "fast-check";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { databaseUrl } from "../../support/database.js";
import { byEngine, engine, ownerQuery, ownTables } from "../../support/engines.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, startManifest } from "../../support/service.js";
import { type ChangingRelation, CLICKHOUSE, POSTGRES } from "./changing-relations.js";

/**
 * The full number, which took 22 minutes on two busy cores; `clickhouse` takes three times as long. `CHANGE_SEED` gives others:
 * `CHANGE_SEQUENCES=10000 npx vitest run --config tests/vitest.config.ts tests/core/response/random-changes.test.ts --project postgres`.
 */
const SEQUENCES = Number(process.env["CHANGE_SEQUENCES"] ?? 40);
const SEED = Number(process.env["CHANGE_SEED"] ?? 50);
/** Sequences that run side by side, each lane with its own relations and its own service. */
const LANES = 4;

const RELATIONS = byEngine({ postgres: POSTGRES, clickhouse: CLICKHOUSE });
const FORMATS = ["application/json", "text/csv", "application/x-ndjson"];

/** One step. The numbers choose among the changes, the numbers in them, the formats and the tags that the client has. */
interface Move {
  readonly kind: "change" | "crowd" | "build" | "failed build" | "ask";
  readonly change: number;
  readonly number: number;
  readonly format: number;
  readonly tag: number;
}

interface Sequence {
  readonly relation: string;
  /** Whether the endpoint promises that its rows change only when dbt builds; then each change is a build. */
  readonly isOnBuild: boolean;
  readonly moves: readonly Move[];
}

const sequence: fc.Arbitrary<Sequence> = fc.record({
  relation: fc.constantFrom(...Object.keys(RELATIONS)),
  isOnBuild: fc.nat(3).map((n) => n === 0),
  moves: fc.array(
    fc.record({
      kind: fc.constantFrom<Move["kind"]>(
        "change",
        "change",
        "crowd",
        "crowd",
        "build",
        "failed build",
        "ask",
      ),
      change: fc.nat(99),
      number: fc.nat(9),
      format: fc.nat(FORMATS.length - 1),
      tag: fc.nat(99),
    }),
    { minLength: 4, maxLength: 8, size: "max" },
  ),
});

/** Runs statements as the owner, over one connection: a new one for each would take most of the time. */
async function owner(schema: string): Promise<(sql: string) => Promise<readonly string[]>> {
  const named = (sql: string): string => sql.replaceAll("@", `"${schema}"`);
  if (engine === "clickhouse")
    return async (sql) => {
      let text: unknown = "";
      for (const statement of named(sql).split("; ")) text = await ownerQuery(statement);
      return String(text).split("\n").filter(Boolean);
    };
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  atEnd(() => client.end());
  return async (sql) => {
    const result = (await client.query(named(sql))) as pg.QueryResult | pg.QueryResult[];
    const { rows } = [result].flat().at(-1)!;
    return rows.map(({ id }: { readonly id?: unknown }) => String(id));
  };
}

const ON_BUILD = "_on_build";

/** Models of a relation: without the promise, and with it where it can be kept. */
const modelsOf = (schema: string) =>
  Object.entries(RELATIONS).flatMap(([alias, { materialized = "table", isClock }]) =>
    ["", ...(isClock ? [] : [ON_BUILD])].map((suffix) => ({
      name: alias + suffix,
      ...{ alias, schema, materialized },
      columns: { id: null },
      api: { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] },
      routewright: suffix === "" ? {} : { changes: "on_build" },
      ...(materialized === "view" && { parents: ["model.test.orders"] }),
    })),
  );

async function lane() {
  const orders = `CREATE TABLE @.orders (id ${byEngine({ postgres: "int)", clickhouse: "Int32) ORDER BY tuple()" })}`;
  const creates = [orders, ...Object.values(RELATIONS).flatMap(({ create }) => create)];
  const schema = await ownTables({ postgres: creates.join("; "), clickhouse: creates });
  const manifest = manifestOf([
    { name: "orders", schema, tags: [], materialized: "table" },
    ...modelsOf(schema),
  ]);
  const service = await startManifest(manifest, { RATE_LIMITS: "tier3=100000000" });
  return { service, run: await owner(schema) };
}

type Lane = Awaited<ReturnType<typeof lane>>;

/** The numbers of a body, in whatever format. */
const idsOf = ({ text }: Reply): readonly string[] => text.match(/-?\d+/g) ?? [];

let time = 0;

/** One client that follows one endpoint through a sequence. */
class Follower {
  readonly #lane: Lane;
  readonly #relation: string;
  readonly #name: string;
  readonly #isOnBuild: boolean;
  readonly #of: ChangingRelation;
  /** The bytes that the client holds, by tag: one tag never names two of them. */
  readonly #held = new Map<string, Buffer>();
  unmodified = 0;

  constructor(lane: Lane, { relation, isOnBuild }: Sequence) {
    this.#lane = lane;
    this.#relation = relation;
    this.#of = RELATIONS[relation]!;
    this.#isOnBuild = isOnBuild && !this.#of.isClock;
    this.#name = this.#isOnBuild ? relation + ON_BUILD : relation;
  }

  async start(): Promise<void> {
    await this.#lane.run(this.#of.reset);
    this.#build();
  }

  async take(move: Move): Promise<void> {
    const { kind, change, number, format } = move;
    const { changes } = this.#of;
    const sql = (kind === "crowd" ? changes[0] : changes[change % changes.length]!).replaceAll(
      "$",
      String(number),
    );
    if (kind === "crowd") await this.#changeInCrowd(sql, FORMATS[format]!);
    if (kind === "change") await this.#change(sql);
    if (kind === "build" || kind === "failed build") this.#build(kind === "failed build");
    await this.#check(move);
  }

  #build(failed = false): void {
    const node = this.#of.materialized === "view" && ++time % 2 === 0 ? "orders" : this.#name;
    this.#lane.service.recordBuilds([
      { node: `model.test.${node}`, completedAt: ++time, ...(failed && { failed }) },
    ]);
  }

  async #change(sql: string): Promise<void> {
    await this.#lane.run(sql);
    if (this.#isOnBuild) this.#build();
  }

  #ask(accept: string, tag?: string): Promise<Reply> {
    const headers = { accept, ...(tag !== undefined && { "if-none-match": tag }) };
    return sendRequest(this.#lane.service.url, `/v1/shop/${this.#name}`, { key: KEYS.tier3, headers });
  }

  /** What the database has now; null where it has something else at each moment. */
  async #rows(): Promise<readonly string[] | null> {
    const { isClock } = this.#of;
    return isClock ? null : await this.#lane.run(`SELECT id FROM @.${this.#relation} ORDER BY id`);
  }

  /** Requests that begin before a change have the rows before or after it; those that begin after it have the new ones. */
  async #changeInCrowd(sql: string, accept: string): Promise<void> {
    const before = await this.#rows();
    const tag = [...this.#held.keys()].at(-1);
    const early = [this.#ask(accept), this.#ask(accept, tag), this.#ask(accept)];
    await this.#change(sql);
    const late = [this.#ask(accept), this.#ask(accept), this.#ask(accept, tag)];
    const after = await this.#rows();
    const rowsOf = (reply: Reply) => {
      expect([200, 304], reply.text).toContain(reply.status);
      return idsOf(reply.status === 304 ? this.#heldReply(reply) : reply);
    };
    for (const reply of await Promise.all(early)) {
      const rows = rowsOf(reply);
      if (before && after) expect([before, after]).toContainEqual(rows);
    }
    for (const reply of await Promise.all(late)) {
      const rows = rowsOf(reply);
      if (after) expect(rows).toEqual(after);
    }
  }

  #heldReply(reply: Reply): Reply {
    const bytes = this.#held.get(reply.headers.etag ?? "");
    expect(bytes, "a 304 names a tag that the client holds").toBeDefined();
    return { ...reply, bytes: bytes!, text: bytes!.toString() };
  }

  /** A plain request has the rows of now, and a 304 means its bytes. */
  async #check({ format, tag }: Move): Promise<void> {
    const accept = FORMATS[format]!;
    const tags = [...this.#held.keys()];
    const conditional =
      tags.length === 0 ? null : await this.#ask(accept, tags[tag % (2 * tags.length)] ?? tags.join(", "));
    const plain = await this.#ask(accept);
    const rows = await this.#rows();
    expect([plain.status, idsOf(plain)]).toEqual([200, rows ?? idsOf(plain)]);
    if (conditional?.status === 304) {
      this.unmodified++;
      expect(this.#heldReply(conditional).text).toBe(plain.text);
    } else if (conditional)
      expect([conditional.status, idsOf(conditional)]).toEqual([200, rows ?? idsOf(conditional)]);
    const name = plain.headers.etag ?? "";
    expect(this.#held.get(name)?.toString() ?? plain.text).toBe(plain.text);
    this.#held.set(name, plain.bytes);
  }
}

describe("random changes, builds and requests", () => {
  it(
    "bring no 304 and no row that a plain request would contradict",
    async () => {
      const lanes = await Promise.all(Array.from({ length: LANES }, lane));
      const sequences = fc.sample(sequence, { numRuns: SEQUENCES, seed: SEED });
      let unmodified = 0;
      const walk = async (lane: Lane, i: number): Promise<void> => {
        for (let n = i; n < sequences.length; n += LANES) {
          const each = sequences[n]!;
          const follower = new Follower(lane, each);
          await follower.start();
          for (const [step, move] of each.moves.entries())
            await follower.take(move).catch((error: unknown) => {
              throw new Error(`sequence ${String(n)}, step ${String(step)}: ${JSON.stringify(each)}`, {
                cause: error,
              });
            });
          unmodified += follower.unmodified;
        }
      };
      await Promise.all(lanes.map(walk));
      expect(unmodified).toBeGreaterThan(SEQUENCES / 2);
    },
    180_000 + SEQUENCES * 1000,
  );
});
