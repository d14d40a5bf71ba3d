/** What members of an organization may do with keys that an operator made, and who may become a member, over HTTP. */
import { describe, expect, it } from "vitest";
import { accountWorld, type Browser, keyIn, type World } from "./account-world.js";

const world = await accountWorld();
let numbers = 0;

/** An organization that an operator made. */
async function organizationOn(plan: string | null): Promise<string> {
  const id = `acme-${String(++numbers)}`;
  await world.operate("/organizations", { id, plan });
  return id;
}

const codeIn = (link = ""): string => new URL(link).searchParams.get("code") ?? "";

/** Somebody who is signed in and opens the link of an invitation. */
async function guestWith(link: string | undefined, { browser }: Pick<World, "browser"> = world) {
  const guest = browser();
  const code = codeIn(link);
  await guest.signIn(`guest-${String(++numbers)}@example.com`, `/account/sign-in?invitation=${code}`);
  return guest;
}

/** A member of an organization that an operator made. */
async function memberOf(organization: string): Promise<Browser> {
  const { link } = await world.operate("/invitations", { organization, role: "member" });
  const guest = await guestWith(link);
  await guest.submit("invitation");
  return guest;
}

const keysOf = (organization: string) =>
  world.sql("SELECT id, tier, expires_at FROM routewright_keys.keys WHERE organization = $1", [organization]);

describe("a key of an operator", () => {
  it.each([
    ["opens tier3", { tier: "tier3" }],
    ["opens what operators do", { tier: "tier3", allowed: ["system"] }],
    ["names the paths of operators", { tier: "tier2", allowed: ["shop", "/v1/system/keys"] }],
  ])("that %s is not replaced by a member, who would see the new one", async (_, owner) => {
    const organization = await organizationOn("pro");
    const { id = "" } = await world.operate("/keys", { user: "ops", organization, ...owner });
    const before = await keysOf(organization);
    const member = await memberOf(organization);
    await member.get("/account");
    const { text } = member.page;
    expect([text.includes(`Revoke the key ops`), text.includes(`Replace the key ops`)]).toEqual([
      true,
      false,
    ]);
    const form = { form: member.formToken, once: "once-and-no-more", organization, id };
    const page = await member.post("/account/keys/rotate", form);
    expect([page.status, keyIn(page)]).toEqual([409, ""]);
    expect(page.text).toContain("Ask the operator for another one.");
    expect(await keysOf(organization)).toEqual(before);
  });

  it("of at most tier2 is replaced, and one of tier3 is revoked by a member", async () => {
    const organization = await organizationOn("pro");
    const { id: low = "" } = await world.operate("/keys", { user: "low", organization, tier: "tier2" });
    const { id: high = "" } = await world.operate("/keys", { user: "high", organization, tier: "tier3" });
    const member = await memberOf(organization);
    const form = { form: member.formToken, once: "once-and-no-more", organization };
    expect(keyIn(await member.post("/account/keys/rotate", { ...form, id: low }))).not.toBe("");
    expect((await member.post("/account/keys/revoke", { ...form, id: high })).status).toBe(200);
  });

  it("is not replaced where the organization has no plan: what is made would open all of its tier", async () => {
    const organization = await organizationOn("pro");
    const { id = "" } = await world.operate("/keys", { user: "low", organization, tier: "tier2" });
    const member = await memberOf(organization);
    await world.sql("UPDATE routewright_keys.organizations SET plan = NULL WHERE id = $1", [organization]);
    const form = { form: member.formToken, once: "once-and-no-more", organization, id };
    const page = await member.post("/account/keys/rotate", form);
    expect([page.status, keyIn(page), page.text]).toEqual([409, "", expect.stringContaining("No plan")]);
  });
});

describe("an organization without a plan", () => {
  it("has no invitations of operators", async () => {
    const organization = await organizationOn(null);
    const refused = await world.operate("/invitations", { organization });
    expect(refused).toEqual({ detail: expect.stringContaining("has a plan") as string });
    expect(
      await world.sql("SELECT FROM routewright_keys.invitations WHERE organization = $1", [organization]),
    ).toEqual([]);
  });

  it("is joined once it has one: the invitation is not used up before", async () => {
    const organization = await organizationOn("pro");
    const { link } = await world.operate("/invitations", { organization, role: "member" });
    await world.operate(`/organizations/${organization}`, { plan: null }, "PATCH");
    const guest = await guestWith(link);
    const fields = guest.fields("invitation");
    const refused = await guest.post("/account/invitation", fields);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("No plan")]);
    expect(
      await world.sql("SELECT FROM routewright_keys.members WHERE organization = $1", [organization]),
    ).toEqual([]);
    await world.operate(`/organizations/${organization}`, { plan: "free" }, "PATCH");
    expect((await guest.post("/account/invitation", fields)).status).toBe(200);
  });

  it("has no invitations of its owners", async () => {
    const organization = await organizationOn("pro");
    const { link } = await world.operate("/invitations", { organization, role: "owner" });
    const owner = await guestWith(link);
    await owner.submit("invitation");
    await world.sql("UPDATE routewright_keys.organizations SET plan = NULL WHERE id = $1", [organization]);
    await owner.get("/account");
    const refused = await owner.submit("invitations", { role: "member" });
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("No plan")]);
  });

  it("is not what somebody gets by an invitation to one of their own, where the config file names no plan", async () => {
    const closed = await accountWorld(null);
    const { link } = await closed.operate("/invitations", {});
    const guest = await guestWith(link, closed);
    const refused = await guest.submit("invitation");
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("No plan")]);
    expect(await closed.sql("SELECT FROM routewright_keys.organizations")).toEqual([]);
  });
});
