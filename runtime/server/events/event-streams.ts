import type { ActiveRelease } from "../../core/handler/loaded-release.js";
import type { Exchange } from "../../core/handler/exchange.js";
import type { Gateway } from "../../core/handler/gateway.js";
import { COMMON_HEADERS, FAILOVER_RETRY_SECONDS, NO_STORE, setHeaders } from "../../core/http/headers.js";
import { queryOf } from "../../core/http/route.js";
import type { Caller } from "../../core/model/caller.js";
import { httpError, type HttpError, isHttpError, type Result } from "../../core/model/errors.js";
import { callerHeaders, identify, requireAccess } from "../../core/request/authorize.js";
import { readList } from "../../core/request/request-fields.js";
import { unsupported } from "../../core/request/resolve-query.js";
import type { EventLog } from "./event-log.js";
import { EventStream } from "./event-stream.js";
import type { Events } from "./events.js";
import { eventFor, mayRead } from "./may-read.js";

/** Each client gets a comment so often, at most: the next second's clients get theirs then. */
const BEAT_SECONDS = 15;
/** Paths of one stream. */
const MAX_PATHS = 100;
/** `Retry-After` where too many streams are open, in seconds. */
const STREAM_RETRY_SECONDS = 5;

export interface StreamLimits {
  /** Of this process. */
  readonly eventStreams: number;
  readonly eventStreamsPerCaller: number;
}

interface StreamsOptions {
  readonly events: Events;
  readonly active: ActiveRelease;
  readonly limits: StreamLimits;
}

/** The clients of this process that wait for events. */
export class EventStreams {
  readonly #options: StreamsOptions;
  /** By client, with the second of its beat. Bounded by `eventStreams`. */
  readonly #streams = new Map<EventStream, number>();
  /** By caller. Bounded by the streams. */
  readonly #perCaller = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #opened = 0;
  #second = 0;
  #isEnded = false;
  #listening: EventLog | null = null;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#beat(), 1000).unref();
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Sends events until the client leaves, loses its rights or the server stops. */
  async serve(exchange: Exchange): Promise<HttpError | null> {
    const paths = pathsOf(exchange, this.#options.active);
    if (isHttpError(paths)) return paths;
    const { id } = exchange.context.caller;
    if (!this.#hasRoom(id)) return httpError("overloaded", { n: STREAM_RETRY_SECONDS });
    this.#perCaller.set(id, (this.#perCaller.get(id) ?? 0) + 1);
    try {
      const log = await this.#options.events.asked().catch(() => null);
      if (log === null) return httpError("unreachable", { n: FAILOVER_RETRY_SECONDS });
      await this.#send(exchange, log, paths);
      return null;
    } finally {
      const others = (this.#perCaller.get(id) ?? 1) - 1;
      if (others === 0) this.#perCaller.delete(id);
      else this.#perCaller.set(id, others);
    }
  }

  /** Ends all; no further one begins. */
  end(): void {
    this.#isEnded = true;
    clearInterval(this.#timer);
    for (const stream of this.#streams.keys()) stream.end();
  }

  #hasRoom(id: string): boolean {
    const { eventStreams, eventStreamsPerCaller } = this.#options.limits;
    if (this.#isEnded || this.#streams.size >= eventStreams) return false;
    return (this.#perCaller.get(id) ?? 0) < eventStreamsPerCaller;
  }

  async #send(exchange: Exchange, log: EventLog, paths: ReadonlySet<string> | null): Promise<void> {
    const { request, response, context, gateway } = exchange;
    const { active } = this.#options;
    setHeaders(response, [...callerHeaders(context), ...COMMON_HEADERS, ...NO_STORE, ...STREAM_HEADERS]);
    if (request.method === "HEAD" || response.destroyed || this.#isEnded) return void response.end();
    this.#listen(log);
    const stream = new EventStream({
      response,
      log,
      paths,
      position: positionOf(request.headers["last-event-id"], log),
      identify: () => readerOf(gateway, exchange),
      mayRead: (reader, event) => mayRead(reader, event, active),
      eventFor: (reader, event) => eventFor(reader, event, { active, catalogue: gateway.catalogue }),
      hasRights: (reader) => paths === null || [...paths].some((path) => mayRead(reader, { path }, active)),
    });
    this.#streams.set(stream, this.#opened++ % BEAT_SECONDS);
    await new Promise<void>((resolve) => response.once("close", resolve));
    this.#streams.delete(stream);
  }

  #listen(log: EventLog): void {
    if (this.#listening === log) return;
    this.#listening = log;
    log.listen((events) => {
      for (const stream of this.#streams.keys()) stream.tell(events);
    });
  }

  #beat(): void {
    this.#second = (this.#second + 1) % BEAT_SECONDS;
    for (const [stream, second] of this.#streams) {
      stream.resume();
      if (second === this.#second) void stream.beat();
    }
  }
}

/** nginx would keep the events until its buffer is full. */
const STREAM_HEADERS = ["Content-Type", "text/event-stream; charset=utf-8", "X-Accel-Buffering", "no"];

/** Null where the key is not valid any more. */
async function readerOf(gateway: Gateway, { request, oauth }: Exchange) {
  const { caller, refusal } = await identify(gateway, request, oauth?.audience ?? null);
  // Keys that cannot be read now are those that were valid before.
  return refusal === null || refusal.status === 503 ? caller : null;
}

/** Without an id a client gets what happens from now on; with one that means nothing here, all that is kept. */
function positionOf(id: string | string[] | undefined, { store: { prefix }, last }: EventLog): number {
  const text = Array.isArray(id) ? (id[0] ?? "") : (id ?? "");
  if (text === "") return last;
  const number = text.startsWith(prefix) ? text.slice(prefix.length) : "";
  return /^\d{1,15}$/.test(number) ? Math.min(Number(number), last) : 0;
}

/** The paths that a request asks for, of which the caller may call each; null: all that it may call. */
export function pathsOf(
  { request, context: { caller }, gateway: { catalogue } }: Exchange,
  active: ActiveRelease,
): Result<ReadonlySet<string> | null> {
  const query = queryOf(request);
  const unknown = [...query.keys()].filter((name) => name !== "path");
  if (unknown.length > 0) return unsupported(unknown, "query");
  const texts = query.getAll("path");
  const paths = texts.length === 0 ? null : readList("path", { from: "query", texts });
  if (paths === null || isHttpError(paths)) return paths;
  if (paths.length > MAX_PATHS) return httpError("tooManyValues", { name: "path", max: MAX_PATHS });
  return refusalOfPaths({ caller, catalogue }, active, paths) ?? new Set(paths);
}

/** Why a caller gets no events of these endpoints; null where it gets those of all. */
export function refusalOfPaths(
  { caller, catalogue }: Pick<Gateway, "catalogue"> & { readonly caller: Caller },
  active: ActiveRelease,
  paths: readonly string[],
): HttpError | null {
  for (const path of paths) {
    const spec = active.current.endpoints.get(path)?.spec;
    const refused = spec === undefined ? httpError("notFound") : requireAccess(path, spec.tier, caller);
    if (refused !== null) return catalogue === "allowed" ? httpError("notFound") : refused;
    if (spec?.rows !== undefined && caller.org === null) return httpError("organizationRequired");
  }
  return null;
}
