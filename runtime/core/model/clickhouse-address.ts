/** A parsed address: `clickhouse://user:password@host:8123/database`; `clickhouses://` is TLS. */
export interface ClickhouseAddress {
  readonly isTls: boolean;
  readonly user: string;
  readonly password: string;
  readonly hostname: string;
  readonly port: number;
  readonly database: string;
}

/** Null when the text is not such an address. */
export function clickhouseAddress(text: string): ClickhouseAddress | null {
  if (!/^clickhouses?:\/\/[^?#]+$/.test(text) || !URL.canParse(text)) return null;
  const { protocol, username, password, hostname, port, pathname } = new URL(text);
  const [database = "", ...more] = pathname.split("/").slice(1);
  if (hostname === "" || hostname.includes(",") || more.length > 0) return null;
  const isTls = protocol === "clickhouses:";
  try {
    return {
      isTls,
      user: decodeURIComponent(username) || "default",
      password: decodeURIComponent(password),
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? (isTls ? 8443 : 8123) : Number(port),
      database: decodeURIComponent(database) || "default",
    };
  } catch {
    return null;
  }
}

/** The text of an address. */
export function clickhouseUrl({
  isTls,
  user,
  password,
  hostname,
  port,
  database,
}: ClickhouseAddress): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const [name, secret, path] = [user, password, database].map(encodeURIComponent);
  return `${isTls ? "clickhouses" : "clickhouse"}://${name ?? ""}:${secret ?? ""}@${host}:${String(port)}/${path ?? ""}`;
}

/** Why a database cannot serve the models of dbt's `adapter`; null where it can, or the adapter is not known. */
export function adapterProblem(adapter: string | null, isClickhouse: boolean): string | null {
  if (adapter === null || (adapter === "clickhouse") === isClickhouse) return null;
  const notice = adapterNotice(adapter);
  if (notice !== null) return isClickhouse ? notice : null;
  return isClickhouse
    ? `The models are served from PostgreSQL (dbt's adapter, or \`engine\`), and the database is ClickHouse: set DATABASE_URL to a postgres:// address, and no CLICKHOUSE_URL.`
    : "The models are served from ClickHouse (dbt's adapter, or `engine`), and the database is PostgreSQL: set DATABASE_URL, or CLICKHOUSE_URL beside it, to a clickhouse:// address.";
}

/** What to do with the models of an adapter that no engine serves; null for one that has an engine, or that is not known. */
export function adapterNotice(adapter: string | null): string | null {
  if (adapter === null || SERVED_ADAPTERS.includes(adapter)) return null;
  return `The models are built by dbt-${adapter}, which no engine of Routewright serves: copy their relations into PostgreSQL or ClickHouse, set DATABASE_URL to that, and \`engine\` in routewright.config.json to \`postgres\` or \`clickhouse\` (node_modules/routewright/docs/how-to/serve-a-copy.md).`;
}

const SERVED_ADAPTERS: readonly string[] = ["postgres", "clickhouse"];
