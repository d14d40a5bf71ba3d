import type { CompressedText } from "../http/compressed-text.js";
import type { Endpoint } from "../model/endpoint.js";
import type { Plans } from "../model/organization-plan.js";
import type { ServedEndpoint } from "../model/served-endpoint.js";
import type { Tier } from "../model/tier.js";
import type { EndpointModule } from "./define.js";

/** An evaluated module with the digest of its source. */
export interface LoadedEndpoint extends Required<EndpointModule> {
  /** What its handlers serve from. */
  readonly served: ServedEndpoint;
  readonly digest: string;
}

/** What is known of a release beside its documents and modules. */
export interface ReleaseFacts {
  /** Number of models tagged for the API that have no endpoint. */
  readonly skippedModels: number;
  /** Name of dbt's adapter; null where it is not known. */
  readonly adapter: string | null;
  /** Name of dbt's adapter where the relations are copies of its own; null where dbt builds them in the database. */
  readonly copiedFrom: string | null;
  /** Of organizations whose keys are in a database. */
  readonly plans: Plans;
  /** Its manifest; null for a generated folder. */
  readonly manifest: ManifestVersion | null;
}

/** Identifies a manifest. */
export interface ManifestVersion {
  /** Hash of the manifest's bytes; with a dbt catalog, of both. */
  readonly hash: string;
  /** When it was loaded, in milliseconds since 1970. */
  readonly loadedAt: number;
  /** Models in the manifest. */
  readonly models: number;
  readonly skipped: readonly SkippedModel[];
  readonly heldBack: readonly HeldBackEndpoint[];
  /** Tier of its endpoints without a tier tag: that of the generated folder at the time. */
  readonly defaultTier: Tier;
  /** Digest of the generated folder of the time (`GeneratedFiles`): its default tier, its plans and its paths made the release too. */
  readonly folder: string;
}

/** An endpoint whose changes the guard holds back (runtime/docs/refresh.md). */
export interface HeldBackEndpoint {
  readonly endpoint: string;
  readonly changes: readonly string[];
}

/** A tagged model without an endpoint, with the reasons. */
export interface SkippedModel {
  readonly model: string;
  readonly errors: readonly string[];
}

/** A release in memory. */
export interface LoadedRelease extends ReleaseFacts {
  readonly openApi: CompressedText;
  /** `catalogue.json` and `lineage.json`. */
  readonly documentation: Readonly<Record<"catalogue" | "lineage", CompressedText>>;
  /** By path. */
  readonly endpoints: ReadonlyMap<string, LoadedEndpoint>;
  /** By each path that it answers at: its own and its former ones. */
  readonly served: ReadonlyMap<string, LoadedEndpoint>;
  /** By `schema.name`: the endpoints that read the relation. */
  readonly readers: ReadonlyMap<string, readonly { readonly spec: Endpoint }[]>;
  /** By the same paths: the dbt nodes (`unique_id`) whose builds change the rows. */
  readonly upstreamNodes: ReadonlyMap<string, readonly string[]>;
  /** By the same paths, where the endpoint promises how old its rows are: the nodes that hold them. */
  readonly rowNodes: ReadonlyMap<string, readonly string[]>;
  /** By the same paths: the nodes above whose freshness dbt checks. */
  readonly checkedNodes: ReadonlyMap<string, readonly string[]>;
  /** By the dbt node of a roll-up: the nodes whose builds change the rows that it is made from. */
  readonly rollUpNodes: ReadonlyMap<string, readonly string[]>;
  /** By the same paths as `upstreamNodes`: the dbt tests of the model. */
  readonly tests: ReadonlyMap<string, readonly string[]>;
  /** Whether the project marks a column of the endpoint at this path as private data. */
  readonly isPrivate: (path: string, column: string) => boolean;
}

/** Holds the active release. A request reads it once, so that a single release handles it. */
export interface ActiveRelease {
  current: LoadedRelease;
}
