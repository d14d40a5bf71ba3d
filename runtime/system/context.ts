import type { CallerAccess, Tier } from "../model/tier.js";
import type { RouteContext } from "../handler/authorize-request.js";
import type { UsageLine } from "../operations/usage-table.js";
import type { RefreshResult } from "../release/activate.js";
import type { HeldBackEndpoint } from "../release/release.js";
import type { BufferedResult } from "../response/buffered-result.js";
import type { Reply } from "../response/send.js";

/** State that the system endpoints report. */
export interface Service {
  readonly title: string;
  readonly documents: Documents;
  /** Relations of endpoints, as `schema.name`, that the database does not have. */
  readonly missingRelations: () => readonly string[];
  /** Why the release may be old; null while it is not. */
  readonly refreshDegraded: () => string | null;
  /** Endpoints whose changes the guard holds back. */
  readonly heldBack: () => readonly HeldBackEndpoint[];
  /** The content of `/metrics`. */
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** Whether `/metrics` is public. */
  readonly metricsPublic: boolean;
  /** What a key has used, by day; null where usage is not recorded. */
  readonly usageOf: (keyId: string) => Promise<readonly UsageLine[] | null>;
  /** Reads the manifest again. */
  readonly refresh: () => Promise<RefreshResult>;
}

/** Documents about the endpoints that a caller may call. */
interface Documents {
  openApi(caller: CallerAccess, only: Tier | null): BufferedResult;
  catalogue(caller: CallerAccess): { readonly result: BufferedResult; readonly llms: BufferedResult };
}

/** A request to a system endpoint. */
export interface Context extends RouteContext {
  readonly service: Service;
}

export function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}
