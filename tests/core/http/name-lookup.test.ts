/** Whatever is asked of the system goes through `dns.lookup`, which these tests put another in the place of, as operators do. */
import dns from "node:dns";
import { connect, type LookupFunction } from "node:net";
import { expect, it } from "vitest";
import { databaseLookup, systemLookup } from "../../../runtime/core/http/name-lookup.js";
import { atEnd } from "../../support/at-end.js";

type Done = (error: Error | null, addresses?: unknown) => void;

/** Names of `.mute` get no answer until `giveUp`; all others one at once. Notes what is asked. */
function ownSystem() {
  const asked: { readonly name: string; readonly hints: unknown }[] = [];
  const waiting: Done[] = [];
  const original = dns.lookup;
  atEnd(() => {
    dns.lookup = original;
    giveUp();
  });
  const lookup = (name: string, { hints }: { hints?: number }, done: Done): void => {
    asked.push({ name, hints });
    if (name.endsWith(".mute")) waiting.push(done);
    else done(null, [{ address: "127.0.0.1", family: 4 }]);
  };
  dns.lookup = lookup as unknown as typeof dns.lookup;
  const giveUp = (): void => {
    for (const done of waiting.splice(0))
      done(Object.assign(new Error("no answer"), { code: "EAI_AGAIN", syscall: "getaddrinfo" }));
  };
  return { asked, waiting, giveUp };
}

/** The address of a name, or the error. */
const resultOf = (lookup: LookupFunction, name: string): Promise<unknown> =>
  new Promise((resolve) => lookup(name, {}, (error, address) => resolve(error ?? address)));

it.each([
  ["databases", databaseLookup],
  ["others", systemLookup],
])("asks for what Node asks for: IPv6 only where this machine has it (%s)", async (name, lookup) => {
  const { asked } = ownSystem();
  for (const options of [{}, { lookup }]) {
    const socket = connect({ host: `${name}.test`, port: 1, ...options }).on("error", () => undefined);
    await expect.poll(() => asked.length).toBe("lookup" in options ? 2 : 1);
    socket.destroy();
  }
  expect(asked[1]).toEqual(asked[0]);
});

it("names of others that get no answer take one place of Node's two, and delay no name of a database", async () => {
  const { asked, waiting, giveUp } = ownSystem();
  const mute = Array.from({ length: 20 }, (_, n) => resultOf(systemLookup, `${String(n)}.mute`));
  expect(waiting.length).toBe(1);
  expect(await resultOf(databaseLookup, "database.test")).toBe("127.0.0.1");
  expect(asked.length).toBe(2);
  for (let n = 0; n < 20; n++) {
    giveUp();
    await expect.poll(() => waiting.length + (n === 19 ? 1 : 0)).toBe(1);
  }
  expect(new Set((await Promise.all(mute)).map((error) => (error as { code: string }).code))).toEqual(
    new Set(["EAI_AGAIN"]),
  );
});

it("names of databases that got no answer take one place, and a name that gets one takes no turn with them", async () => {
  const { waiting, giveUp } = ownSystem();
  const names = ["redis.mute", "replica.mute"];
  const first = names.map((name) => resultOf(databaseLookup, name));
  expect(waiting.length).toBe(2);
  giveUp();
  await Promise.all(first);
  const second = names.map((name) => resultOf(databaseLookup, name));
  expect(waiting.length).toBe(1);
  expect(await resultOf(databaseLookup, "database.test")).toBe("127.0.0.1");
  giveUp();
  await expect.poll(() => waiting.length).toBe(1);
  giveUp();
  await Promise.all(second);
});

it("gives each who waits for a look-up an error of its own", async () => {
  const { giveUp } = ownSystem();
  const [one, other] = [1, 2].map(() => resultOf(databaseLookup, "shared.mute"));
  giveUp();
  const [error, same] = [await one, await other];
  expect(error).toMatchObject({ message: "no answer", code: "EAI_AGAIN", syscall: "getaddrinfo" });
  expect(error).not.toBe(same);
});
