import { describe, expect, it } from "vitest";
import { updateProject } from "../../../runtime/ramp/operator/projects.js";
import { made, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();

describe("redirect URLs", () => {
  const create = (auth: string, urls: Readonly<Record<string, string>>): Promise<Reply> =>
    world.call("POST", "/v1/intent", { auth, body: onramp(urls) });

  it("may be at any origin until the project registers one, then at registered ones only", async () => {
    const project = await world.project();
    const auth = await newCustomer(world, project);
    const elsewhere = { onboardingRedirectUrl: "https://elsewhere.example.com/back" };
    expect((await create(auth, elsewhere)).status).toBe(201);
    made(await updateProject(world, project.id, { redirectOrigins: ["https://shop.example.com"] }));
    const registered = {
      onboardingRedirectUrl: "https://shop.example.com/a",
      checkoutRedirectUrl: "https://shop.example.com/b?c",
    };
    expect((await create(auth, registered)).status).toBe(201);
    expect((await create(auth, {})).status).toBe(201);
    for (const url of [
      "https://elsewhere.example.com/back",
      "http://shop.example.com/a",
      "https://shop.example.com:8443/a",
      "https://shop.example.com.evil.example/a",
      "https://shop.example.com@evil.example/a",
    ]) {
      const { status, json } = await create(auth, { checkoutRedirectUrl: url });
      expect([status, json.error, json.details?.[0]?.path], url).toEqual([
        400,
        "INVALID_REQUEST",
        "/checkoutRedirectUrl",
      ]);
    }
    made(await updateProject(world, project.id, { redirectOrigins: [] }));
    expect((await create(auth, elsewhere)).status).toBe(201);
  });
});

describe("project settings", () => {
  it.each([
    [{ name: " " }, "The name is empty."],
    [{ redirectOrigins: ["https://a.example.com/path"] }, "is not an origin"],
    [{ pageOrigins: ["a.example.com"] }, "is not an origin"],
    [{ walletDomains: ["https://a.example.com"] }, "is not a host"],
    [{ walletDomains: ["A.example.com"] }, "is not a host"],
    [{ walletDomains: ["a.example.com/x"] }, "is not a host"],
  ])("refuse %j", async (settings, problem) => {
    const project = await world.project();
    expect(await updateProject(world, project.id, settings)).toEqual({
      ok: false,
      problem: expect.stringContaining(problem),
    });
  });
});
