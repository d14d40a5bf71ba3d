import { createServer, get } from "node:http";
import { expect, it } from "vitest";
import type { Sighting } from "../../../runtime/server/events/event.js";
import { EventLog } from "../../../runtime/server/events/event-log.js";
import { EventStream } from "../../../runtime/server/events/event-stream.js";
import { MemoryEvents } from "../../../runtime/server/events/memory-events.js";
import { atEnd } from "../../support/at-end.js";
import { listen } from "../../support/port.js";

const NOTE = "x".repeat(1000);
const READER = { tier: "tier0", allowed: null, org: null } as const;

/** A client of the events after a position, the newest unless given, which gets no beat. */
async function listening(log: EventLog, position = log.last) {
  const server = createServer((_, response) => {
    const stream = new EventStream({
      ...{ response, log, paths: null, position },
      identify: () => Promise.resolve(READER),
      mayRead: () => true,
      eventFor: (_reader, event) => event,
      hasRights: () => true,
    });
    log.listen((events) => stream.tell(events));
  });
  const url = `http://${await listen(server)}`;
  let text = "";
  await new Promise<void>((resolve, reject) => {
    const request = get(url, (response) => {
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      resolve();
    });
    atEnd(() => void request.destroy());
    request.on("error", reject);
  });
  return () => text.split("event: ").length - 1;
}

const rebuilt = (path: string, more = {}): Sighting => ({
  ...{ type: "data.rebuilt", path, asOf: "2026-11-01T06:00:00.000Z" },
  data: { path, ...more },
});

it("a client that has missed many events gets them all", async () => {
  const log = await EventLog.open(new MemoryEvents());
  const sightings = Array.from({ length: 1500 }, (_, n) => rebuilt(`/v1/shop/${String(n)}`, { note: NOTE }));
  await log.publish(sightings);
  const received = await listening(log, 0);
  await expect.poll(received).toBe(1500);
  // As many at once, of as many endpoints.
  await log.publish(sightings.map((each) => ({ ...each, asOf: "2026-11-02T06:00:00.000Z" }) as Sighting));
  await expect.poll(received).toBe(3000);
});

it("a client gets each event at once, however soon one follows another", async () => {
  const log = await EventLog.open(new MemoryEvents());
  const received = await listening(log);
  let published = 0;
  const publish = (): Promise<void> => log.publish([rebuilt(`/v1/shop/${String(published++)}`)]);
  for (let turns = 0; turns < 40; turns++) {
    const first = publish();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    await Promise.all([first, publish()]);
    await expect.poll(received).toBe(published);
  }
});
