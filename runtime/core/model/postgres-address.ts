/** Modes of `sslmode` as libpq has them; `no-verify` is pg's own word for `require`. */
const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/** What to do about a password that breaks the address, or is not the one that was meant. */
export const ENCODING_HINT =
  "In an address, these characters of a password are written percent-encoded: @ as %40, # as %23, / as %2F, ? as %3F, % as %25, : as %3A.";

/** Ways to connect that libpq tries one after the other. */
export type TlsTrials = readonly ("tls" | "plain")[];

export interface PostgresAddress {
  /** The address in the words of the package `pg`; with TLS where one of the trials has it. */
  readonly url: string;
  readonly trials: TlsTrials;
}

/** What is wrong with a `postgres://` address; null where it can be used. Shows nothing of it: it may hold a password. */
export function postgresAddressProblem(text: string): string | null {
  const [, base = "", query = ""] = /^postgres(?:ql)?:\/\/([^?]*)\??(.*)$/s.exec(text) ?? [];
  if (!/^postgres(ql)?:\/\//.test(text)) return "a postgres:// address";
  const [, path = ""] = /^[^/]*(.*)$/s.exec(base) ?? [];
  const isCut = text.includes("#") || path.includes("@") || /^[^=]*@/.test(query);
  if (isCut || !canParse(base)) return `a postgres:// address of one server. ${ENCODING_HINT}`;
  const parameters = new URLSearchParams(query);
  const mode = parameters.get("sslmode");
  if (mode !== null && !SSL_MODES.includes(mode))
    return `a postgres:// address whose sslmode is one of ${SSL_MODES.join(", ")}`;
  return mode === "verify-ca" && !parameters.has("sslrootcert")
    ? "a postgres:// address that names a file in sslrootcert for sslmode=verify-ca"
    : null;
}

/** A user without a host is for a Unix socket, which a parameter names. */
function canParse(base: string): boolean {
  const address = `postgres://${base.replace(/^([^/]*@)(?=\/|$)/, "$1localhost")}`;
  try {
    if (!URL.canParse(address)) return false;
    const { username, password, pathname } = new URL(address);
    for (const part of [username, password, pathname])
      decodeURIComponent(part.replace(/%(?![\da-f]{2})/gi, "%25"));
    return true;
  } catch {
    return false;
  }
}

/**
 * Says in the words of `pg` what libpq understands. To `pg` alone, `prefer`, `require` and `verify-ca` mean `verify-full`, and
 * a Unix socket would be asked for TLS. Without a mode there is no TLS, as `pg` has it.
 */
export function postgresAddress(text: string): PostgresAddress {
  const [base = "", ...rest] = text.split("?");
  const parameters = new URLSearchParams(rest.join("?"));
  const mode = parameters.get("sslmode") ?? process.env["PGSSLMODE"] ?? null;
  // The server's time limits are per query.
  parameters.delete("query_timeout");
  if (isSocket(base, parameters)) setMode(parameters, "disable");
  else if (mode !== null && mode !== "no-verify") setMode(parameters, mode);
  // `pg` encodes the whole address again where it holds a "%" that begins no code.
  const query = parameters.toString().replaceAll("%2F", "/");
  return { url: query === "" ? base : `${base}?${query}`, trials: trialsOf(parameters, mode) };
}

function isSocket(base: string, parameters: URLSearchParams): boolean {
  const [, own = ""] = /^\w+:\/\/(?:.*@)?([^/]*)/s.exec(base) ?? [];
  const host = parameters.get("host") ?? (own === "" ? (process.env["PGHOST"] ?? "") : own);
  return /^(\/|%2f)/i.test(host);
}

function setMode(parameters: URLSearchParams, mode: string): void {
  // The certificates that the system trusts are those of Node.
  const isSystem = parameters.get("sslrootcert") === "system";
  if (isSystem) parameters.delete("sslrootcert");
  parameters.set("uselibpqcompat", "true");
  parameters.set(
    "sslmode",
    isSystem && mode !== "disable" ? "verify-full" : mode === "allow" ? "prefer" : mode,
  );
}

function trialsOf(parameters: URLSearchParams, mode: string | null): TlsTrials {
  if (parameters.get("sslmode") !== "prefer") return [];
  return mode === "allow" ? ["plain", "tls"] : ["tls", "plain"];
}
