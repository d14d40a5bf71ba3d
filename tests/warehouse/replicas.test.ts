import { afterEach, describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { openPostgres } from "../../runtime/warehouse/postgres/postgres-warehouse.js";
import type { ReplicaStatus } from "../../runtime/warehouse/postgres/replica.js";
import { routeToReplicas } from "../../runtime/warehouse/postgres/replica-router.js";
import type { ResolvedQuery } from "../../runtime/model/query.js";
import type { Rows, Warehouse } from "../../runtime/warehouse/warehouse.js";
import { OwnServer } from "../support/own-server.js";
import { queryContext } from "../support/query-context.js";

const primary = await OwnServer.create();
await primary.query(`
  CREATE VIEW server AS SELECT current_setting('port')::int AS port;
  CREATE VIEW slow_server AS SELECT current_setting('port')::int AS port, pg_sleep(0.3)::text AS slept;
  CREATE VIEW hanging AS SELECT pg_sleep(30)::text AS slept;
  CREATE VIEW dividing AS SELECT 1 / (i - i) AS i FROM generate_series(1, 2) i;
  CREATE TABLE numbers AS SELECT i, repeat('x', 500) AS text FROM generate_series(1, 20000) i;
  CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS i`);
const first = await primary.follow();
const second = await primary.follow();
await primary.query(`
  CREATE TABLE doomed AS SELECT i FROM generate_series(1, 3) i;
  CREATE FUNCTION linger() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('port')::int = ${String(first.port)} THEN PERFORM pg_sleep(40); END IF;
    RETURN current_setting('port')::int;
  END $$;
  CREATE VIEW lingering AS SELECT linger() AS port;
  CREATE VIEW doomed_lingering AS SELECT count(*), linger() AS port FROM doomed`);
await primary.caughtUp(first);
await primary.caughtUp(second);
const servers = [primary, first, second];
const SLEEPING = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
/** Connections of the pool that one caller may use for one table. */
const CALLERS_SHARE = 3;
const SECONDS = { timeout: 60_000, interval: 50 };

type Address = Pick<OwnServer, "url" | "port">;

interface Routed {
  readonly warehouse: Warehouse;
  readonly statuses: ReplicaStatus[];
}

const addressOf = ({ port }: Address): string => `127.0.0.1:${String(port)}`;

/** A warehouse of the primary and these replicas, all in service. */
async function routeTo(replicas: readonly Address[], statementTimeoutMs = 10_000): Promise<Routed> {
  const statuses: ReplicaStatus[] = [];
  const open = ({ url }: Address, isReplica = true): Warehouse =>
    openPostgres({ url, statementTimeoutMs, isReplica, onIdleError: () => undefined });
  const sources = replicas.map((server) => ({ address: addressOf(server), warehouse: open(server) }));
  const warehouse = routeToReplicas(open(primary, false), sources, (status) => void statuses.push(status));
  atEnd(() => warehouse.close());
  await expect
    .poll(() => statuses.filter(({ isInService }) => isInService).length, SECONDS)
    .toBe(replicas.length);
  return { warehouse, statuses };
}

function queryOf(relation: string, more: Partial<ResolvedQuery> = {}): ResolvedQuery {
  const selection = { conditions: [], sort: [], page: null };
  return { relation: ["public", relation], selection, format: "json", timeoutMs: 0, ...more };
}

async function ask(warehouse: Warehouse, relation: string): Promise<Rows> {
  const rows = await warehouse.rows(queryOf(relation), queryContext());
  if (rows === "overloaded") throw new Error("It is overloaded.");
  return rows;
}

/** The port of the server that answers. */
async function answeredBy(warehouse: Warehouse, relation = "server"): Promise<number> {
  const rows = await ask(warehouse, relation);
  return Number(/"port":(\d+)/.exec(rows.kind === "buffered" ? String(rows.text) : "")?.[1]);
}

const among = (ports: readonly number[]): number[] => [...new Set(ports)].toSorted((a, b) => a - b);
const portsOf = (...servers: readonly OwnServer[]): number[] => among(servers.map(({ port }) => port));

describe("a database with replicas", () => {
  it("queries the replicas and not the primary", async () => {
    const { warehouse } = await routeTo([first]);
    for (let i = 0; i < 5; i++) expect(await answeredBy(warehouse)).toBe(first.port);
  });

  it("spreads simultaneous queries over all replicas", async () => {
    const { warehouse } = await routeTo([first, second]);
    const answers = (): Promise<number[]> =>
      Promise.all(Array.from({ length: 20 }, () => answeredBy(warehouse, "slow_server")));
    await expect.poll(async () => among(await answers()), SECONDS).toEqual(portsOf(first, second));
  });

  it("queries the first of the idle replicas in the list", async () => {
    const { warehouse } = await routeTo([second, first]);
    for (let i = 0; i < 10; i++) expect(await answeredBy(warehouse)).toBe(second.port);
  });

  it("is the primary alone where there are none", () => {
    const alone = openPostgres({ url: primary.url, statementTimeoutMs: 0, onIdleError: () => undefined });
    atEnd(() => alone.close());
    expect(routeToReplicas(alone, [], () => undefined)).toBe(alone);
  });

  it("queries the primary for what a replica does not have yet", async () => {
    const { warehouse, statuses } = await routeTo([first]);
    await first.query("SELECT pg_wal_replay_pause()");
    await primary.query("CREATE TABLE fresh AS SELECT 7 AS i");
    expect(await ask(warehouse, "fresh")).toMatchObject({ text: '{"i":7}' });
    await first.query("SELECT pg_wal_replay_resume()");
    expect(statuses).toHaveLength(1);
  });

  it("queries the primary for a relation that is never replicated", async () => {
    const { warehouse, statuses } = await routeTo([first]);
    expect(await ask(warehouse, "unlogged")).toMatchObject({ text: '{"i":1}' });
    expect(statuses).toHaveLength(1);
  });

  it("queries another server when a query conflicts with recovery", async () => {
    const { warehouse, statuses } = await routeTo([first]);
    const answer = answeredBy(warehouse, "doomed_lingering");
    await expect.poll(() => first.query(SLEEPING), SECONDS).toHaveLength(1);
    await primary.query("DELETE FROM doomed; INSERT INTO doomed VALUES (1)");
    await primary.query("VACUUM FULL doomed");
    expect(await answer).toBe(primary.port);
    expect(statuses).toHaveLength(1);
  });

  it("queries no other server when the query is invalid", async () => {
    const { warehouse, statuses } = await routeTo([first, second]);
    await expect(ask(warehouse, "dividing")).rejects.toThrow("division by zero");
    expect(servers.map((server) => server.logged("ERROR:  division by zero")).toSorted()).toEqual([0, 0, 1]);
    expect(statuses).toHaveLength(2);
  });

  it("queries no other server when the time limit is reached", async () => {
    const { warehouse, statuses } = await routeTo([first, second], 500);
    await expect(ask(warehouse, "hanging")).rejects.toThrow("time limit");
    expect(
      servers
        .map((server) => server.logged("ERROR:  canceling statement due to statement timeout"))
        .toSorted(),
    ).toEqual([0, 0, 1]);
    expect(statuses).toHaveLength(2);
  });

  it("queries the primary when a replica is overloaded", async () => {
    const { warehouse } = await routeTo([first], 60_000);
    await ask(warehouse, "server");
    let isOver = false;
    const wait = (callerId: string): Promise<unknown> =>
      warehouse
        .rows(queryOf("hanging"), { ...queryContext(), callerId, isStillNeeded: () => !isOver })
        .catch(() => null);
    const crowd = Array.from({ length: 800 }, (_, i) => wait(`key:${String(i)}`));
    await expect.poll(() => primary.query(SLEEPING), SECONDS).not.toHaveLength(0);
    expect(await answeredBy(warehouse)).toBe(first.port);
    isOver = true;
    await Promise.all(crowd);
  });

  it("keeps a replica in service when a query is abandoned", async () => {
    const { warehouse, statuses } = await routeTo([first]);
    let isNeeded = true;
    const answer = warehouse.rows(queryOf("hanging"), queryContext({ isStillNeeded: () => isNeeded }));
    setTimeout(() => (isNeeded = false), 300);
    await expect(answer).rejects.toThrow();
    expect(statuses).toHaveLength(1);
    expect(await answeredBy(warehouse)).toBe(first.port);
  });
});

describe("a replica that fails", () => {
  afterEach(async () => {
    for (const server of servers) {
      server.thaw();
      await server.start();
    }
  });

  it("leaves service at once when it is killed, and its pending queries run elsewhere", async () => {
    const { warehouse, statuses } = await routeTo([first]);
    const answers = Array.from({ length: 30 }, () => answeredBy(warehouse, "lingering"));
    await expect.poll(() => first.query(SLEEPING), SECONDS).toHaveLength(CALLERS_SHARE);
    await first.kill();
    expect(among(await Promise.all(answers))).toEqual(portsOf(primary));
    expect(statuses.slice(1)).toEqual([
      { address: addressOf(first), isInService: false, why: expect.any(String) },
    ]);
    await first.start();
    await expect.poll(() => answeredBy(warehouse), SECONDS).toBe(first.port);
    expect(statuses.slice(2)).toEqual([{ address: addressOf(first), isInService: true, why: null }]);
  });

  it.each(["fast", "immediate"] as const)(
    "is out of service at once when it is stopped (%s)",
    async (mode) => {
      const { warehouse, statuses } = await routeTo([first, second]);
      const answers = Array.from({ length: 30 }, () => answeredBy(warehouse, "lingering"));
      await expect.poll(() => first.query(SLEEPING), SECONDS).not.toHaveLength(0);
      await first.stop(mode);
      expect(await Promise.all(answers)).not.toContain(primary.port);
      expect(await answeredBy(warehouse)).toBe(second.port);
      expect(statuses.slice(2)).toMatchObject([{ address: addressOf(first), isInService: false }]);
    },
  );

  it("leaves service within seconds when it hangs, and its pending queries run elsewhere", async () => {
    const { warehouse, statuses } = await routeTo([first]);
    const answers = Array.from({ length: 30 }, () => answeredBy(warehouse, "lingering"));
    await expect.poll(() => first.query(SLEEPING), SECONDS).toHaveLength(CALLERS_SHARE);
    first.freeze();
    expect(among(await Promise.all(answers))).toEqual(portsOf(primary));
    expect(statuses.slice(1)).toEqual([
      { address: addressOf(first), isInService: false, why: "no answer to the health check" },
    ]);
    expect(warehouse.degraded).toBe("1 of 1 replicas are out of service.");
    first.thaw();
    await expect.poll(() => answeredBy(warehouse), SECONDS).toBe(first.port);
    expect(warehouse.degraded).toBeNull();
  });

  it("fails a stream that has begun, and the next queries run elsewhere", async () => {
    const { warehouse } = await routeTo([first]);
    const rows = await ask(warehouse, "numbers");
    if (rows.kind !== "stream") throw new Error("It is too short.");
    const piece = await rows.chunks.next();
    expect(String(piece.value)).toMatch(/^{"i":1,/);
    await first.kill();
    await expect(
      (async () => {
        while (!(await rows.chunks.next()).done);
      })(),
    ).rejects.toThrow();
    await rows.chunks.return();
    expect(await answeredBy(warehouse)).toBe(primary.port);
  });

  it("is not queried before it accepts the login, and its address is reported without secrets", async () => {
    const statuses: ReplicaStatus[] = [];
    const url = first.url.replace(/:[^:@]+@/, ":wrong@");
    const open = (each: string): Warehouse =>
      openPostgres({ url: each, statementTimeoutMs: 0, onIdleError: () => undefined });
    const sources = [{ address: addressOf(first), warehouse: open(url) }];
    const warehouse = routeToReplicas(open(primary.url), sources, (status) => void statuses.push(status));
    atEnd(() => warehouse.close());
    expect(await answeredBy(warehouse)).toBe(primary.port);
    await expect.poll(() => statuses, SECONDS).toHaveLength(1);
    expect(statuses).toMatchObject([{ address: addressOf(first), isInService: false }]);
    expect(await answeredBy(warehouse)).toBe(primary.port);
  });
});

describe("all servers gone", () => {
  it("fails every query, and the database is reachable again with any one of them", async () => {
    const { warehouse } = await routeTo([first, second]);
    await Promise.all(servers.map((server) => server.kill()));
    await expect(answeredBy(warehouse)).rejects.toThrow();
    expect(await warehouse.isReachable()).toBe(false);
    await second.start();
    expect(await warehouse.isReachable()).toBe(true);
    await expect.poll(() => answeredBy(warehouse).catch(() => null), SECONDS).toBe(second.port);
    await primary.start();
    await first.start();
    await expect
      .poll(
        () => Promise.all(Array.from({ length: 10 }, () => answeredBy(warehouse, "slow_server"))).then(among),
        SECONDS,
      )
      .toEqual(portsOf(first, second));
  });
});
