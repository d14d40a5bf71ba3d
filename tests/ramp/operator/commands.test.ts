import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { json, routewright } from "../support/command-line.js";
import { ownDatabase, queryAt, ownSandbox } from "../support/world.js";
import { SANDBOX_PROVIDERS } from "../../../runtime/ramp/sandbox/sandbox-server.js";

process.env["DATABASE_URL"] = await ownDatabase();
process.env["RAMP_SECRETS_KEY"] = "ab".repeat(32);
const sandbox = await ownSandbox();

async function newShop(...settings: readonly string[]): Promise<Record<string, string>> {
  const { organizationId = "" } = await json("org", "create", "--name", "Acme");
  return json("project", "create", "--org", organizationId, "--name", "Shop", ...settings);
}

describe("routewright ramp", () => {
  it("sets a project up from nothing, showing each secret once", async () => {
    const project = await newShop("--ttl-seconds", "60");
    expect(Object.keys(project)).toEqual(["projectId", "clientId", "clientSecret"]);
    const { projectId = "", clientSecret = "" } = project;
    const own = ["--project", projectId];
    const idp = ["--issuer", "https://id.invalid", "--audience", "a", "--audience", "b"];
    await json("idp", "add", ...own, ...idp, "--unchecked");
    const [north] = SANDBOX_PROVIDERS;
    const target = ["--provider", north?.code ?? "", "--url", sandbox.url + (north?.path ?? "")];
    const connect = ["provider", "connect", ...own, ...target];
    await json(...connect, "--key-id", north?.keyId ?? "", "--secret", north?.secret ?? "");
    const hook = ["--url", "https://shop.example.com/hook"];
    const { secret = "" } = await json("webhook", "add", ...own, ...hook);
    expect(secret).toMatch(/^whsec_/);
    for (const list of [
      ["project", "list"],
      ["secret", "list", ...own],
      ["provider", "list", ...own],
      ["key", "list"],
    ]) {
      const { out } = await routewright(...list, "--json");
      for (const hidden of [clientSecret, secret, north?.secret ?? ""]) expect(out).not.toContain(hidden);
    }
    expect(await json("idp", "list", "--project", projectId)).toMatchObject([
      { audiences: ["a", "b"], clockSkewSeconds: 0, jwksUrl: null, allowHttp: false },
    ]);
  });

  it("takes a provider's secret from the environment or standard input, where no list of processes shows it", async () => {
    const { projectId = "" } = await newShop();
    const [north] = SANDBOX_PROVIDERS;
    const { code = "", path = "", keyId = "", secret = "" } = north ?? {};
    const url = sandbox.url + path;
    const connect = ["provider", "connect", "--project", projectId, "--provider", code, "--url", url];
    const withKey = [...connect, "--key-id", keyId];
    const missing = await routewright(...withKey);
    expect(missing).toMatchObject({ exit: 2, error: expect.stringContaining("RAMP_PROVIDER_SECRET") });
    process.env["RAMP_PROVIDER_SECRET"] = secret;
    expect((await routewright(...withKey)).exit).toBe(0);
    delete process.env["RAMP_PROVIDER_SECRET"];
    const command = [process.execPath, "generator/bin/routewright.js", "ramp", ...withKey, "--secret", "-"];
    // The sandbox answers from this process.
    const run = async (input: string): Promise<unknown> => {
      const child = spawn(command[0] ?? "", command.slice(1), { stdio: ["pipe", "ignore", "inherit"] });
      child.stdin.end(input);
      return (await once(child, "close"))[0];
    };
    expect(await run(`${secret}\n`)).toBe(0);
    expect(await run("wrong")).toBe(2);
  });

  it("changes a project's settings, revokes tokens and removes identity providers", async () => {
    const { projectId = "" } = await newShop("--wallet-domain", "a.example.com");
    const project = ["--project", projectId];
    const read = async (): Promise<unknown> =>
      (JSON.parse((await routewright("project", "list", "--json")).out) as { projectId: string }[]).find(
        (one) => one.projectId === projectId,
      );
    expect(await read()).toMatchObject({ walletDomains: ["a.example.com"], maxTokenSeconds: 86_400 });
    await json("project", "update", ...project, "--name", "New", "--max-token-seconds", "600");
    await json("project", "update", ...project, "--redirect-origin", "https://a.example.com");
    expect(await read()).toMatchObject({
      name: "New",
      maxTokenSeconds: 600,
      walletDomains: ["a.example.com"],
      redirectOrigins: ["https://a.example.com"],
    });
    await json("project", "update", ...project, "--wallet-domain", "");
    expect(await read()).toMatchObject({ walletDomains: [] });
    const idp = [...project, "--issuer", "https://id.invalid"];
    const unread = await routewright("idp", "add", ...idp, "--audience", "a");
    expect([unread.exit, unread.error]).toEqual([2, expect.stringContaining("cannot be read")]);
    await json("idp", "add", ...idp, "--audience", "a", "--unchecked");
    await json("idp", "remove", ...idp);
    expect((await routewright("idp", "remove", ...idp)).exit).toBe(2);
    expect((await routewright("token", "revoke", ...project, "--customer", "nobody")).exit).toBe(2);
  });

  it("lists webhooks", async () => {
    const { projectId = "" } = await newShop();
    const project = ["--project", projectId];
    const url = "https://shop.example.com/hook";
    const { webhookId = "", secret = "" } = await json("webhook", "add", ...project, "--url", url);
    const list = async (): Promise<unknown> => {
      const { out } = await routewright("webhook", "list", ...project, "--json");
      expect(out).not.toContain(secret);
      return JSON.parse(out) as unknown;
    };
    expect(await list()).toMatchObject([{ webhookId, url, pending: 0 }]);
    await json("webhook", "set", ...project, "--webhook", webhookId, "--url", `${url}2`);
    expect(await list()).toMatchObject([{ webhookId, url: `${url}2` }]);
    const ping = ["webhook", "ping", ...project, "--webhook"];
    await json("webhook", "disable", ...project, "--webhook", webhookId);
    const off = await routewright(...ping, webhookId);
    expect(off).toMatchObject({ exit: 2, error: expect.stringContaining("switched off") });
    await json("webhook", "enable", ...project, "--webhook", webhookId);
    expect((await json(...ping, webhookId))["eventId"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(await list()).toMatchObject([{ webhookId, pending: 1 }]);
    expect(await routewright(...ping, "x")).toMatchObject({
      exit: 2,
      error: expect.stringContaining("no webhook x"),
    });
    const unknown = await routewright("webhook", "delete", ...project, "--webhook", "x");
    expect(unknown).toMatchObject({ exit: 2, error: expect.stringContaining("no webhook x") });
  });

  it("exits with 1 when the doctor finds something, and rotates the master key", async () => {
    const key = process.env["RAMP_SECRETS_KEY"] ?? "";
    await json("key", "rotate");
    expect((await routewright("doctor")).exit).toBe(0);
    process.env["RAMP_SECRETS_KEY"] = "cd".repeat(32);
    for (const command of [
      ["doctor"],
      ["key", "rotate"],
      ["vault", "rotate"],
      ["org", "create", "--name", "x"],
    ])
      expect(await routewright(...command)).toMatchObject({
        exit: 2,
        error: expect.stringContaining(
          "RAMP_SECRETS_KEY is not the key of this database, and nothing was changed.",
        ),
      });
    process.env["RAMP_OTHER_SECRETS_KEYS"] = key;
    expect(Number((await json("vault", "rotate"))["resealed"])).toBeGreaterThan(0);
    delete process.env["RAMP_OTHER_SECRETS_KEYS"];
    expect((await routewright("doctor")).exit).toBe(0);
    expect((await routewright("intent", "show", "--intent", "x")).exit).toBe(2);
  });

  it("records who read what providers answered, in a log that nobody changes", async () => {
    const intent = "0b0e7f1c-6d55-4a3e-9f0e-2d8c51b7a9e4";
    expect((await routewright("intent", "show", "--intent", intent)).exit).toBe(2);
    expect(JSON.parse((await routewright("audit", "--intent", intent, "--json")).out)).toMatchObject([
      { action: "intent show", outcome: `There is no intent ${intent}.` },
    ]);
    const url = process.env["DATABASE_URL"] ?? "";
    for (const change of [
      "UPDATE ramp.audit_log SET note = ''",
      "UPDATE ramp.audit_log SET outcome = NULL",
      "DELETE FROM ramp.audit_log",
      "TRUNCATE ramp.audit_log",
    ])
      await expect(queryAt(url, change)).rejects.toThrow("The audit log is append-only.");
  });

  it("rotates client secrets and signing keys", async () => {
    const { projectId = "" } = await newShop();
    const { secretId = "" } = await json("secret", "add", "--project", projectId);
    expect(await routewright("secret", "add", "--project", projectId)).toMatchObject({ exit: 2, out: "" });
    await json("secret", "revoke", "--project", projectId, "--secret", secretId);
    expect((await routewright("secret", "revoke", "--project", projectId, "--secret", secretId)).exit).toBe(
      2,
    );
    const { kid } = await json("key", "rotate");
    expect(JSON.parse((await routewright("key", "list", "--json")).out)).toContainEqual(
      expect.objectContaining({ kid, retiredAt: null }),
    );
  });

  it.each([
    [["project", "create", "--org", "x", "--name", "Shop"], "There is no organization x."],
    [["org", "create", "--name", " "], "The name is empty."],
    [["idp", "list", "--project", "x"], "There is no project x."],
    [["sandbox", "--port", "x"], "from 0 to 65535"],
    [["org", "create"], "required option"],
    ...(
      [
        ["--ttl-seconds", "-1", "whole number"],
        ["--page-origin", "https://a.example.com/path", "not an origin"],
        ["--page-origin", "https://*", "not an origin"],
        ["--page-origin", "a.example.com", "not an origin"],
        ["--redirect-origin", "https://*.a.example", "not an origin"],
        ["--redirect-origin", "https://a.example.com/path", "not an origin"],
        ["--wallet-domain", "https://a.example.com", "not a host"],
        ["--wallet-domain", "A.example.com", "not a host"],
        ["--wallet-domain", "a.example.com/x", "not a host"],
      ] as const
    ).map(
      ([option, value, line]) =>
        [["project", "create", "--org", "x", "--name", "y", option, value], line] as [string[], string],
    ),
  ])("refuses %j with exit 2 and a clear line", async (argv, line) => {
    const { exit, error } = await routewright(...argv);
    expect(exit).toBe(2);
    expect(error).toContain(line);
  });

  it("asks for the secrets key where a database is named", async () => {
    const key = process.env["RAMP_SECRETS_KEY"];
    delete process.env["RAMP_SECRETS_KEY"];
    const without = await routewright("migrate");
    process.env["RAMP_SECRETS_KEY"] = "short";
    const wrong = await routewright("migrate");
    process.env["RAMP_SECRETS_KEY"] = key;
    expect(without.error).toContain("Set RAMP_SECRETS_KEY");
    expect(wrong.error).toContain("RAMP_SECRETS_KEY must be 32 bytes");
    expect([without.exit, wrong.exit]).toEqual([2, 2]);
  });
});
