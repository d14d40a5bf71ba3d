import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { recent } from "../../../runtime/core/model/timer.js";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

describe("a value that is made once for all who ask", () => {
  it("is made once for all who read it within a second, and again after it", async () => {
    let made = 0;
    const read = recent(() => Promise.resolve(String(++made)));
    const texts = Array.from({ length: 1000 }, () => read());
    expect(new Set(await Promise.all(texts))).toEqual(new Set(["1"]));
    await sleep(1100);
    expect(await read()).toBe("2");
  });

  it("is made again by the next reader where it could not be made", async () => {
    const results = [() => Promise.reject(new Error("no database")), () => Promise.resolve("text")];
    const read = recent(() => (results.shift() as () => Promise<string>)());
    await expect(read()).rejects.toThrow("no database");
    expect(await read()).toBe("text");
  });
});

it("readers of public metrics see what has been counted, this machine at once", async () => {
  const schema = await ownSchema("CREATE TABLE @.sales AS SELECT 1::bigint AS n");
  const url = await serveManifest(manifestOf([{ name: "sales", schema, columns: { n: "bigint" } }]), {
    METRICS_PUBLIC: "true",
  });
  const isCounted = async (headers: Record<string, string>): Promise<boolean> =>
    /^routewright_requests_total\{.*route="\/v1\/shop\/sales"/m.test(
      (await sendRequest(url, "/metrics", { headers })).text,
    );
  const stranger = { "x-forwarded-for": "192.0.2.1" };
  expect([await isCounted(stranger), await isCounted({})]).toEqual([false, false]);
  await sendRequest(url, "/v1/shop/sales");
  expect(await isCounted({})).toBe(true);
  await expect.poll(() => isCounted(stranger)).toBe(true);
});
