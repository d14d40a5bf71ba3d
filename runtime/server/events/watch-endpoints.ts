import { digestOf } from "../../core/model/digest.js";
import type { ActiveRelease, LoadedRelease } from "../../core/handler/loaded-release.js";
import type { Endpoint } from "../../core/model/endpoint.js";
import type { DataQuality } from "../../core/warehouse/data-quality.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";
import type { Due } from "../../core/warehouse/freshness-checks.js";
import type { EventData, Sighting } from "./event.js";

/** Older builds and delays are no news when a server starts. */
const NEWS_MS = 7 * 86_400_000;

/** What events say of endpoints. */
export interface WatchedEndpoints {
  readonly active: ActiveRelease;
  readonly builds: BuildRecords;
  readonly dueOf: (endpoint: Endpoint) => Due | null;
  readonly qualityOf: (endpoint: Endpoint) => DataQuality | null;
}

/**
 * Compares what a server knows of its endpoints with what it has told. It tells a state, not a change: a server that was killed before it
 * told tells after its next start.
 */
export class EndpointWatch {
  readonly #watched: WatchedEndpoints;
  readonly #publish: (sightings: readonly Sighting[]) => Promise<void>;
  /** The build that was told of each path. Bounded by the endpoints. */
  readonly #asOf = new Map<string, string>();
  /** The delay that was told of each path. Bounded by the endpoints. */
  readonly #due = new Map<string, string>();
  #release: LoadedRelease | null = null;
  #changes = -1;

  constructor(watched: WatchedEndpoints, publish: (sightings: readonly Sighting[]) => Promise<void>) {
    this.#watched = watched;
    this.#publish = publish;
  }

  /** Tells what has not been told. Rejects while the store is away: the next call tells it. */
  async check(now = Date.now()): Promise<void> {
    const { current: release } = this.#watched.active;
    if (release !== this.#release) await this.#tellRelease(release);
    await this.#tellBuilds(release, now);
    await this.#tellDelays(release, now);
  }

  async #tellRelease(release: LoadedRelease): Promise<void> {
    const before = this.#release;
    const specs = [...release.endpoints.values()].map(({ spec }) => spec);
    await this.#publish(
      specs.map((spec) => {
        const base = before?.endpoints.get(spec.path);
        const { path } = spec;
        const contract = contractOf(spec);
        return {
          ...{ type: "contract.changed", path, contract, data: { path } },
          before: base === undefined ? null : contractOf(base.spec),
        };
      }),
    );
    await this.#publish(specs.flatMap(deprecationOf));
    this.#release = release;
    this.#changes = -1;
  }

  async #tellBuilds(release: LoadedRelease, now: number): Promise<void> {
    const { builds } = this.#watched;
    const { changes } = builds;
    if (changes === this.#changes) return;
    const sightings = [...release.endpoints.values()].flatMap(({ spec }) => {
      const version = builds.versionAt(spec.path, release.upstreamNodes);
      if (version === null || version.asOf <= (this.#asOf.get(spec.path) ?? "")) return [];
      if (Date.parse(version.asOf) < now - NEWS_MS) return [];
      const { path } = spec;
      return [
        {
          type: "data.rebuilt",
          path,
          asOf: version.asOf,
          data: this.#rebuilt(release, spec, version),
        } as const,
      ];
    });
    await this.#publish(sightings);
    for (const { path, asOf } of sightings) this.#asOf.set(path, asOf);
    this.#changes = changes;
  }

  #rebuilt(
    { upstreamNodes }: LoadedRelease,
    spec: Endpoint,
    { id, asOf }: { readonly id: string; readonly asOf: string },
  ): EventData {
    const { builds, dueOf, qualityOf } = this.#watched;
    const { path, rows: ownRows } = spec;
    const [due, quality] = [dueOf(spec), qualityOf(spec)];
    const own = (upstreamNodes.get(path) ?? []).filter((node) => node.split(".")[2] === spec.model);
    const [node = ""] = own;
    const { rows = null, completedAt } = builds.builds.get(node) ?? {};
    const isOfBuild = own.length === 1 && completedAt === Date.parse(asOf) && ownRows === undefined;
    return {
      ...{ path, build: id, as_of: asOf },
      freshness: due === null ? null : freshnessOf(due),
      tests: quality,
      ...(isOfBuild && rows !== null && { rows }),
    };
  }

  async #tellDelays(release: LoadedRelease, now: number): Promise<void> {
    const { builds, dueOf } = this.#watched;
    const sightings = [...release.endpoints.values()].flatMap(({ spec }) => {
      const { due = Infinity } = dueOf(spec) ?? {};
      if (due >= now || due < now - NEWS_MS) return [];
      const { path } = spec;
      const time = new Date(due).toISOString();
      if (this.#due.get(path) === time) return [];
      const asOf = builds.dataAsOf(path, release.upstreamNodes.get(path) ?? []);
      return [{ type: "data.late", path, asOf, due: time, data: { path, as_of: asOf, due: time } } as const];
    });
    await this.#publish(sightings);
    for (const { path, due } of sightings) this.#due.set(path, due);
  }
}

function deprecationOf({ path, deprecationDate, successor }: Endpoint): readonly Sighting[] {
  if (deprecationDate === null) return [];
  const data = { path, deprecation_date: deprecationDate, successor };
  return [{ type: "endpoint.deprecated", path, deprecationDate, data }];
}

function freshnessOf({ due, warnAt }: Due): EventData {
  const now = Date.now();
  const state = due < now ? "error" : warnAt < now ? "warn" : "ok";
  return { state, due: new Date(due === Infinity ? warnAt : due).toISOString() };
}

/** A digest of each part of what callers rely on; texts are none. */
function contractOf(spec: Endpoint): Readonly<Record<string, string>> {
  const { tier, methods, columns, numbers, parameters, filters, filter, fields, rows, cursor } = spec;
  const { aggregate, allowUnfiltered, requireAnyOf, pagination, sort, sortableFields } = spec;
  const parts = {
    access: [tier, methods, rows],
    columns: [columns, numbers],
    parameters: [parameters, filters, filter, fields, allowUnfiltered, requireAnyOf],
    order: [sort, sortableFields, pagination, cursor],
    groups: aggregate,
  };
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, digestOf(JSON.stringify(part ?? null))]),
  );
}
