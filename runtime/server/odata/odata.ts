import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type DataPath,
  type DataRoute,
  type RouteAccess,
  serveExchange,
} from "../../core/handler/exchange.js";
import type { Gateway } from "../../core/handler/gateway.js";
import type { ActiveRelease, LoadedRelease } from "../../core/handler/loaded-release.js";
import { pathItem, pathOf } from "../../core/http/route.js";
import type { Documents } from "../../pages/documents.js";
import { serveBatch } from "./batch.js";
import { connectionFile, CONNECTIONS } from "./connections.js";
import { metadataDocument, type OdataSource, serviceDocument } from "./documents.js";
import { odataError } from "./errors.js";
import { serveSet, type SetPath } from "./rows.js";
import { ROOT } from "./set-request.js";
import { type OdataSet, setsOf } from "./sets.js";

interface OdataParts {
  readonly gateway: Gateway;
  readonly documents: Documents;
  readonly active: ActiveRelease;
}

const OF_DOCUMENT: RouteAccess = { limit: "document", errorReply: odataError };
const OF_CALLER: RouteAccess = { limit: "caller", errorReply: odataError };

/** The paths below `/odata` (runtime/docs/odata.md). */
export class Odata {
  readonly #parts: OdataParts;
  readonly #root: DataPath;
  readonly #metadata: DataPath;
  readonly #batch: DataPath;
  readonly #unknown: DataPath;
  #release: LoadedRelease | null = null;
  /** Bounded by the paths of endpoints of a release, each of which has two names. */
  #sets: ReadonlyMap<string, OdataSet> = new Map();

  constructor(parts: OdataParts) {
    this.#parts = parts;
    const source: OdataSource = {
      documents: parts.documents,
      setAt: (path) => this.#byName().get(path),
    };
    const document = (path: string, handle: typeof serviceDocument): DataPath =>
      itemOf("GET", path, OF_DOCUMENT, (exchange) => handle(exchange, source));
    this.#root = document(ROOT, serviceDocument);
    this.#metadata = document(`${ROOT}/$metadata`, metadataDocument);
    this.#batch = itemOf("POST", `${ROOT}/$batch`, OF_CALLER, (exchange) =>
      serveBatch(exchange, (path) => this.#itemAt(path)),
    );
    this.#unknown = { ...itemOf("GET", "", OF_CALLER, () => null), allowed: null, endpoint: null };
  }

  /** Serves a request below `/odata`. Never rejects. */
  serve(request: IncomingMessage, response: ServerResponse): void | Promise<void> {
    readBasicKey(request);
    return serveExchange(this.#parts.gateway, this.#itemAt(pathOf(request.url ?? "")), request, response);
  }

  #itemAt(path: string): DataPath {
    const rest = decoded(path)?.slice(ROOT.length).replace(/^\//, "");
    switch (rest) {
      case undefined:
        return this.#unknown;
      case "":
        return this.#root;
      case "$metadata":
        return this.#metadata;
      case "$batch":
        return this.#batch;
      default:
        return CONNECTION_PATHS.get(rest) ?? this.#setAt(rest) ?? this.#unknown;
    }
  }

  #setAt(rest: string): DataPath | null {
    const [, name = "", inside, tail = ""] = /^([^(/]+)(?:\((.*)\))?((?:\/[^/()]+){0,2})$/s.exec(rest) ?? [];
    const set = name.startsWith("/") ? undefined : this.#byName().get(name);
    const asked = set === undefined ? null : askedBy(inside?.trim() ?? "", tail.split("/").slice(1));
    if (set === undefined || asked === null) return null;
    const { path, tier } = set.endpoint.spec;
    const item = itemOf("GET", path, { ...OF_CALLER, tier }, (exchange) => serveSet(exchange, set, asked));
    return { ...item, endpoint: set.counted };
  }

  /** The sets of the active release, by their names and by the paths of their endpoints, which begin with a slash. */
  #byName(): ReadonlyMap<string, OdataSet> {
    const { current } = this.#parts.active;
    if (this.#release !== current) {
      const sets = setsOf(current);
      this.#sets = new Map([
        ...sets,
        ...[...sets.values()].map((set) => [set.endpoint.spec.path, set] as const),
      ]);
      this.#release = current;
    }
    return this.#sets;
  }
}

/** What stands behind the name of a set: `key` in parentheses, and the segments of the path behind that. */
function askedBy(key: string, [first, second]: readonly string[]): SetPath | null {
  if (key === "")
    return first === undefined ? { kind: "rows" } : first === "$count" && !second ? { kind: "count" } : null;
  const isProperty = first?.startsWith("$") !== true && (second === undefined || second === "$value");
  return isProperty ? { kind: "row", key, property: first ?? null, isRaw: second !== undefined } : null;
}

function itemOf(
  method: DataRoute["method"],
  path: string,
  access: RouteAccess,
  handle: DataRoute["handle"],
): DataPath {
  return pathItem([{ method, path, access, operation: null, handle }]);
}

const CONNECTION_PATHS: ReadonlyMap<string, DataPath> = new Map(
  Object.entries(CONNECTIONS).map(([name, file]) => [
    name,
    itemOf("GET", `${ROOT}/${name}`, OF_DOCUMENT, (exchange) => connectionFile(exchange, file)),
  ]),
);

function decoded(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

/** Basic authentication has the key as its password: these tools have no field for a header. */
function readBasicKey({ headers }: IncomingMessage): void {
  const [, encoded = ""] = /^Basic +([\w+/=-]+)\s*$/i.exec(headers.authorization ?? "") ?? [];
  if (encoded === "" || headers["x-api-key"] !== undefined) return;
  const text = Buffer.from(encoded, "base64").toString();
  headers["x-api-key"] = text.slice(text.indexOf(":") + 1);
}
