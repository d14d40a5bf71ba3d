import { setImmediate } from "node:timers/promises";
import { BoundedCache } from "../core/http/bounded-cache.js";
import { catalogueFor, type CatalogueSource } from "./catalogue.js";
import type { CatalogueBody, CatalogueEndpoint } from "./catalogue-body.js";
import type { HeadlineFigure } from "../core/model/about.js";
import type { Access } from "../core/model/caller.js";
import { atomOf, type Changelog, changelogFor } from "../core/model/changelog.js";
import type { DaysByPath } from "../core/model/endpoint-days.js";
import { allows, type Tier } from "../core/model/tier.js";
import { BufferedResult } from "../core/response/buffered-result.js";
import type { BuildRecords } from "../core/warehouse/data-versions.js";
import { lateAmong } from "../core/warehouse/freshness-checks.js";
import { figureAddress, figureAddresses } from "./live-endpoint.js";
import { llmsText } from "./llms-text.js";
import type { QuestionSearch } from "./questions/question-search.js";
import { statusBody, statusFeed } from "./status-documents.js";
import {
  type OpenApi,
  openApiFor,
  textWithRows,
  withBearer,
  withoutOtherSuccessors,
} from "./served-openapi.js";
import type { ActiveRelease, LoadedRelease } from "../core/handler/loaded-release.js";

/** A rendered document and the state that it was rendered from. */
interface CachedDocument<T> {
  readonly release: LoadedRelease;
  readonly results: string;
  readonly value: T;
  /** In memory. */
  readonly bytes: number;
}

interface CatalogueDocument {
  /** The part that the caller may call. */
  readonly callable: CatalogueBody;
  /** The others that the caller may see: none with `CATALOGUE=allowed`. */
  readonly locked: readonly CatalogueEndpoint[];
  readonly result: BufferedResult;
  readonly body: CatalogueBody;
}

/** The API that documents describe. */
interface DescribedApi extends Pick<CatalogueSource, "title" | "about"> {
  /** What addresses begin with; null: they are relative to the document (`PublicAddressOf`). */
  readonly base: string | null;
  /** What changed for consumers. */
  readonly changelog: () => Changelog;
  /** What endpoints were, by path; null while it cannot be read. Absent: it is not kept. */
  readonly history?: (() => Promise<DaysByPath | null>) | undefined;
}

interface Visible extends Pick<CatalogueSource, "lineageTier" | "scope"> {
  /** Whether JWTs of an issuer are accepted beside keys. */
  readonly acceptsTokens: boolean;
  /** Paths of OpenAPI that only this server has. */
  readonly paths?: Readonly<Record<string, object>>;
}

/** Real rows that documents show. */
export interface ShownRows {
  /** Changes when they do. */
  readonly generation: number;
  /** A row of the endpoint at a path, as JSON; null where there is none. */
  at(path: string): string | null;
  /** Reads those that are missing. `builds`: changes with a build. */
  ready(builds: string): Promise<void>;
}

/** Where documents have their rows from: an example of each endpoint, and the figures of those at some paths. */
interface ShownBy {
  readonly rows: ShownRows;
  readonly figuresOf: (paths: () => ReadonlySet<string>) => ShownRows;
}

const ANYBODY: Access = { tier: "tier0", allowed: null };

/** Before the path of an address that is relative to a document at the root. */
const RELATIVE = ".";

/** A status is so old at most. */
const STATUS_MS = 5000;

/** Objects of a document in memory, as a multiple of the document's bytes. */
const OBJECTS = 4;

const sizeOfBody = (document: BufferedResult): number => document.memory;
const sizeOfCatalogue = ({ result }: CatalogueDocument): number => result.memory + OBJECTS * result.bytes;

/** Documents that describe the active release. Each is rendered once per release and access, at its first request. */
export class Documents {
  readonly #api: DescribedApi;
  readonly #active: ActiveRelease;
  readonly #builds: BuildRecords;
  readonly #visible: Visible;
  readonly #rows: ShownRows;
  readonly #figures: ShownRows;
  /** The day of a feed without entries: it stays while the service runs. */
  readonly #since = new Date().toISOString().slice(0, 10);
  /** The one that was last read; another has another generation. */
  #changelog: { readonly whole: Changelog | null; readonly generation: number } = {
    whole: null,
    generation: 0,
  };
  readonly #kept = new BoundedCache<CachedDocument<object>>("documents", {
    sizeOf: ({ bytes }) => bytes,
    isCurrent: ({ release }) => release === this.#active.current,
  });

  constructor(
    api: DescribedApi,
    active: ActiveRelease,
    builds: BuildRecords,
    visible: Visible,
    { rows, figuresOf }: ShownBy,
  ) {
    this.#api = api;
    this.#active = active;
    this.#builds = builds;
    this.#visible = visible;
    this.#rows = rows;
    this.#figures = figuresOf(() => this.#figureAddresses());
  }

  /** Before a document is made: its example rows are read. */
  ready(): Promise<void> {
    return this.#rows.ready(String(this.#builds.changes));
  }

  /** The OpenAPI document for a caller; with `only`, the endpoints that this tier may call, and the caller may see. */
  openApi({ tier, allowed }: Access, only: Tier | null): BufferedResult {
    const isPublic = this.#visible.scope === "public";
    const seen = only !== null && (isPublic || allows(tier, only)) ? only : isPublic ? null : tier;
    const access = seen === null ? null : { tier: seen, allowed: isPublic ? null : allowed };
    const server = this.#api.base ?? RELATIVE;
    const rows = this.#rows;
    return this.#cached("openapi", access, String(rows.generation), sizeOfBody, ({ openApi, endpoints }) => {
      const whole = openApi.bytes();
      const { acceptsTokens, paths } = this.#visible;
      const shown = [...endpoints.keys()].flatMap((path) => {
        const row = rows.at(path);
        return row === null ? [] : [[path, row] as const];
      });
      if (access === null && server === "" && !acceptsTokens && !paths && shown.length === 0)
        return new BufferedResult(whole, 0, 0);
      const generated = JSON.parse(whole.toString()) as OpenApi;
      const document = { ...generated, paths: { ...generated.paths, ...paths } } as OpenApi;
      const located = server === "" ? document : { ...document, servers: [{ url: server }] };
      const served = acceptsTokens ? withBearer(located) : located;
      const open = access === null ? served : openApiFor(served, access);
      const seen = isPublic ? open : withoutOtherSuccessors(open);
      return new BufferedResult(Buffer.from(`${textWithRows(seen, shown)}\n`), 0, 0);
    });
  }

  /** The catalogue for a caller. */
  catalogue(caller: Access): CatalogueDocument {
    const builds = this.#builds;
    const rows = this.#rows;
    // Time alone makes sources and models late, which a catalogue names.
    const late = lateAmong(builds, [...builds.checks.keys()], Date.now()).length;
    const results = `${String(builds.changes)} ${String(rows.generation)} ${String(late)}`;
    return this.#cached("catalogue", caller, results, sizeOfCatalogue, ({ endpoints, documentation }) => {
      const source = {
        ...this.#api,
        endpoints: [...endpoints.values()].map(({ spec }) => spec),
        catalogue: documentation.catalogue.text(),
        lineage: documentation.lineage.text(),
        results: builds,
        exampleAt: (path: string) => rows.at(path),
        ...this.#visible,
      };
      const body = catalogueFor(source, caller);
      return {
        callable: { ...body, endpoints: body.endpoints.filter(({ callable }) => callable) },
        locked: body.endpoints.filter(({ callable }) => !callable),
        result: new BufferedResult(Buffer.from(JSON.stringify(body)), 0, 0),
        body,
      };
    });
  }

  /** Another form of a caller's catalogue. `kind`: which; none of these is a kind of its own. */
  derived(kind: string, caller: Access, make: () => BufferedResult): BufferedResult {
    return this.#cached(kind, caller, String(this.#builds.changes), sizeOfBody, make);
  }

  /** `llms.txt` for a caller. */
  llms(caller: Access): BufferedResult {
    const results = `${String(this.#builds.changes)} ${String(this.#rows.generation)}`;
    return this.#cached("llms", caller, results, sizeOfBody, () => {
      const { body } = this.catalogue(caller);
      return new BufferedResult(Buffer.from(llmsText(body, this.#api.base ?? RELATIVE)), 0, 0);
    });
  }

  /** Rows of the endpoints that show their categories alive: those that everybody may call. */
  async figures(): Promise<BufferedResult> {
    await this.#figures.ready(String(this.#builds.changes));
    const { generation } = this.#figures;
    return this.#cached("figures", ANYBODY, String(generation), sizeOfBody, () => {
      const rows = [...this.#figureAddresses()].flatMap((path) => {
        const text = this.#figures.at(path);
        return text === null ? [] : [`${JSON.stringify(path)}:[${text}]`];
      });
      const headline = this.#headline().map((each) => ({ ...each, rows: figureAddress(each) }));
      const text = `{"figures":{${rows.join(",\n")}},\n"headline":${JSON.stringify(headline)}}\n`;
      return new BufferedResult(Buffer.from(text), 0, 0);
    });
  }

  /** The operator's numbers, as far as everybody may read them. */
  #headline(): readonly HeadlineFigure[] {
    const { endpoints } = this.catalogue(ANYBODY).callable;
    const open = new Set(endpoints.map(({ path }) => path));
    return (this.#api.about.headline ?? []).filter(({ path }) => open.has(path));
  }

  #figureAddresses(): ReadonlySet<string> {
    return figureAddresses(this.catalogue(ANYBODY).callable.endpoints, this.#headline());
  }

  /** What changed for consumers, as a caller may see it; as a feed where `isAtom`. */
  changelog({ tier, allowed }: Access, isAtom: boolean): BufferedResult {
    const { base, title, changelog } = this.#api;
    const whole = changelog();
    if (whole !== this.#changelog.whole)
      this.#changelog = { whole, generation: this.#changelog.generation + 1 };
    const access = this.#visible.scope === "public" ? null : { tier, allowed };
    const kind = isAtom ? "feed" : "changelog";
    return this.#cached(kind, access, String(this.#changelog.generation), sizeOfBody, ({ served }) => {
      const tierOf = (path: string): Tier | null => served.get(path)?.spec.tier ?? null;
      const seen = access === null ? whole : changelogFor(whole, access, tierOf);
      const at = base
        ? { self: `${base}/v1/system/changelog.atom`, explorer: `${base}/explore` }
        : { self: "changelog.atom", explorer: "../../explore" };
      const text = isAtom ? atomOf(seen, title, at, this.#since) : JSON.stringify(seen);
      return new BufferedResult(Buffer.from(text), 0, 0);
    });
  }

  /** The states of all endpoints that a caller sees, and what they were; as a feed where `isAtom`. */
  async status(caller: Access, isAtom: boolean): Promise<BufferedResult> {
    const { history } = this.#api;
    const days = history === undefined ? undefined : await history();
    const now = Date.now();
    // Time alone makes rows late.
    const results = [this.#builds.changes, Math.floor(now / STATUS_MS)].join(" ");
    return this.#cached(isAtom ? "status feed" : "status", caller, results, sizeOfBody, () => {
      const { endpoints } = this.catalogue(caller).body;
      const source = {
        ...this.#api,
        changelog: this.#api.changelog(),
        since: this.#since,
        endpoints,
        days,
        now,
      };
      const text = isAtom ? statusFeed(source) : JSON.stringify(statusBody(source));
      return new BufferedResult(Buffer.from(text), 0, 0);
    });
  }

  /** The search over the endpoints that a caller may call. Builds and tests do not change it. */
  search(caller: Access): Promise<QuestionSearch> {
    return this.#search("search", caller, ({ callable }) => callable.endpoints);
  }

  /** The search over those that a caller may see and not call. */
  lockedSearch(caller: Access): Promise<QuestionSearch> {
    return this.#search("locked search", caller, ({ locked }) => locked);
  }

  #search(
    kind: string,
    caller: Access,
    endpointsOf: (catalogue: CatalogueDocument) => readonly CatalogueEndpoint[],
  ): Promise<QuestionSearch> {
    const sizeOf = (): number => OBJECTS * this.catalogue(caller).result.bytes;
    return this.#cached(kind, caller, "", sizeOf, () => {
      const search = searchOf(endpointsOf(this.catalogue(caller)));
      search.catch(() => this.#kept.delete(keyOf(kind, caller)));
      return search;
    });
  }

  #cached<T extends object>(
    kind: string,
    access: Access | null,
    results: string,
    sizeOf: (value: T) => number,
    make: (release: LoadedRelease) => T,
  ): T {
    const release = this.#active.current;
    const key = keyOf(kind, access);
    const known = this.#kept.get(key) as CachedDocument<T> | undefined;
    if (known?.release === release && known.results === results) return known.value;
    const value = make(release);
    this.#kept.set(key, { release, results, value, bytes: sizeOf(value) });
    return value;
  }
}

function keyOf(kind: string, access: Access | null): string {
  return JSON.stringify([kind, access?.tier, access?.allowed]);
}

async function searchOf(endpoints: readonly CatalogueEndpoint[]): Promise<QuestionSearch> {
  const { QuestionSearch } = await import("./questions/question-search.js");
  const search = new QuestionSearch(endpoints);
  // Other requests run between the pieces.
  while (search.prepare()) await setImmediate();
  return search;
}
