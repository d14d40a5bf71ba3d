import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import type { Logger } from "../../core/http/logger.js";
import type { Keyring } from "../../core/request/keyring.js";
import { PublicNames } from "../../webhooks/public-names.js";
import { EventDeliveries } from "./event-deliveries.js";
import type { EventLog } from "./event-log.js";
import { Subscriptions } from "./subscriptions.js";

export interface SubscriptionSettings {
  /** Seals the secrets: 32 bytes; null: there are no subscriptions. */
  readonly webhookSecretsKey: Buffer | null;
  /** Whether receivers may be at private addresses, and at `http://`. */
  readonly webhookAllowPrivate: boolean;
}

export interface SubscriptionOptions extends SubscriptionSettings {
  readonly webhookSecretsKey: Buffer;
  readonly keys: Keyring;
  readonly active: ActiveRelease;
  readonly catalogue: "public" | "allowed";
  readonly log: Logger;
}

/** The subscriptions of keys, and what sends their events. */
export class SubscriptionService {
  readonly names = new PublicNames();
  readonly #options: SubscriptionOptions;
  #deliveries: EventDeliveries | null = null;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  get active(): ActiveRelease {
    return this.#options.active;
  }

  get allowPrivate(): boolean {
    return this.#options.webhookAllowPrivate;
  }

  /** The subscriptions in the database of events; null: events are not in a database. */
  in({ store: { tables } }: EventLog): Subscriptions | null {
    return tables === null ? null : new Subscriptions(tables, this.#options.webhookSecretsKey);
  }

  /** Sends events from now on. */
  start(events: EventLog): void {
    const { tables } = events.store;
    const subscriptions = this.in(events);
    if (tables === null || subscriptions === null) return;
    const { names, allowPrivate } = this;
    this.#deliveries = new EventDeliveries({
      ...this.#options,
      tables,
      events,
      subscriptions,
      names,
      allowPrivate,
    });
  }

  async stop(): Promise<void> {
    await this.#deliveries?.stop();
  }
}
