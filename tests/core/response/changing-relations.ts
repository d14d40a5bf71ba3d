/** A relation whose rows change by other ways than a build of dbt. `@` stands for the schema, `$` for a number from 0 to 9. */
export interface ChangingRelation {
  readonly create: readonly string[];
  /** What brings it back to its first rows. */
  readonly reset: string;
  /** The first one changes the rows in one step: a reader sees those before or those after. */
  readonly changes: readonly [string, ...string[]];
  readonly materialized?: string;
  /** Its rows change by themselves: no promise holds for them, and no other query can tell what a request has to bring. */
  readonly isClock?: true;
}

const changesOf = (table: string): readonly [string, ...string[]] => [
  `INSERT INTO @.${table} VALUES ($)`,
  `DELETE FROM @.${table} WHERE id = $`,
  `DELETE FROM @.${table} WHERE id > 3`,
];

export const POSTGRES: Readonly<Record<string, ChangingRelation>> = {
  plain: {
    create: ["CREATE TABLE @.plain (id int)"],
    reset: "TRUNCATE @.plain; INSERT INTO @.plain VALUES (1), (2)",
    changes: [...changesOf("plain"), "UPDATE @.plain SET id = 9 - id", "TRUNCATE @.plain"],
  },
  hard_coded_name: {
    create: [
      "CREATE TABLE @.fx_rates (id int)",
      "CREATE VIEW @.hard_coded_name AS SELECT o.id * r.id AS id FROM @.orders o, @.fx_rates r",
    ],
    reset:
      "TRUNCATE @.orders, @.fx_rates; INSERT INTO @.orders VALUES (1); INSERT INTO @.fx_rates VALUES (2)",
    changes: [...changesOf("fx_rates"), ...changesOf("orders"), "UPDATE @.fx_rates SET id = id + 1"],
    materialized: "view",
  },
  volatile_function: {
    create: [
      "CREATE TABLE @.hidden (id int)",
      "CREATE FUNCTION @.hidden_rows() RETURNS SETOF int LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT h.id FROM @.hidden h; END'",
      "CREATE VIEW @.volatile_function AS SELECT r AS id FROM @.hidden_rows() r",
    ],
    reset: "TRUNCATE @.hidden; INSERT INTO @.hidden VALUES (3)",
    changes: changesOf("hidden"),
    materialized: "view",
  },
  counter: {
    create: ["CREATE SEQUENCE @.ids", "CREATE VIEW @.counter AS SELECT last_value AS id FROM @.ids"],
    reset: "SELECT setval('@.ids', 1)",
    changes: ["SELECT nextval('@.ids')", "SELECT setval('@.ids', $ + 1)"],
    materialized: "view",
  },
  clock: {
    create: [
      "CREATE VIEW @.clock AS SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint AS id FROM @.orders",
    ],
    reset: "TRUNCATE @.orders; INSERT INTO @.orders VALUES (1)",
    changes: ["SELECT 1"],
    materialized: "view",
    isClock: true,
  },
  refreshed: {
    create: [
      "CREATE TABLE @.counted (id int)",
      "CREATE MATERIALIZED VIEW @.refreshed AS SELECT id FROM @.counted",
    ],
    reset: "TRUNCATE @.counted; INSERT INTO @.counted VALUES (1); REFRESH MATERIALIZED VIEW @.refreshed",
    changes: [
      "INSERT INTO @.counted VALUES ($); REFRESH MATERIALIZED VIEW @.refreshed",
      ...changesOf("counted"),
      "REFRESH MATERIALIZED VIEW @.refreshed",
    ],
    materialized: "materialized_view",
  },
  partitioned: {
    create: [
      "CREATE TABLE @.partitioned (id int) PARTITION BY RANGE (id)",
      "CREATE TABLE @.low PARTITION OF @.partitioned FOR VALUES FROM (0) TO (5)",
      "CREATE TABLE @.high PARTITION OF @.partitioned FOR VALUES FROM (5) TO (10)",
    ],
    reset: "TRUNCATE @.low, @.high; INSERT INTO @.low VALUES (1); INSERT INTO @.high VALUES (6)",
    changes: [
      `DO 'BEGIN IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = ''@.high''::regclass)
        THEN ALTER TABLE @.partitioned DETACH PARTITION @.high;
        ELSE ALTER TABLE @.partitioned ATTACH PARTITION @.high FOR VALUES FROM (5) TO (10); END IF; END'`,
      "INSERT INTO @.low VALUES ($ % 5)",
      "INSERT INTO @.high VALUES (5 + $ % 5)",
      "DELETE FROM @.partitioned WHERE id = $",
    ],
  },
  swapped: {
    create: ["CREATE TABLE @.swapped (id int)"],
    reset: "TRUNCATE @.swapped; INSERT INTO @.swapped VALUES (1)",
    changes: [
      "CREATE TABLE @.next AS SELECT generate_series(1, $ % 4) AS id; DROP TABLE @.swapped; ALTER TABLE @.next RENAME TO swapped",
      ...changesOf("swapped"),
    ],
  },
};

const tableOf = (name: string): string => `CREATE TABLE @.${name} (id Int32) ORDER BY tuple()`;
const resetOf = (name: string, id: number): string =>
  `TRUNCATE TABLE @.${name}; INSERT INTO @.${name} VALUES (${String(id)})`;

export const CLICKHOUSE: Readonly<Record<string, ChangingRelation>> = {
  plain: {
    create: [tableOf("plain")],
    reset: resetOf("plain", 1),
    changes: [
      ...changesOf("plain"),
      "ALTER TABLE @.plain UPDATE id = 9 - id WHERE true SETTINGS mutations_sync = 2",
      "TRUNCATE TABLE @.plain",
    ],
  },
  memory: {
    create: ["CREATE TABLE @.memory (id Int32) ENGINE = Memory"],
    reset: resetOf("memory", 1),
    changes: ["INSERT INTO @.memory VALUES ($)", "TRUNCATE TABLE @.memory"],
  },
  hard_coded_name: {
    create: [
      tableOf("fx_rates"),
      "CREATE VIEW @.hard_coded_name AS SELECT o.id * r.id AS id FROM @.orders AS o, @.fx_rates AS r",
    ],
    reset: `${resetOf("orders", 1)}; ${resetOf("fx_rates", 2)}`,
    changes: [...changesOf("fx_rates"), ...changesOf("orders")],
    materialized: "view",
  },
  clock: {
    create: ["CREATE VIEW @.clock AS SELECT toUnixTimestamp64Nano(now64(9)) AS id FROM @.orders"],
    reset: resetOf("orders", 1),
    changes: ["SELECT 1"],
    materialized: "view",
    isClock: true,
  },
  refreshed: {
    create: [
      tableOf("counted"),
      tableOf("target"),
      "CREATE MATERIALIZED VIEW @.refreshed TO @.target AS SELECT id + 1 AS id FROM @.counted",
    ],
    reset: `TRUNCATE TABLE @.counted; ${resetOf("target", 1)}`,
    changes: ["INSERT INTO @.counted VALUES ($)", ...changesOf("target")],
    materialized: "materialized_view",
  },
  attached: {
    create: [tableOf("attached"), tableOf("spare")],
    reset: `ALTER TABLE @.attached DROP DETACHED PARTITION ALL SETTINGS allow_drop_detached = 1; ${resetOf("attached", 1)}; ${resetOf("spare", 2)}`,
    changes: [
      "ALTER TABLE @.attached ATTACH PARTITION tuple() FROM @.spare",
      "ALTER TABLE @.attached REPLACE PARTITION tuple() FROM @.spare",
      "ALTER TABLE @.attached DETACH PARTITION tuple()",
      "ALTER TABLE @.attached ATTACH PARTITION tuple()",
      "INSERT INTO @.spare VALUES ($)",
    ],
  },
  exchanged: {
    create: [tableOf("exchanged"), tableOf("next")],
    reset: `${resetOf("exchanged", 1)}; ${resetOf("next", 2)}`,
    changes: ["EXCHANGE TABLES @.exchanged AND @.next", ...changesOf("next"), ...changesOf("exchanged")],
  },
};
