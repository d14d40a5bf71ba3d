import type { Caller } from "../model/caller.js";
import type { Tier } from "../model/tier.js";
import type { PublicAddress } from "../http/public-address.js";
import type { UsageLine } from "../operations/usage-report.js";
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
  readonly missingColumns: () => readonly string[];
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

type Access = Pick<Caller, "tier" | "allowed">;

/** Documents about the endpoints that a caller may call. */
interface Documents {
  openApi(caller: Access, only: Tier | null, address: PublicAddress): BufferedResult;
  catalogue(caller: Access): { readonly result: BufferedResult };
  llms(caller: Access, address: PublicAddress): BufferedResult;
}

export function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}
