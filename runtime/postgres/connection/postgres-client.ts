import { Socket, type SocketConstructorOpts } from "node:net";
import pg from "./pg.js";
import { databaseLookup } from "../../core/http/name-lookup.js";
import { ENCODING_HINT, postgresAddress, type TlsTrials } from "../../core/model/postgres-address.js";

/** What worked last, by address: a trial costs a connection. Bounded by the addresses of the settings. */
const settled = new Map<string, TlsTrials[number]>();

/** pg's own properties that decide on TLS, up to the start of the connection. */
interface TlsChoice {
  ssl: unknown;
  readonly connection: { ssl: unknown };
}

/** A refused password, a database that does not exist, and a host that is not found. */
const OF_ADDRESS: ReadonlySet<unknown> = new Set(["28P01", "3D000", "ENOTFOUND", "EAI_AGAIN"]);

/**
 * A connection to a `postgres://` address with what libpq makes of it: `prefer` goes on without TLS where the server has or
 * accepts none, `allow` with TLS where it is refused without. A refusal that a wrong password causes says how it is written.
 */
export class PostgresClient extends pg.Client {
  readonly #config: pg.ClientConfig;
  readonly #trials: TlsTrials;

  constructor(config: pg.ClientConfig = {}) {
    const { url, trials } = postgresAddress(config.connectionString ?? "");
    const translated = {
      stream: () => new DatabaseSocket(),
      ...config,
      ...(config.connectionString !== undefined && { connectionString: url }),
    };
    super(translated);
    this.#config = translated;
    this.#trials = trials;
    // A lost connection rejects its queries. Without a listener the process would end, also before those of a pool are there.
    this.on("error", () => undefined);
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | void {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    const succeed = callback as (error: null, client: pg.Client) => void;
    void connected.then(
      (client) => {
        succeed(null, client);
      },
      callback as (error: Error) => void,
    );
  }

  async #connect(): Promise<pg.Client> {
    try {
      if (this.#trials.length > 0) await this.#settle();
      return await super.connect();
    } catch (error) {
      settled.delete(this.#key);
      throw withHint(error as Error);
    }
  }

  get #key(): string {
    return JSON.stringify([this.#trials, this.#config.connectionString]);
  }

  async #settle(): Promise<void> {
    const way = settled.get(this.#key) ?? (await this.#firstToWork());
    settled.set(this.#key, way);
    if (way === "plain") setPlain(this);
  }

  /** The last one is not tried: its error is that of the connection. */
  async #firstToWork(): Promise<TlsTrials[number]> {
    const [first = "plain", second = first] = this.#trials;
    const trial = new pg.Client(this.#config);
    trial.on("error", () => undefined);
    if (first === "plain") setPlain(trial);
    try {
      await trial.connect();
      return first;
    } catch (error) {
      if (isNetworkError(error)) throw error;
      return second;
    } finally {
      void trial.end().catch(() => undefined);
    }
  }
}

/** Looks its host up without holding the look-ups of other names back. */
export class DatabaseSocket extends Socket {
  readonly #onConnecting: ((socket: DatabaseSocket) => void) | undefined;

  /** @param onConnecting gets it once it begins to connect: `pg` ends no client that still does */
  constructor(options?: SocketConstructorOpts, onConnecting?: (socket: DatabaseSocket) => void) {
    super(options);
    this.#onConnecting = onConnecting;
  }

  /** As pg calls it: with the port of a host, or the path of a socket. */
  override connect(...to: readonly unknown[]): this {
    this.#onConnecting?.(this);
    const [port, host] = to;
    return typeof port === "number" && typeof host === "string"
      ? super.connect({ port, host, lookup: databaseLookup })
      : super.connect(String(port));
  }
}

function setPlain(client: pg.Client): void {
  const choice = client as unknown as TlsChoice;
  choice.ssl = choice.connection.ssl = false;
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** The server was not reached, so another way to speak to it does not help. */
function isNetworkError(error: unknown): boolean {
  const { syscall } = error as NodeJS.ErrnoException;
  return error instanceof AggregateError || syscall === "connect" || syscall === "getaddrinfo";
}

function withHint(error: Error & { code?: unknown }): Error {
  if (OF_ADDRESS.has(error.code)) error.message += `. ${ENCODING_HINT}`;
  return error;
}
