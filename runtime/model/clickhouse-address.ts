/** A server of a `clickhouse://` address. */
export interface ClickhouseHost {
  readonly hostname: string;
  readonly port: number;
}

/** A parsed address: `clickhouse://user:password@host:8123,host2:8123/database`; `clickhouses://` is TLS. */
export interface ClickhouseAddress {
  readonly isTls: boolean;
  readonly user: string;
  readonly password: string;
  readonly hosts: readonly [ClickhouseHost, ...ClickhouseHost[]];
  readonly database: string;
}

const ADDRESS = /^clickhouse(s?):\/\/(?:([^@/]*)@)?([^@/]+)(?:\/([^/?#]*))?$/;

/** Null when the text is not such an address. */
export function clickhouseAddress(text: string): ClickhouseAddress | null {
  const [whole, secure, credentials = "", hosts = "", database = ""] = ADDRESS.exec(text) ?? [];
  if (whole === undefined) return null;
  const colon = credentials.indexOf(":");
  const [user, password] =
    colon === -1 ? [credentials, ""] : [credentials.slice(0, colon), credentials.slice(colon + 1)];
  const isTls = secure === "s";
  const parsed = hosts.split(",").map((host) => parseHost(host, isTls ? 8443 : 8123));
  const [first, ...others] = parsed.filter((host) => host !== null);
  if (first === undefined || others.length + 1 < parsed.length) return null;
  try {
    return {
      isTls,
      user: decodeURIComponent(user) || "default",
      password: decodeURIComponent(password),
      hosts: [first, ...others],
      database: decodeURIComponent(database) || "default",
    };
  } catch {
    return null;
  }
}

function parseHost(text: string, defaultPort: number): ClickhouseHost | null {
  if (!URL.canParse(`http://${text}`)) return null;
  const { hostname, port, username, pathname, search } = new URL(`http://${text}`);
  if (hostname === "" || username !== "" || pathname !== "/" || search !== "") return null;
  return { hostname: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? defaultPort : Number(port) };
}

/** Why a database cannot serve the models of dbt's `adapter`; null where it can, or the adapter is not known. */
export function adapterProblem(adapter: string | null, isClickhouse: boolean): string | null {
  if (adapter === null || (adapter === "clickhouse") === isClickhouse) return null;
  return isClickhouse
    ? `The models are built by dbt-${adapter}, and the database is ClickHouse: set DATABASE_URL to a postgres:// address, and no CLICKHOUSE_URL.`
    : "The models are built by dbt-clickhouse, and the database is PostgreSQL: set DATABASE_URL, or CLICKHOUSE_URL beside it, to a clickhouse:// address.";
}
