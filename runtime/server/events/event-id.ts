import { hash } from "node:crypto";
import type { Sighting } from "./event.js";

/** The same on every server. A contract or a date can change back: the time of that tells its events apart. */
export function eventId(sighting: Sighting, now = Date.now()): string {
  const { type, path } = sighting;
  return `evt_${hash("sha256", JSON.stringify([type, path, whatOf(sighting, now)])).slice(0, 32)}`;
}

function whatOf(sighting: Sighting, now: number): unknown {
  switch (sighting.type) {
    case "data.rebuilt":
      return sighting.asOf;
    case "data.late":
      return sighting.due;
    case "contract.changed":
      return [sighting.contract, now];
    case "endpoint.deprecated":
      return [sighting.deprecationDate, now];
  }
}
