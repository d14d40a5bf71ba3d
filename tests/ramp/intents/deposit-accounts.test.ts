import { expect, it } from "vitest";
import { checkedCustomer, open } from "../support/deposits.js";
import { newestFirst } from "../support/lists.js";
import { ownWorld } from "../support/world.js";

it("a customer's deposit accounts are listed page by page, newest first", async () => {
  const world = await ownWorld();
  await world.sandbox.set({ settleMs: 50 });
  const { auth } = await checkedCustomer(world);
  const made = [await open(world, auth), await open(world, auth), await open(world, auth)];
  const ids = newestFirst(made.map(({ json }) => json));
  const listed: string[] = [];
  const path = "/v1/customers/deposit-accounts";
  for (let next: string | undefined = `${path}?limit=2`; next !== undefined;) {
    const { json, headers, text, status } = await world.call("GET", next, { auth });
    expect(status, text).toBe(200);
    listed.push(...json.map(({ id }: { id: string }) => id));
    next = /<([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1];
  }
  expect(listed).toEqual(ids);
  const unknown = await world.call("GET", `${path}?starting_after=${crypto.randomUUID()}`, { auth });
  expect([unknown.status, unknown.text]).toEqual([
    400,
    expect.stringContaining("names no item of this list"),
  ]);
});
