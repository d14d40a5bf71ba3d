import type { SystemOperation } from "../../core/handler/system-routes.js";
import type { Access } from "../../core/model/caller.js";
import type { HttpError } from "../../core/model/errors.js";
import type { ServedEndpoint } from "../../core/model/served-endpoint.js";
import type { Tier } from "../../core/model/tier.js";
import type { UsageLine } from "../operations/usage-report.js";
import type { RefreshResult } from "../release/activate.js";
import type { HeldBackEndpoint } from "../../core/handler/loaded-release.js";
import type { BufferedResult } from "../../core/response/buffered-result.js";
import type { DataRoute, Exchange } from "../../core/handler/exchange.js";
import type { OriginSettings } from "../../core/http/origins.js";
import type { Handled } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";

/** State that the system endpoints report. */
export interface Service {
  readonly title: string;
  readonly documents: CallerDocuments;
  /** The endpoint that answers at a path, its own or a former one; null where there is none. */
  readonly endpointAt: (path: string) => ServedEndpoint | null;
  /** Whether a column of the endpoint at a path is private data. */
  readonly isPrivate: (path: string, column: string) => boolean;
  /** Relations of endpoints, as `schema.name`, that the database does not have. */
  readonly missingRelations: () => readonly string[];
  /** Why one of them is missing although the database has something of its name. */
  readonly reasonMissing: (name: string) => string | null;
  readonly missingColumns: () => readonly string[];
  /** Paths of endpoints whose every request fails. */
  readonly failingEndpoints: () => readonly string[];
  /** Relations, as `schema.name`, whose copy is older than the last build of its source. */
  readonly staleCopies: () => readonly string[];
  /** Paths of endpoints whose rows are older than promised. */
  readonly lateEndpoints: () => readonly string[];
  /** Sources and models, by `unique_id`, that make an endpoint late. */
  readonly lateNodes: () => readonly string[];
  /** Why the release and the keys may be old; null for what is not. */
  readonly degraded: () => readonly (string | null)[];
  /** Endpoints whose changes the guard holds back. */
  readonly heldBack: () => readonly HeldBackEndpoint[];
  /** The content of `/metrics`. */
  readonly metrics: {
    readonly contentType: string;
    readonly text: () => Promise<string>;
    /** Made within a second: nothing limits how often METRICS_PUBLIC lets it be read. With 503 endpoints, 8 connections that read the 800 kB made everybody else wait 0.8 to 2.1 s, now 14 to 145 ms. */
    readonly recentText: () => Promise<string>;
  };
  /** Whether `/metrics` is public. */
  readonly metricsPublic: boolean;
  readonly origins: OriginSettings;
  readonly events: {
    /** Sends events until the client leaves. */
    readonly stream: (exchange: Exchange) => Promise<HttpError | null>;
    /** The newest events as a feed. */
    readonly feed: (exchange: Exchange) => Promise<Reply | HttpError>;
    /** Lists, adds and deletes subscriptions of the caller's key. */
    readonly subscriptions: (exchange: Exchange) => Promise<Reply | HttpError | null>;
  };
  /** What a key has used, by day; null where usage is not recorded. */
  readonly usageOf: (keyId: string) => Promise<readonly UsageLine[] | null>;
  /** Reads the manifest again. */
  readonly refresh: () => Promise<RefreshResult>;
}

/** A route of the service itself. Its handler gets the state that it reports. */
export interface SystemRoute extends Omit<DataRoute, "handle"> {
  readonly operation: SystemOperation | null;
  readonly handle: (exchange: Exchange, service: Service) => Handled<HttpError> | Promise<Handled<HttpError>>;
}

/** Documents about the endpoints that a caller may call. */
interface CallerDocuments {
  /** Before a document is made. */
  ready(): Promise<void>;
  openApi(caller: Access, only: Tier | null): BufferedResult;
  catalogue(caller: Access): { readonly result: BufferedResult };
  llms(caller: Access): BufferedResult;
  changelog(caller: Access, isAtom: boolean): BufferedResult;
  status(caller: Access, isAtom: boolean): Promise<BufferedResult>;
  figures(): Promise<BufferedResult>;
}

export function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}
