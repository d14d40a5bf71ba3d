import { describe, expect, it } from "vitest";
import { routewright } from "../../commands/run.js";
import { recordedDay, type UsageRow } from "../../../runtime/server/operations/usage-row.js";
import { UsageTable } from "../../../runtime/server/operations/usage-table.js";
import { ownDatabase, query, queryAt } from "../../support/database.js";
import { ownFolder } from "../../support/service.js";
import { run as runBuilt } from "../../support/command.js";

const url = await ownDatabase();

function row(day: string, key: string, route: string, given: Partial<UsageRow> = {}): UsageRow {
  const owner = key === "none" ? { user: "", org: "", tier: "tier0" } : { user: "ann", org: "Acme" };
  const lastSeen = Date.parse(`${day}T10:11:12.345Z`);
  const counts = { requests: 10, refused: 1, errors: 2, rows: 30, bytes: 400 };
  return { day, key, route, tier: "tier1", ...owner, ...counts, lastSeen, parameters: new Map(), ...given };
}

const table = await UsageTable.open(url);
await table.add([
  row("2026-01-30", "aaaa00000000", "/v1/a", { user: "ann before", tier: "tier3" }),
  row("2026-01-31", "aaaa00000000", "/v1/a", { requests: 5, parameters: new Map([["symbol", 3]]) }),
  recordedDay("2026-01-31"),
  row("2026-01-31", "aaaa00000000", "/v1/b"),
  row("2026-01-31", "aabb00000000", "/v1/b", { user: "bob\u001b[2J", org: "", requests: 1234 }),
  row("2026-02-01", "none", "none", { rows: 2 ** 51 }),
]);
await table.close();

const folder = ownFolder();
const usage = (address: string, ...argv: readonly string[]) =>
  routewright(folder, ["usage", ...argv], { DATABASE_URL: address });

describe("routewright usage", () => {
  it("lists the owner, the sums and the last request of each key, the busiest first", async () => {
    expect(await usage(url)).toEqual({
      exit: 0,
      err: "",
      out: [
        "key\tuser\torg\ttier\trequests\trefused\terrors\trows\tbytes\tlast seen",
        "aabb00000000\tbob\\u001b[2J\t\ttier1\t1234\t1\t2\t30\t400\t2026-01-31T10:11:12Z",
        "aaaa00000000\tann\tAcme\ttier1\t25\t3\t6\t90\t1200\t2026-01-31T10:11:12Z",
        "none\t\t\ttier0\t10\t1\t2\t2251799813685248\t400\t2026-02-01T10:11:12Z",
        "",
      ].join("\n"),
    });
  });

  it("lists the number of keys of each route", async () => {
    expect(
      (await usage(url, "--by", "route")).out.split("\n").map((line) => line.split("\t").slice(0, 3)),
    ).toEqual([
      ["route", "keys", "requests"],
      ["/v1/b", "2", "1244"],
      ["/v1/a", "1", "15"],
      ["none", "1", "10"],
      [""],
    ]);
  });

  it("lists the days in order", async () => {
    expect(
      (await usage(url, "--by", "day")).out.split("\n").map((line) => line.split("\t").slice(0, 3)),
    ).toEqual([
      ["day", "keys", "requests"],
      ["2026-01-30", "1", "10"],
      ["2026-01-31", "2", "1249"],
      ["2026-02-01", "1", "10"],
      [""],
    ]);
  });

  it.each([
    ["--since 2026-01-31", [1234, 15, 10]],
    ["--since 2026-02-01", [10]],
    ["--key aaaa00000000", [25]],
    ["--key AA", [1234, 25]],
    ["--key none", [10]],
    ["--key aabb --since 2026-01-01 --by day", [1234]],
  ])("is narrowed down by %s", async (flags, requests) => {
    const { out } = await usage(url, ...flags.split(" "), "--json");
    expect((JSON.parse(out) as { requests: number }[]).map((line) => line.requests)).toEqual(requests);
  });

  it("prints JSON with numbers and times", async () => {
    expect(JSON.parse((await usage(url, "--key", "none", "--json")).out)).toEqual([
      {
        key: "none",
        user: "",
        org: "",
        tier: "tier0",
        requests: 10,
        refused: 1,
        errors: 2,
        rows: 2 ** 51,
        bytes: 400,
        lastSeen: "2026-02-01T10:11:12Z",
      },
    ]);
  });

  it("lists each key, organization, route, day and parameter, and the recorded days", async () => {
    const { out } = await usage(url, "--by", "all", "--json", "--since", "2026-01-31");
    const line = (key: string, org: string, route: string, requests: number, parameter: string | null) => ({
      day: "2026-01-31",
      ...{ key, org, route, parameter, requests },
      // Of the requests to a route, how many were neither refused nor failed.
      ...(parameter === null && { succeeded: Math.max(0, requests - 3) }),
    });
    expect(JSON.parse(out)).toEqual([
      line("", "", "", 0, null),
      line("aaaa00000000", "Acme", "/v1/a", 5, null),
      line("aaaa00000000", "Acme", "/v1/a", 3, "symbol"),
      line("aaaa00000000", "Acme", "/v1/b", 10, null),
      line("aabb00000000", "", "/v1/b", 1234, null),
      { ...line("none", "", "none", 10, null), day: "2026-02-01" },
    ]);
    expect((await usage(url, "--by", "all", "--key", "aaaa")).out.split("\n")[0]).toBe(
      "day\tkey\torg\troute\tparameter\trequests\tsucceeded",
    );
  });

  it("reports that there is no usage yet, or none that matches", async () => {
    const nothing = "A server writes it within ten seconds, unless USAGE_ENABLED is false.\n";
    expect(await usage(await ownDatabase())).toEqual({ exit: 0, out: "", err: `No usage yet. ${nothing}` });
    expect(await usage(url, "--key", "ffff", "--since", "2026-01-01", "--json")).toEqual({
      exit: 0,
      out: "[]\n",
      err: `No usage of the key ffff since 2026-01-01 yet. ${nothing}`,
    });
  });

  it("says where usage is stored when DATABASE_URL is ClickHouse", async () => {
    const { exit, err } = await usage("clickhouse://api:hush@127.0.0.1:1/default");
    expect({ exit, err }).toEqual({
      exit: 2,
      err: expect.stringContaining("set DATABASE_URL to PostgreSQL"),
    });
    expect(err).not.toContain("hush");
  });

  it("names the missing database, and creates none", async () => {
    const { code, stdout, stderr } = await runBuilt(ownFolder(), ["usage"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("There is no database to read usage from: set DATABASE_URL");
  });

  const SINCE = "--since must be a day in UTC, such as 2026-01-31.";
  const ID =
    "--key must be a key's id, as `routewright keys list` shows it, or none for callers without a key.";
  const BY =
    "option '--by <subject>' argument 'hour' is invalid. Allowed choices are key, route, day, version, all.";

  it.each([
    ["--since", "2026-02-30", SINCE],
    ["--since", "yesterday", SINCE],
    ["--since", "2026-1-1", SINCE],
    ["--since", "+010000-01-01", SINCE],
    ["--key", "sk_live_confidential", ID],
    ["--key", "", ID],
    ["--by", "hour", BY],
  ])("refuses %s %s", async (flag, value, problem) => {
    expect(await usage(url, flag, value)).toEqual({ exit: 2, out: "", err: `error: ${problem}\n` });
  });

  it("reports in one line why a database cannot be read, without its password", async () => {
    const away = await usage("postgres://ann:hush-Password@127.0.0.1:1/none");
    expect([away.exit, away.out]).toEqual([2, ""]);
    expect(away.err).toMatch(/^error: Usage cannot be read from the database: .*ECONNREFUSED.*\n$/);
    expect(away.err).not.toContain("hush");
  });

  it("prints the grant for a role that may not read", async () => {
    const role = `usage_reader_${String(process.pid)}`;
    await query(`CREATE ROLE ${role} LOGIN PASSWORD 'hush-Password'`);
    const address = new URL(url);
    address.username = role;
    address.password = "hush-Password";
    try {
      const refused = await usage(address.href);
      expect([refused.exit, refused.out]).toEqual([2, ""]);
      const [, grants = ""] = /Let the database's owner run (.*)\.\n$/.exec(refused.err) ?? [];
      expect(grants).toContain(` TO ${role}`);
      await queryAt(url, grants);
      expect((await usage(address.href)).exit).toBe(0);
    } finally {
      await queryAt(url, `DROP OWNED BY ${role}`);
      await query(`DROP ROLE ${role}`);
    }
  });
});
