import { describe, expect, it } from "vitest";
import type { Leaf } from "../../runtime/core/model/aggregate/metric.js";
import type { Aggregate, AskedGroup } from "../../runtime/core/model/aggregate/aggregate.js";
import { type Condition, withDigest } from "../../runtime/core/model/query.js";
import { CLICKHOUSE_AGGREGATES } from "../../runtime/clickhouse/aggregates.js";
import { resolved } from "../../runtime/core/warehouse/sql.js";
import { groupedRows } from "../../runtime/metrics/answer-rows.js";
import { groupRows } from "../../runtime/metrics/grouped-rows.js";
import { POSTGRES_AGGREGATES } from "../../runtime/postgres/aggregates.js";

const VALUES = ["region", "day", "amount"].map((name) => ({ name, column: name }));

function aggregateOf(parts: Partial<Aggregate> = {}): Aggregate {
  return {
    of: "measures",
    relations: [{ name: "payments", relation: ["shop", "payments"], values: VALUES }],
    facts: [{ relation: "payments", joins: [] }],
    dimensions: ["region", "day"].map((name) => ({
      name,
      places: [{ fact: "payments", value: name }],
      ...(name === "day" && { grain: "day" as const }),
    })),
    spines: [],
    columns: [],
    filters: [],
    measures: [],
    ...parts,
  };
}

const volume: Leaf = { kind: "leaf", fact: "payments", value: "amount", aggregation: "sum", filters: [] };

interface Asked {
  readonly groups?: readonly AskedGroup[];
  readonly name?: string;
  readonly conditions?: readonly Condition[];
  readonly aggregate?: Aggregate;
  readonly metric?: Leaf;
}

/** The statement of a sum on PostgreSQL, or on ClickHouse. */
function statementOf(
  { groups = [], name = "volume", conditions = [], aggregate, metric = volume }: Asked,
  on = "postgres",
): string {
  const isPostgres = on === "postgres";
  const types = isPostgres ? ["text", "date", "numeric"] : ["String", "Date", "Decimal(18, 2)"];
  const columns = VALUES.map((value, i) => ({ name: value.name, type: types[i] ?? "" }));
  const measures = [{ name, groups: [], metric }];
  const grouping = { aggregate: withDigest(aggregate ?? aggregateOf()), groups, measures };
  const { select } = groupedRows(
    {
      grouping,
      conditions,
      types: new Map([
        ["payments", columns],
        ["days", [{ name: "ds", type: isPostgres ? "date" : "Date" }]],
      ]),
      dialect: isPostgres ? POSTGRES_AGGREGATES : CLICKHOUSE_AGGREGATES,
      rowsOf: groupRows,
    },
    [],
  );
  const { texts } = resolved(select, { grouping, conditions, sort: [], page: null });
  return texts.join("$1").replace(/ WINDOW types AS .*?have changed'\)\)\)/, "");
}

const region: AskedGroup = { key: "region", name: "region" };
const month: AskedGroup = { key: "day__month", name: "day", grain: "month" };
const since: Condition = { name: "start", column: "day", operator: ">=", type: "date", value: "2026-01-01" };

describe("a plan of groups", () => {
  it("of one relation is one SELECT, on PostgreSQL", () => {
    const period = `(pg_catalog.date_trunc(E'month', ("s"."day")::pg_catalog.timestamp))::pg_catalog.date`;
    expect(statementOf({ groups: [region, month], conditions: [since] })).toBe(
      `SELECT "s"."region" AS "region", ${period} AS "day__month", "pg_catalog"."sum"("s"."amount") AS "volume" ` +
        `FROM "shop"."payments" AS s WHERE (s."day" OPERATOR(pg_catalog.>=) $1::"pg_catalog"."date") GROUP BY "s"."region", ${period}`,
    );
  });

  it("of one relation is one SELECT, on ClickHouse", () => {
    const period = `toDate32(toStartOfMonth("s"."day"))`;
    expect(statementOf({ groups: [region, month], conditions: [since] }, "clickhouse")).toBe(
      `SELECT "s"."region" AS "region", ${period} AS "day__month", toNullable(sum("s"."amount")) AS "volume" ` +
        `FROM "shop"."payments" AS s WHERE "day" >= {$1:Date} GROUP BY "s"."region", ${period}`,
    );
  });

  it("gives nothing the name of another column that the same SELECT reads", () => {
    expect(statementOf({ groups: [region], name: "amount" }, "clickhouse")).toBe(
      `SELECT s."group region" AS "region", s."value 0 0" AS "amount" FROM (` +
        `SELECT "s"."region" AS "group region", toNullable(sum("s"."amount")) AS "value 0 0" FROM "shop"."payments" AS s GROUP BY "s"."region") AS s`,
    );
  });

  it("evaluates an expression of the project once for a row", () => {
    const values = VALUES.map((value) =>
      value.name === "region" ? { name: "region", sql: "upper(area)" } : value,
    );
    const relations = [{ name: "payments", relation: ["shop", "payments"] as const, values }];
    const statement = statementOf({ groups: [region], aggregate: aggregateOf({ relations }) });
    expect(statement).toContain(
      `FROM (SELECT (upper(area)) AS "region", "s"."amount" AS "value amount" FROM`,
    );
    expect(statement.split("upper(area)")).toHaveLength(2);
  });

  describe("of a cumulative metric adds up rows", () => {
    const spine = {
      name: "days",
      relation: ["shop", "days"] as const,
      values: ["ds", "season"].map((name) => ({ name, column: name })),
    };
    const season = { spine: "days", value: "season" };
    const aggregate = aggregateOf({
      relations: [...aggregateOf().relations, spine],
      dimensions: [
        ...aggregateOf().dimensions,
        { name: "day__season", places: [], derived: { time: "day", ...season } },
      ],
      spines: [{ relation: "days", value: "ds", grain: "day" }],
    });
    const window = { count: 365, grain: "day" } as const;
    const day: AskedGroup = { key: "day", name: "day", grain: "day" };
    const bySeason: AskedGroup = { key: "day__season", name: "day__season" };
    const statement = (cumulative: NonNullable<Leaf["cumulative"]>, ...groups: readonly AskedGroup[]) =>
      statementOf({
        groups: [region, ...groups],
        aggregate,
        metric: { ...volume, time: "day", cumulative },
      });
    const SPANS =
      'GROUP BY f."group region", "j0"."first of chosen positions", "j0"."end of chosen positions"';

    it.each([
      [{ window, periodAggregation: "last" }],
      [{ window, periodAggregation: "first" }],
      [{ periodAggregation: "first" }],
      [{ toGrain: "year", periodAggregation: "first" }],
    ] as const)("that count for the same days of longer periods, once: %j", (cumulative) => {
      const text = statement(cumulative, month);
      expect(text.split(SPANS)).toHaveLength(2);
      expect(text).not.toContain('GROUP BY "s"."region", "s"."day"');
    });

    it.each([
      [{ window, periodAggregation: "first" }, [day]],
      [{ window, periodAggregation: "average" }, [month]],
      // The days of a season of a month need not follow each other.
      [{ window, periodAggregation: "first" }, [month, bySeason]],
      [{ window, periodAggregation: "last" }, [month, bySeason]],
    ] as const)("of each day: %j by %j", (cumulative, groups) => {
      const text = statement(cumulative, ...groups);
      expect(text).toContain('GROUP BY "s"."region", "s"."day"');
      expect(text).not.toContain("chosen positions");
    });
  });

  it("sorts and cuts the rows of a saved query", () => {
    const saved = { groups: [region], filters: [], sort: [["volume", "DESC"]] as const, limit: 3 };
    expect(statementOf({ groups: [region], aggregate: aggregateOf({ saved }) })).toBe(
      `SELECT s."region" AS "region", s."volume" AS "volume" FROM (` +
        `SELECT "s"."region" AS "region", "pg_catalog"."sum"("s"."amount") AS "volume" FROM "shop"."payments" AS s GROUP BY "s"."region") AS s ` +
        `ORDER BY s."volume" DESC NULLS FIRST, s."region" ASC NULLS LAST LIMIT 3`,
    );
  });
});
