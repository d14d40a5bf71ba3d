import { expect, it } from "vitest";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";
import { CARD_CAPABILITIES, ownCardProvider } from "../support/card-provider.js";
import { routewright } from "../support/command-line.js";
import { ownSandbox } from "../support/world.js";

const sandbox = await ownSandbox();
await sandbox.set({ settleMs: 50 });

it.each(SANDBOX_PROVIDERS)(
  "the provider $code passes the protocol's test",
  async ({ path, keyId, secret }) => {
    const { exit, out, error } = await routewright(
      ...["provider", "test", "--url", sandbox.url + path, "--key-id", keyId, "--secret", secret],
    );
    expect(out, error).not.toContain("FAIL");
    expect(out).toContain("a full refund is REFUNDED");
    expect(exit).toBe(0);
  },
);

it("a provider that checks no signatures and knows every order fails, each failure by name", async () => {
  const provider = await ownCardProvider({ status: "SUCCESS" });
  const test = ["provider", "test", "--url", provider.url, "--key-id", "key", "--secret", "secret"];
  const live = await routewright(...test);
  expect(live).toMatchObject({ exit: 1, out: expect.stringContaining("FAIL  sandbox") });
  provider.capabilities = { ...CARD_CAPABILITIES, sandbox: true };
  const { exit, out } = await routewright(...test);
  expect(exit).toBe(1);
  expect(out).toContain("FAIL  unsigned requests are refused: status 200, not 401");
  expect(out).toContain("FAIL  a wrong signature is refused");
  expect(out).toContain("FAIL  an unknown onboarding is 404 UNKNOWN_ORDER");
});
