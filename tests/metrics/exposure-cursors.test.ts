import { describe, expect, it } from "vitest";
import { exposureService } from "./exposure-service.js";

const { url, ask } = await exposureService();

describe("a cursor of groups", async () => {
  const first = await fetch(`${url}/v1/pay/revenue?group_by=payment__token&limit=1`, {
    headers: { "X-API-Key": "sk_live_acme" },
  });
  const link = first.headers.get("link") ?? "";
  const cursor = /[?&]cursor=([^&>]+)/.exec(link)?.[1] ?? "";
  const next = `revenue?group_by=payment__token&limit=1&cursor=${cursor}`;

  it("continues the request that it is from", async () => {
    expect(await ask(next, "acme")).toEqual({
      status: 200,
      body: [{ payment__token: "XDAI", revenue: 7, payment_count: 1 }],
    });
  });

  it.each([
    ["another organization", next, "other"],
    ["a caller of all organizations", next, "all"],
    ["another filter", `${next}&payment__token[ne]=x`, "acme"],
    ["another group", next.replace("payment__token", "customer__region"), "acme"],
    ["another sort", `${next}&sort_by=revenue`, "acme"],
    ["another endpoint", next.replace("revenue", "payers"), "acme"],
    ["a model's groups", `own_payments?group_by=token&limit=1&cursor=${cursor}`, "acme"],
    ["no groups", `revenue?cursor=${cursor}`, "acme"],
    ["a changed letter", next.replace(/.$/, (last) => (last === "A" ? "B" : "A")), "acme"],
    ["a cut one", next.slice(0, -4), "acme"],
    ["a made one", `revenue?group_by=payment__token&cursor=${btoa('[["GNO"],""]')}`, "acme"],
  ] as const)("is refused for %s", async (_, request, key) => {
    expect((await ask(request, key)).status).toBe(400);
  });
});
