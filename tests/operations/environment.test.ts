import { describe, expect, it } from "vitest";
import { readEnvironment } from "../../runtime/operations/environment.js";

const DATABASE_URL = "postgres://reader:secret@one/warehouse";

describe("DATABASE_REPLICA_URLS", () => {
  it("lists addresses with commas between them", () => {
    const urls = ["postgres://reader:secret@two/warehouse", "postgresql://three:5433/warehouse"];
    const reading = readEnvironment({ DATABASE_URL, DATABASE_REPLICA_URLS: ` ${urls.join(" , ")} ` });
    expect(reading).toMatchObject({ ok: true, environment: { replicaUrls: urls } });
  });

  it("may be left out", () => {
    expect(readEnvironment({})).toMatchObject({ ok: true, environment: { replicaUrls: [] } });
  });

  it("reports each invalid address by its position, without its text", () => {
    const reading = readEnvironment({
      DATABASE_URL,
      DATABASE_REPLICA_URLS: `mysql://secret@two/x,${DATABASE_URL},,postgres://secret@[`,
    });
    expect(reading).toEqual({
      ok: false,
      problems: [1, 3, 4].map(
        (n) => `DATABASE_REPLICA_URLS: entry ${String(n)} must be a postgres:// address.`,
      ),
    });
  });

  it("requires DATABASE_URL", () => {
    expect(readEnvironment({ DATABASE_REPLICA_URLS: DATABASE_URL })).toEqual({
      ok: false,
      problems: ["DATABASE_REPLICA_URLS needs DATABASE_URL, the primary of these replicas."],
    });
  });
});
