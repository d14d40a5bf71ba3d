import { PostgresClient } from "../../postgres/connection/postgres-client.js";

/** How often a lost connection is made again, and events are looked for beside notifications: a pooler can lose these. */
const CHECK_MS = 1000;
const TIMEOUT_MS = 1000;

/** Listens for events of other servers. */
export class EventNotifications {
  readonly #url: string;
  #client: PostgresClient | null = null;
  #isConnecting = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #wake: () => void = () => undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Calls back with each notification, and each second. */
  follow(wake: () => void): void {
    this.#wake = wake;
    this.#timer = setInterval(() => {
      wake();
      void this.#listen();
    }, CHECK_MS).unref();
    void this.#listen();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#wake = () => undefined;
    this.#client?.end().catch(() => undefined);
    this.#client = null;
  }

  /** Never rejects: the next check tries again. */
  async #listen(): Promise<void> {
    if (this.#client !== null || this.#isConnecting) return;
    this.#isConnecting = true;
    const client = new PostgresClient({
      connectionString: this.#url,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      application_name: "routewright events",
    });
    try {
      await client.connect();
      client.on("notification", () => this.#wake());
      client.on("end", () => {
        if (this.#client === client) this.#client = null;
      });
      await client.query("LISTEN routewright_events");
      if (this.#isClosed) await client.end();
      else this.#client = client;
    } catch {
      client.end().catch(() => undefined);
    } finally {
      this.#isConnecting = false;
    }
  }
}
