import { setTimeout as pause } from "node:timers/promises";
import type { Caller } from "../model/caller.js";
import type { Column } from "../model/endpoint.js";
import { Projection } from "../model/projection.js";
import { isHttpError } from "../model/errors.js";
import type { Selection } from "../model/query.js";
import { queryKey } from "../model/query-key.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import {
  DatabaseUnreachable,
  Overloaded,
  QueryAbandoned,
  reachedTimeLimit,
} from "../warehouse/query-errors.js";
import type { Gateway } from "./gateway.js";
import { filterToLoad, readParameters } from "../request/resolve-query.js";
import { queryFields } from "../request/request-fields.js";
import { readRows } from "../response/read-rows.js";

/** What is read of each endpoint. */
interface ReadPart {
  readonly rows: number;
  /** Longer ones are left out. */
  readonly maxBytes: number;
}

/** An example of a row. */
const EXAMPLE: ReadPart = { rows: 1, maxBytes: 2048 };

/** The latest number and those before it, for a picture of 60 points (runtime/pages/live-endpoint.ts). */
export const FIGURE: ReadPart = { rows: 60, maxBytes: 64 * 1024 };

/** Memory for all of them: 10,000 endpoints with rows of 800 bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Time limit of a row, which is read once more where it reached that: the machine may have stood still. */
const ROW_MS = 1000;

/** How long the first reader of a document waits for them. */
const WAIT_MS = 2000;

/** After a database that did not respond. */
const RETRY_MS = 60_000;

/** Its share of the connections is that of a caller without a key. */
const READER: Caller = { id: "examples", tier: "tier0", org: null, allowed: null, key: null };

/** What is served. */
interface ExampleSource {
  readonly endpoints: ReadonlyMap<string, { readonly served: ServedEndpoint }>;
  readonly isPrivate: (path: string, column: string) => boolean;
}

/** Whose row it is, and what of it everybody may read. */
interface OpenEndpoint {
  readonly endpoint: ServedEndpoint;
  readonly columns: readonly Column[];
}

interface KnownRow extends OpenEndpoint {
  readonly version: string | null;
  /** As JSON has it; null where there is none. */
  readonly text: string | null;
}

/**
 * Real rows of public endpoints, for documents: of those that answer a request without filters and key, without private columns. They
 * are read one after another once a document is asked for, and kept until the next build.
 */
export class ExampleRows {
  readonly #gateway: Gateway;
  readonly #active: { readonly current: ExampleSource };
  readonly #part: ReadPart;
  /** Paths, some with parameters; null: all that are open. */
  readonly #chosen: (() => ReadonlySet<string>) | null;
  /** Bounded in bytes (`MAX_BYTES`). */
  #rows = new Map<string, KnownRow>();
  #bytes = 0;
  #read: { readonly release: ExampleSource; readonly builds: string } | null = null;
  #reading: Promise<void> | null = null;
  #retryAt = 0;
  /** Changes when they do. */
  generation = 0;

  constructor(
    gateway: Gateway,
    active: { readonly current: ExampleSource },
    part = EXAMPLE,
    chosen: (() => ReadonlySet<string>) | null = null,
  ) {
    this.#gateway = gateway;
    this.#active = active;
    this.#part = part;
    this.#chosen = chosen;
  }

  /**
   * The row of the endpoint at a path and its parameters, or several with commas between, as JSON; null where there is none. A row that was
   * read for an earlier release is one of this only where it has the endpoint with the same public columns.
   */
  at(address: string): string | null {
    const known = this.#rows.get(address);
    return known && isSameRow(known, openAt(this.#active.current, address)) ? known.text : null;
  }

  /** Reads those that are missing or older than the build (`builds`), for a bounded time; the rest is read later. */
  async ready(builds: string): Promise<void> {
    const release = this.#active.current;
    const isKnown = this.#read?.release === release && this.#read.builds === builds;
    if (!isKnown && this.#reading === null && performance.now() >= this.#retryAt) {
      this.#reading = this.#readAll(release, builds).finally(() => (this.#reading = null));
    }
    if (this.#reading !== null)
      await Promise.race([this.#reading, pause(WAIT_MS, undefined, { ref: false })]);
  }

  async #readAll(release: ExampleSource, builds: string): Promise<void> {
    const rows = new Map<string, KnownRow>();
    this.#bytes = 0;
    for (const address of this.#chosen?.() ?? release.endpoints.keys()) {
      const open = openAt(release, address);
      if (open === null || this.#bytes > MAX_BYTES) continue;
      const { endpoint, columns } = open;
      const [path = "", query = ""] = address.split("?");
      const fields = queryFields(query);
      await filterToLoad(endpoint, fields);
      const asked = readParameters(endpoint, fields, "query");
      // The release has other parameters than the configuration names.
      if (isHttpError(asked)) continue;
      const version = this.#gateway.versionOf(path)?.id ?? null;
      const known = this.#rows.get(address);
      const isSame = known?.version === version && isSameRow(known, open);
      const { conditions } = asked;
      const text = isSame
        ? known.text
        : await this.#readRow(endpoint, { columns: new Projection(columns), conditions }, version);
      if (text === undefined) {
        this.#retryAt = performance.now() + RETRY_MS;
        return;
      }
      this.#bytes += text?.length ?? 0;
      rows.set(address, { ...open, version, text });
    }
    this.#rows = rows;
    this.#read = { release, builds };
    this.generation++;
  }

  /** Null: it has none, or not in time. Undefined: the database does not respond. */
  async #readRow(
    endpoint: ServedEndpoint,
    asked: Pick<Selection, "columns" | "conditions">,
    version: string | null,
    isAgain = false,
  ): Promise<string | null | undefined> {
    const { results, queryLimits, warehouse, log } = this.#gateway;
    const { spec, json } = endpoint;
    const { relation, path: route, sort, pagination } = spec;
    if (warehouse.missingRelations.includes(relation.join("."))) return null;
    const until = performance.now() + ROW_MS;
    const limit = Math.min(this.#part.rows, pagination?.maxLimit ?? Infinity);
    const page = { limit, offset: 0, lookAhead: false };
    const limits = queryLimits.tier0;
    const timeoutMs = Math.min(ROW_MS, limits.timeoutMs || ROW_MS);
    const query = {
      relation,
      route,
      selection: { ...asked, sort, page },
      format: json,
      ...limits,
      timeoutMs,
    };
    const context = {
      id: "examples",
      caller: READER,
      isStillNeeded: () => performance.now() < until,
      version,
    };
    try {
      const { body, isCut } = await readRows(
        await results.get(queryKey(query), query, context),
        this.#part.maxBytes,
      );
      const text = body.slice(1, -1);
      return isCut || text === "" ? null : text;
    } catch (error) {
      if (error instanceof DatabaseUnreachable || error instanceof Overloaded) return undefined;
      const isLate = reachedTimeLimit(error) || error instanceof QueryAbandoned;
      if (isLate && !isAgain) return this.#readRow(endpoint, asked, version, true);
      log.debug({ err: error, route }, "no example row");
      return null;
    }
  }
}

/** The endpoint at an address, with its public columns; null where everybody may read none. */
function openAt(release: ExampleSource, address: string): OpenEndpoint | null {
  const [path = ""] = address.split("?");
  const endpoint = release.endpoints.get(path)?.served;
  const columns = endpoint === undefined ? [] : publicColumns(endpoint, release);
  return endpoint === undefined || columns.length === 0 ? null : { endpoint, columns };
}

/** Columns of one endpoint are the same objects. */
const isSameRow = (known: OpenEndpoint, open: OpenEndpoint | null): boolean =>
  known.endpoint === open?.endpoint &&
  known.columns.length === open.columns.length &&
  known.columns.every((column, i) => column === open.columns[i]);

/** The columns that an example may show: none where a request needs a key or a filter, or serves no rows. */
function publicColumns({ spec, all }: ServedEndpoint, { isPrivate }: ExampleSource) {
  const { tier, rows, aggregate, allowUnfiltered, requireAnyOf, onFailedTest, goneAt, path } = spec;
  // An example is kept until the next build: a test may fail before it, and the endpoint may end.
  const isServed = onFailedTest === undefined && goneAt === undefined;
  const isOpen =
    isServed && tier === "tier0" && rows === undefined && allowUnfiltered && requireAnyOf.length === 0;
  const hasRows = aggregate === undefined || (aggregate.of === "measures" && aggregate.rows !== false);
  return isOpen && hasRows ? all.columns.filter(({ name }) => !isPrivate(path, name)) : [];
}
