import type { RunInTransaction } from "../../postgres/own-tables.js";
import type { OperatorEventType } from "./operator-events.js";

/** Types of events about endpoints, which everybody gets who may call the endpoint (runtime/docs/events.md). */
export const ENDPOINT_EVENTS = [
  "data.rebuilt",
  "data.late",
  "contract.changed",
  "endpoint.deprecated",
] as const;

type EndpointEventType = (typeof ENDPOINT_EVENTS)[number];

export type EventData = Readonly<Record<string, unknown>>;

/** What a server has seen of an endpoint. Of several that see the same, one event is published. */
export type Sighting = { readonly path: string; readonly data: EventData } & (
  | {
      readonly type: "data.rebuilt";
      /** When the build ended, RFC 3339 in UTC: it names the build. */
      readonly asOf: string;
    }
  | {
      readonly type: "data.late";
      /** Of the rows that are late; null: not known. */
      readonly asOf: string | null;
      /** Until when they kept the promise, RFC 3339 in UTC. */
      readonly due: string;
    }
  | {
      readonly type: "contract.changed";
      /** A digest of each part of what callers rely on. */
      readonly contract: Readonly<Record<string, string>>;
      /** What this server served before; null: it has just started. */
      readonly before: Readonly<Record<string, string>> | null;
    }
  | { readonly type: "endpoint.deprecated"; readonly deprecationDate: string }
);

/** An event with its place among all. */
export interface PublishedEvent {
  readonly sequence: number;
  readonly id: string;
  readonly type: EndpointEventType | OperatorEventType;
  /** Null: an event for operators. */
  readonly path: string | null;
  readonly organization: string | null;
  /** RFC 3339 in UTC. */
  readonly at: string;
  readonly data: EventData;
}

/** The database of events. */
export interface RunsStatements {
  /** The rows of a statement. Rejects when the database fails. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** As `query`, of a statement whose names are all qualified: one way to the database and back. */
  ask<Row extends object>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  transaction<Value>(work: (run: RunInTransaction) => Promise<Value>): Promise<Value>;
}

/** Where events are published and kept. Each method rejects while the store is away. */
export interface EventStore {
  /** Publishes what is news. All are of one type, and of a path each. */
  publish(sightings: readonly Sighting[]): Promise<void>;
  /** Those after a sequence number, in their order. */
  after(sequence: number, limit: number): Promise<readonly PublishedEvent[]>;
  /** The newest ones, the newest first. */
  newest(limit: number): Promise<readonly PublishedEvent[]>;
  /** The number of the newest; 0 before the first. */
  last(): Promise<number>;
  /** Before the numbers in positions of clients: those of another store mean nothing here. */
  readonly prefix: string;
  /** Null: they are kept by this process. */
  readonly tables: RunsStatements | null;
  /** Calls back when there may be new ones. */
  follow(wake: () => void): void;
  close(): Promise<void>;
}

/** As receivers get it (Standard Webhooks). */
export function payloadOf({ id, type, at, data }: PublishedEvent): string {
  return JSON.stringify({ id, type, timestamp: at, data });
}
