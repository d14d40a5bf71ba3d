import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import { type Caller, mayCall } from "../../core/model/caller.js";
import type { PublishedEvent } from "./event.js";

/** What decides which events a caller gets. */
export type EventReader = Pick<Caller, "tier" | "allowed" | "org">;

/** Whether a caller gets an event now: one that may call its endpoint, or of operators an unlimited tier3 key. */
export function mayRead(
  reader: EventReader,
  { path }: Pick<PublishedEvent, "path">,
  active: ActiveRelease,
): boolean {
  if (path === null) return reader.tier === "tier3" && reader.allowed === null;
  const spec = active.current.endpoints.get(path)?.spec;
  if (spec === undefined || !mayCall(reader, path, spec.tier)) return false;
  return spec.rows === undefined || reader.org !== null;
}

/** The event as a reader may see it: it names no successor of which the reader does not know. */
export function eventFor(
  reader: EventReader,
  event: PublishedEvent,
  { active, catalogue }: { readonly active: ActiveRelease; readonly catalogue: "public" | "allowed" },
): PublishedEvent {
  const { successor } = event.data;
  if (catalogue === "public" || typeof successor !== "string") return event;
  const tier = active.current.served.get(successor)?.spec.tier;
  if (tier !== undefined && mayCall(reader, successor, tier)) return event;
  return { ...event, data: { ...event.data, successor: null } };
}
