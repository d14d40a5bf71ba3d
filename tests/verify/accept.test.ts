import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const folder = ownFolder();
const schema = await ownSchema(`
  CREATE TABLE @.sales (id bigint, note text);
  INSERT INTO @.sales SELECT i, 'note ' || i FROM generate_series(1, 10) i;
  ANALYZE @.sales;
`);
const columns = { id: "integer", note: "text", gone: "text" };
const tags = ["production", "shop", "api:sales"];
const model = {
  name: "sales",
  schema,
  tags,
  columns,
  materialized: "table",
  api: { allow_unfiltered: true },
};

function write(name: string, json: unknown): string {
  writeFileSync(join(folder, name), JSON.stringify(json));
  return name;
}

const manifest = write("manifest.json", manifestOf([model], { adapter_type: "postgres" }));
const url = { DATABASE_URL: databaseUrl };
const run = (...args: readonly string[]) => routewright(folder, ["verify", manifest, ...args], url);

interface Difference {
  readonly check: string;
  readonly endpoint: string;
  readonly subject: string | null;
}
interface VerifyJson {
  readonly failed: boolean;
  readonly summary: object;
  readonly differences: readonly Difference[];
  readonly accepted: readonly (Difference & { readonly reason: string })[];
}

const jsonOf = async (...args: readonly string[]): Promise<VerifyJson> =>
  JSON.parse((await run("--format", "json", ...args)).out) as VerifyJson;

const found = await jsonOf();
const byCheck = found.differences.toSorted((a, b) => (a.check < b.check ? -1 : 1));
const entries = byCheck.map(({ check, endpoint, subject }) => ({
  kind: check,
  endpoint,
  subject,
  reason: "Until the next mart.",
}));

describe("the accept file of verify", () => {
  it("accepts a difference, shows it, and fails at the others", async () => {
    expect(byCheck.map(({ check }) => check)).toEqual(["column-type", "missing-column"]);
    const [first] = entries;
    const one = await jsonOf("--accept", write("one.json", [first]));
    expect(one).toMatchObject({
      failed: true,
      summary: { error: 1, accepted: 1 },
      differences: [{ check: "missing-column" }],
      accepted: [{ check: "column-type", reason: "Until the next mart." }],
    });
    const { exit, out } = await run("--accept", write("both.json", entries));
    expect([exit, out]).toEqual([0, expect.stringContaining('Accepted: "Until the next mart."')]);
  });

  it("takes the entries that the comment offers, once they have a reason", async () => {
    const { exit, out } = await run("--format", "markdown", "--fail-on", "error");
    expect(exit).toBe(1);
    const offered = JSON.parse(/```json\n(\[[^]*?\n\])\n```/.exec(out)?.[1] ?? "") as object[];
    const file = write(
      "pasted.json",
      offered.map((one) => ({ ...one, reason: "Agreed." })),
    );
    expect((await run("--accept", file)).exit).toBe(0);
  });

  it("accepts through the last day of `expires`, not another type, and says what is stale", async () => {
    const [type, column] = entries;
    const ended = await run("--accept", write("ended.json", [{ ...type, expires: "2026-01-31" }, column]));
    expect([ended.exit, ended.out]).toEqual([1, expect.stringContaining("has expired entries")]);
    const holds = await run("--accept", write("holds.json", [{ ...type, expires: "9999-12-31" }, column]));
    expect(holds.exit).toBe(0);
    const other = await run(
      "--accept",
      write("other.json", [{ ...type, subject: "id, integer, text" }, column]),
    );
    expect([other.exit, other.out]).toEqual([1, expect.stringContaining("match no difference")]);
  });

  it("leaves the entries of changes to `diff`, which leaves those of `verify`", async () => {
    const change = { kind: "column-removed", endpoint: "/v1/shop/sales", subject: "x", reason: "Agreed." };
    const file = write("all.json", [...entries, change]);
    const verified = await run("--accept", file);
    expect([verified.exit, verified.out]).toEqual([0, expect.not.stringContaining("stale")]);
    const diffed = await routewright(folder, ["diff", manifest, manifest, "--accept", file]);
    expect([diffed.exit, diffed.out]).toEqual([0, expect.not.stringContaining("missing-column")]);
  });

  it("refuses a file that does not exist, and one with an unknown kind", async () => {
    expect(await run("--accept", "nowhere.json")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("No accept file nowhere.json."),
    });
    const unknown = await run("--accept", write("unknown.json", [{ ...entries[0], kind: "column-typ" }]));
    expect(unknown).toMatchObject({ exit: 2, err: expect.stringContaining("column-type") });
  });
});
