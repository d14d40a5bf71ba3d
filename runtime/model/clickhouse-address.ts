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
