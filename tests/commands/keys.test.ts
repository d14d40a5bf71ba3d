import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KeyDatabase } from "../../runtime/server/accounts/key-database.js";
import { ownDatabase, queryAt } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, ownFolder } from "../support/service.js";
import { GOOD, routewright } from "./run.js";

const OWNER = { user: "ann", tier: "tier1", org: "acme" } as const;
const CREATE = ["create", "--user", "ann", "--tier", "tier1", "--org", "acme"];

const folder = ownFolder();
const url = await ownDatabase();
const keys = (args: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
  routewright(folder, ["keys", ...args], variables);
const inDatabase = (...args: readonly string[]) => keys(args, { KEYS_DATABASE_URL: url });

describe("routewright keys, with KEYS_DATABASE_URL,", () => {
  it("creates, lists, rotates and revokes keys in the database, and notes each change", async () => {
    const made = await inDatabase(...CREATE);
    expect(made.out).toMatch(/^sk_live_rw_[\w-]{49}\n$/);
    expect(made.err).toMatch(
      /^Stored hashed in the database of KEYS_DATABASE_URL as [0-9a-f]{12}\. The key is shown once: store it now\.\nRunning servers know of it within 2 seconds\.\n$/,
    );
    const [head, line = ""] = (await inDatabase("list")).out.split("\n");
    expect(head).toBe("id\ttier\tuser\torg\tcreated\texpires\tallowed\tlast used");
    const [id = "", ...owner] = line.split("\t");
    expect(owner.slice(0, 3)).toEqual(["tier1", "ann", "acme"]);
    const rotated = await inDatabase("rotate", id.slice(0, 8), "--keep", "0.5");
    expect(rotated.out).toMatch(/^sk_live_rw_/);
    expect(rotated.err).toContain(`The key ${id} stays valid until 20`);
    expect(await inDatabase("revoke", id)).toMatchObject({ exit: 0, out: `Revoked ${id}.\n` });
    expect(JSON.parse((await inDatabase("list", "--json")).out)).toMatchObject([
      { user: "ann", org: "acme" },
    ]);
    expect(await queryAt(url, "SELECT action, organization FROM routewright_keys.audit ORDER BY id")).toEqual(
      ["created", "rotated", "revoked"].map((action) => ({ action, organization: "acme" })),
    );
  });

  it("copies a file, and keys of API_KEYS, and leaves what is there", async () => {
    writeFileSync(
      join(folder, "own.json"),
      '{"sk_live_a": "tier1", "sk_live_b": {"tier": "tier3", "org": "*"}}',
    );
    const all = await inDatabase("import", "own.json");
    expect(all.out).toBe("Imported 2 keys of own.json; 0 were there already.\n");
    const variables = { KEYS_DATABASE_URL: url, API_KEYS: '{"sk_live_a": "tier2", "sk_live_c": "tier0"}' };
    expect((await keys(["import"], variables)).out).toBe(
      "Imported 1 keys of API_KEYS; 1 were there already.\n",
    );
  });

  it("gives organizations plans of the generated folder", async () => {
    const own = await ownDatabase();
    const run = (...args: readonly string[]) => keys(args, { KEYS_DATABASE_URL: own });
    const plans = { pro: { tier: "tier2" } } as const;
    generateInto(join(folder, "generated"), manifestOf([GOOD]), { plans });
    await run(...CREATE);
    expect((await run("plan")).out).toBe("organization\tplan\tkeys\town figures\nacme\t\t1\n");
    expect(await run("plan", "acme", "pro")).toMatchObject({ exit: 0, out: "acme has pro.\n" });
    expect(JSON.parse((await run("plan", "--json")).out)).toMatchObject([
      { id: "acme", plan: "pro", keys: 1 },
    ]);
    expect((await run("plan", "acme", "por")).err).toBe(
      'error: The generated folder has no plan "por". Plans: pro.\n',
    );
    expect((await run("plan", "globex", "pro")).err).toBe(
      'error: No key has the organization "globex". `routewright keys plan` lists them.\n',
    );
    expect((await run("plan", "acme")).err).toBe("error: Name the plan, or take it away with --none.\n");
    expect((await run("plan", "acme", "--none")).out).toBe("acme has no plan.\n");
    expect((await keys(["plan"])).err).toBe(
      "error: Organizations have plans in a database of keys: set KEYS_DATABASE_URL.\n",
    );
  });

  it("keeps the plan of an organization with members", async () => {
    const own = await ownDatabase();
    const run = (...args: readonly string[]) => keys(args, { KEYS_DATABASE_URL: own });
    generateInto(join(folder, "generated"), manifestOf([GOOD]), { plans: { pro: { tier: "tier2" } } });
    await run(...CREATE);
    await run("plan", "acme", "pro");
    await queryAt(
      own,
      `INSERT INTO routewright_keys.people (id, issuer, subject, name) VALUES ('p', 'i', 's', 'Ann');
       INSERT INTO routewright_keys.members (organization, person, role) VALUES ('acme', 'p', 'owner')`,
    );
    expect(await run("plan", "acme", "--none")).toMatchObject({
      exit: 2,
      err: 'error: "acme" has members, and without a plan the keys that they make would open all of their tier: give it another plan.\n',
    });
    expect((await run("plan")).out).toContain("acme\tpro\t1\n");
  });

  it("gives organizations figures of their own, and no more keys than they may have", async () => {
    const own = await ownDatabase();
    const run = (...args: readonly string[]) => keys(args, { KEYS_DATABASE_URL: own });
    const plans = { pro: { tier: "tier2", keys: 2 } } as const;
    generateInto(join(folder, "generated"), manifestOf([GOOD]), { plans });
    const create = async (): Promise<string> => (await run(...CREATE)).err;
    await run(...CREATE);
    await run("plan", "acme", "pro");
    expect(await create()).toContain("Stored hashed");
    const refusal =
      "error: acme has as many keys as it may have: revoke one, give it a plan with more, or raise its own number with `routewright keys limits`.\n";
    expect(await create()).toBe(refusal);
    expect((await run("limits", "acme", "--keys", "3", "--requests", "5000")).out).toBe(
      "acme has requests 5000, keys 3.\n",
    );
    expect((await run("plan")).out).toContain("acme\tpro\t2\trequests 5000, keys 3\n");
    // Of two at once one is the third.
    const stores = [await KeyDatabase.open(own, plans), await KeyDatabase.open(own, plans)];
    const made = await Promise.all(stores.map((store) => store.create(OWNER)));
    expect(made.filter(({ ok }) => ok)).toHaveLength(1);
    for (const store of stores) await store.close();
    const [id = ""] = /^[0-9a-f]{12}/m.exec((await run("list")).out) ?? [];
    // A rotation adds no key, nor does the key that it replaces count.
    expect((await run("rotate", id)).exit).toBe(0);
    expect(await create()).toBe(refusal);
    await run("revoke", id);
    expect(await create()).toBe(refusal);
    expect((await run("limits", "acme", "--keys", "plan", "--rows", "7")).out).toBe(
      "acme has requests 5000, rows 7.\n",
    );
    expect((await run("limits", "acme", "--none")).out).toBe("acme has the figures of its plan.\n");
    expect(await create()).toBe(refusal);
  });

  it.each([
    [["acme"], "Name figures, such as --requests 100000, or take all of them away with --none."],
    [["acme", "--none", "--keys", "3"], "Name figures, such as"],
    [["acme", "--keys", "0"], "--keys must be a whole number from 1 to 1000000, or `plan`."],
    [["acme", "--bytes", "1e3"], "--bytes must be a whole number from 1 to 1000000000000000, or `plan`."],
    [["globex", "--keys", "3"], 'No key has the organization "globex".'],
  ])("refuses the limits %j", async (args, message) => {
    expect((await inDatabase("limits", ...args)).err).toContain(`error: ${message}`);
  });

  it("shows names on one line each, whatever characters they have", async () => {
    const own = { KEYS_DATABASE_URL: await ownDatabase() };
    const names = ["--user", "a\x1b[31m\nb\ttier3", "--org", "c\nd\x9b\u202e"];
    expect((await keys(["create", "--tier", "tier1", ...names], own)).exit).toBe(0);
    const [, line, end] = (await keys(["list"], own)).out.split("\n");
    expect(line).toContain("\ttier1\ta\\u001b[31m\\u000ab\\u0009tier3\tc\\u000ad\\u009b\\u202e\t");
    expect(end).toBe("");
    expect((await keys(["plan"], own)).out).toBe(
      "organization\tplan\tkeys\town figures\nc\\u000ad\\u009b\\u202e\t\t1\n",
    );
    for (const args of [["--none"], ["c", ""], ["c", "pro", "--none"]])
      expect([args, (await keys(["plan", ...args], own)).err]).toEqual([
        args,
        expect.stringMatching(
          /^error: Name the (plan, or take it away with --none|organization whose plan is taken away)\.\n$/,
        ),
      ]);
  });

  it("changes a file that --file names", async () => {
    const made = await inDatabase(...CREATE, "--file", "other.json");
    expect(made.err).toContain("Stored hashed in other.json as ");
  });

  it.each([
    ["postgres://127.0.0.1:1/none", /^error: KEYS_DATABASE_URL: connect ECONNREFUSED/],
    ["mysql://127.0.0.1/none", /^error: KEYS_DATABASE_URL: must be a postgres:\/\/ address\.\n$/],
  ])("names the variable where the database %s cannot be used", async (address, message) => {
    for (const args of [["list"], CREATE]) {
      const { exit, err } = await keys(args, { KEYS_DATABASE_URL: address });
      expect([exit, err]).toEqual([2, expect.stringMatching(message)]);
    }
  });
});

describe("routewright keys, without it,", () => {
  it("changes no keys in API_KEYS", async () => {
    const refused = await keys(CREATE, { API_KEYS: '{"sk_live_a": "tier2"}' });
    expect(refused).toEqual({
      exit: 2,
      out: "",
      err: "error: The keys are in API_KEYS, which commands cannot change: unset it, or name a key file with --file.\n",
    });
    expect((await keys(["list"], { API_KEYS: '{"sk_live_a": "tier2"}' })).out).toContain("\ttier2");
  });

  it("rotates a key of the file", async () => {
    const file = ["--file", "rotated.json"];
    await keys([...CREATE, ...file]);
    const [{ id }] = JSON.parse((await keys(["list", "--json", ...file])).out) as [{ id: string }];
    const rotated = await keys(["rotate", id, ...file, "--json"]);
    expect(JSON.parse(rotated.out)).toEqual({ key: expect.stringMatching(/^sk_live_rw_/) as string });
    expect(JSON.parse((await keys(["list", "--json", ...file])).out)).toHaveLength(2);
  });

  it.each([
    [["rotate", "", "--file", "rotated.json"], "The id is empty. `routewright keys list` shows the ids."],
    [
      ["rotate", "ab", "--keep", "long", "--file", "rotated.json"],
      "--keep must be a number of hours from 0 to 9999, such as 72 or 0.5.",
    ],
    [["import"], "Set KEYS_DATABASE_URL to the database that takes the keys."],
  ])("refuses %j", async (args, message) => {
    expect(await keys(args)).toEqual({ exit: 2, out: "", err: `error: ${message}\n` });
  });
});
