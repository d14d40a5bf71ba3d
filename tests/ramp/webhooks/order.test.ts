/** Many intents at once (`INTENTS_AT_ONCE=300` is the full number, also of feed.test.ts), followed in the two ways that there are: a poller of changes, and a receiver of events. */
import { expect, it } from "vitest";
import { ownReceiver } from "../support/receiver.js";
import { call, newCustomer, onramp, ownWorld, type TestProject, untilTrue } from "../support/world.js";

const INTENTS = Number(process.env["INTENTS_AT_ONCE"] ?? 100);
const world = await ownWorld();
await world.sandbox.set({ settleMs: 20 });

interface Change {
  readonly intent: { readonly id: string; readonly status: string; readonly updatedAt: string };
}

/** Follows the changes as the documentation says: keeps the highest `updatedAt` that it has seen, and asks from it. */
class Poller {
  readonly statuses = new Map<string, string>();
  #since = "2020-01-01T00:00:00Z";

  /** @returns whether something was new */
  async poll(project: TestProject): Promise<boolean> {
    const path = `/v1/intents?limit=100&updatedSince=${encodeURIComponent(this.#since)}`;
    const changes = (await call(world.url, "GET", path, { auth: project.basic })).json as readonly Change[];
    const before = this.#since;
    for (const { intent } of changes) {
      this.statuses.set(intent.id, intent.status);
      if (intent.updatedAt > this.#since) this.#since = intent.updatedAt;
    }
    return this.#since !== before;
  }
}

it(
  `${String(INTENTS)} intents at once end for a poller and for a receiver as they are, in order`,
  { timeout: 600_000 },
  async () => {
    const [project, receiver] = [await world.project(), await ownReceiver()];
    const { secret } = await world.webhook(project, receiver.url, { concurrency: 50 });
    const auth = await newCustomer(world, project);
    const poller = new Poller();
    let isCreated = false as boolean;
    const polling = (async () => {
      const open = "SELECT EXISTS (SELECT FROM ramp.intents WHERE project_id = $1 AND status <> 'COMPLETED')";
      while (!isCreated || (await world.holds(open, [project.id]))) await poller.poll(project);
      while (await poller.poll(project));
    })();
    const create = () => world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
    const created = await Promise.all(Array.from({ length: INTENTS }, create));
    isCreated = true;
    await polling;
    const ids = created.map(({ json }) => String(json.intent.id));
    expect(new Set(poller.statuses.keys())).toEqual(new Set(ids));
    expect([...poller.statuses.values()].filter((status) => status !== "COMPLETED")).toEqual([]);

    const pending =
      "SELECT NOT EXISTS (SELECT FROM ramp.webhook_deliveries WHERE project_id = $1 AND status <> 'DELIVERED')";
    // A delivery that fails on a busy machine is repeated after a minute.
    await untilTrue(() => world.holds(pending, [project.id]), 300_000);
    // A delivery may come twice.
    const received = new Map(receiver.verified(secret).map((event) => [event.id, event]));
    const events = [...received.values()].sort((left, right) => left.sequence - right.sequence);
    const stored = await world.rows("SELECT id FROM ramp.events WHERE project_id = $1", [project.id]);
    expect(events).toHaveLength(stored.length);
    for (const id of ids) {
      const own = events.filter(({ data }) => data["intentId"] === id);
      const moves = own.filter(({ type }) => type === "intent.status_changed").map(({ data }) => data);
      expect(moves.map(({ previousStatus }) => previousStatus).slice(1)).toEqual(
        moves.map(({ status }) => status).slice(0, -1),
      );
      const shown = own.map(({ data }) => (data["intent"] as { status: string }).status);
      expect(moves.map(({ status }) => status)).toEqual(
        shown.filter((status, at) => status !== shown[at - 1]),
      );
      expect(shown.at(-1)).toBe("COMPLETED");
      const paid = own.find(
        ({ type, data }) => type === "transaction.updated" && data["status"] === "SUCCESS",
      );
      expect(paid?.data["intent"]).toMatchObject({ status: "COMPLETED" });
    }
  },
);
