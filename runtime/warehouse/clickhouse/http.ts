import { randomUUID } from "node:crypto";
import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { text as readText } from "node:stream/consumers";
import type { Statement } from "../sql.js";
import type { ClickhouseAddress } from "../../model/clickhouse-address.js";
import { ClickhouseError, GatewayError } from "./errors.js";

/** An idle connection is closed before the server does it: the default of `keep_alive_timeout` was 3 s until 2024. */
const IDLE_MS = 2000;

/** A longer address is refused by some proxies: the parameters are then sent in the body. */
const MAX_PARAMETERS_LENGTH = 4000;

/** Statuses of a proxy whose server does not respond. */
const GATEWAY_STATUSES: ReadonlySet<number | undefined> = new Set([502, 503, 504]);

export interface HttpQuery {
  readonly statement: Statement;
  readonly settings: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * Requests to the server of an address, with Node's own client. `exec` of `@clickhouse/client` (1.23), which alone gives bytes, sends
 * parameters in the address only, and no longer listens to its abort signal once a response has begun.
 */
export class ClickhouseHttp {
  readonly #address: ClickhouseAddress;
  readonly #origin: string;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;

  constructor(address: ClickhouseAddress) {
    const { isTls, hostname, port } = address;
    const { Agent, request } = isTls ? https : http;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    this.#address = address;
    this.#origin = `${isTls ? "https" : "http"}://${host}:${String(port)}`;
    this.#agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
    this.#request = request;
  }

  /** Resolves with the head of a successful response; rejects with a `ClickhouseError` for another. */
  async query(query: HttpQuery): Promise<http.IncomingMessage> {
    const { user, password, database } = this.#address;
    const { search, type, bytes } = encoded(query, database);
    const request = this.#request(`${this.#origin}/?${search}`, {
      agent: this.#agent,
      method: "POST",
      headers: {
        "X-ClickHouse-User": inBytes(user),
        "X-ClickHouse-Key": inBytes(password),
        "Content-Type": type,
        "Content-Length": bytes.length,
      },
      signal: query.signal,
    });
    // Behind the response its reader gets the error.
    request.on("error", () => undefined).end(bytes);
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    if (response.statusCode === 200) return response;
    throw await errorOf(response);
  }

  /** Whether the server answers at all, with any role. */
  async ping(timeoutMs: number): Promise<boolean> {
    try {
      const response = await fetch(`${this.#origin}/ping`, { signal: AbortSignal.timeout(timeoutMs) });
      await response.arrayBuffer();
      return !GATEWAY_STATUSES.has(response.status);
    } catch {
      return false;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** ClickHouse reads UTF-8; Node writes a character of a header as one byte, and refuses those that have none. */
const inBytes = (text: string): string => Buffer.from(text).toString("latin1");

async function errorOf(response: http.IncomingMessage): Promise<Error> {
  const code = response.headers["x-clickhouse-exception-code"];
  const text = (await readText(response)).slice(0, 16_384);
  if (code === undefined && GATEWAY_STATUSES.has(response.statusCode)) return new GatewayError(text);
  return new ClickhouseError(text, Number(code ?? 0));
}

/** The query string and the body of a request. Form fields are the only body in which ClickHouse takes parameters. */
function encoded({ statement: { text, values }, settings }: HttpQuery, database: string) {
  const parameters = values.map((value, i): [string, string] => [`param_p${String(i + 1)}`, String(value)]);
  const search = new URLSearchParams([["database", database], ...Object.entries(settings)]);
  if (parameters.reduce((sum, [, value]) => sum + value.length, 0) <= MAX_PARAMETERS_LENGTH) {
    for (const [name, value] of parameters) search.append(name, value);
    return { search: search.toString(), type: "text/plain", bytes: Buffer.from(text) };
  }
  const boundary = randomUUID();
  const parts = [["query", text] as const, ...parameters].map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const bytes = Buffer.from(`${parts.join("")}--${boundary}--\r\n`);
  return { search: search.toString(), type: `multipart/form-data; boundary=${boundary}`, bytes };
}
