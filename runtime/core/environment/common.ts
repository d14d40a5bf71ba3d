/** The settings that both services have, and the addresses in settings. */
import type { IncomingMessage } from "node:http";
import proxyaddr from "proxy-addr";
import { ENCODING_HINT, postgresAddressProblem } from "../model/postgres-address.js";
import { type ClientAddress, plainAddress, type RequestSource, socketAddress } from "../http/headers.js";
import { clickhouseAddress } from "../model/clickhouse-address.js";
import type { Variables } from "./variables.js";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

export function commonSettings(variables: Variables) {
  return {
    ...databaseUrls(variables),
    /** Redis in which all processes count rate limits; null: each process counts its own. */
    redisUrl: variables.parsed("REDIS_URL", null, "a redis:// or rediss:// address", redisAddress),
    host: variables.text("HOST") ?? "127.0.0.1",
    addressOf: variables.parsed("TRUST_PROXY", clientAddress("false"), TRUST_EXPECTED, trustProxy),
    logLevel: variables.oneOf("LOG_LEVEL", "info", LOG_LEVELS),
    metricsPublic: variables.flag("METRICS_PUBLIC", false),
  };
}

const CLICKHOUSE_EXPECTED = `a clickhouse:// or clickhouses:// address of one server. ${ENCODING_HINT}`;

const DATABASE_EXPECTED = `a postgres://, clickhouse:// or clickhouses:// address of one server. ${ENCODING_HINT}`;

function databaseProblem(text: string): string | null {
  if (/^postgres/.test(text)) return postgresAddressProblem(text);
  return clickhouseUrl(text) === null ? DATABASE_EXPECTED : null;
}

/** An address, or a problem that says what it must be. */
export function checkedAddress(
  variables: Variables,
  name: string,
  problemOf: (text: string) => string | null,
): string | null {
  const text = variables.text(name);
  const problem = text === null ? null : problemOf(text);
  if (problem === null) return text;
  variables.problems.push(`${name} must be ${problem.replace(/\.$/, "")}.`);
  return null;
}

/** `DATABASE_URL` is the database of the models; `CLICKHOUSE_URL` is theirs where `DATABASE_URL` is PostgreSQL for the rest. */
function databaseUrls(variables: Variables) {
  const url = checkedAddress(variables, "DATABASE_URL", databaseProblem);
  const own = variables.parsed("CLICKHOUSE_URL", null, CLICKHOUSE_EXPECTED, clickhouseUrl);
  const isClickhouse = url !== null && clickhouseUrl(url) !== null;
  if (isClickhouse && own !== null)
    variables.problems.push(
      "DATABASE_URL and CLICKHOUSE_URL are both ClickHouse addresses: set one of them.",
    );
  return {
    /** PostgreSQL; null: the embedded one, where one is needed. */
    databaseUrl: isClickhouse ? null : url,
    /** The ClickHouse that the data API reads; null: it reads PostgreSQL. */
    clickhouseUrl: isClickhouse ? url : own,
  };
}

export function clickhouseUrl(text: string): string | null {
  return clickhouseAddress(text) === null ? null : text;
}

/** The path, if any, is the number of a database. */
function redisAddress(text: string): string | null {
  return /^rediss?:\/\/[^/?#]+(\/\d*)?$/.test(text) && URL.canParse(text) ? text : null;
}

/** A public address of a service, without a trailing slash; null: none is set. */
export function publicAddress(variables: Variables, name: string): string | null {
  return variables.parsed(name, null, "an http:// or https:// address", publicUrl);
}

/** An origin, and a path where a proxy serves the API below one. */
function publicUrl(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { origin, pathname, search, hash, username, password } = new URL(text);
  const isPlain =
    search === "" && hash === "" && username === "" && password === "" && !pathname.includes("//");
  return isPlain ? origin + pathname.replace(/\/+$/, "") : null;
}

const TRUST_EXPECTED =
  "true, false, a number of proxies, or IP addresses and networks with commas between them";

function trustProxy(text: string): ClientAddress | null {
  try {
    return clientAddress(text);
  } catch {
    return null;
  }
}

/**
 * Reads `TRUST_PROXY` as Express does: empty or `false` trusts no proxy, a number is the hop count, a list holds addresses
 * or networks. Throws for anything else.
 */
export function clientAddress(trustProxy: string): ClientAddress {
  if (trustProxy === "" || trustProxy === "false" || trustProxy === "0") return socketAddress;
  const trust = trustOf(trustProxy);
  const address = (request: RequestSource): string =>
    plainAddress(proxyaddr(request as IncomingMessage, trust));
  return Object.assign(address, {
    isTrustedProxy: (request: RequestSource) => trust(socketAddress(request), 0),
  });
}

function trustOf(trustProxy: string): (address: string, hop: number) => boolean {
  if (trustProxy === "true") return () => true;
  if (/^\d+$/.test(trustProxy)) return (_, hop) => hop < Number(trustProxy);
  return proxyaddr.compile(trustProxy.split(",").map((network) => network.trim()));
}
