import type { Column, Endpoint, Json, Parameter, Plans, Relation, Tier } from "@routewright/runtime/model";
import type { ColumnGuarantees } from "../manifest/model-columns.js";

/** A column, and what the dbt project declares of it besides its name and type. */
export interface DescribedColumn extends Column, ColumnGuarantees {
  readonly description?: string;
  /** The type in the warehouse of which the relation is a copy. */
  readonly sourceType?: string;
  /** Labels of an enumeration that the database has by a name of its own, in its order. */
  readonly labels?: readonly string[];
  /** What a domain of the database is of. */
  readonly baseType?: string;
  readonly notNull?: "constraint" | "test";
  readonly acceptedValues?: readonly string[];
  /** Whether the project marks it as private data. */
  readonly private?: boolean;
  /** A value that the project shows in documents. */
  readonly example?: Json;
}

export type DescribedParameter = Parameter & { readonly description?: string };

/**
 * An endpoint, and what the dbt project declares of its model; `routewright diff` classifies changes by it. Descriptions are
 * rendered into doc comments and OpenAPI, never into code.
 */
export interface CatalogueEntry extends Endpoint {
  readonly columns: readonly DescribedColumn[];
  readonly parameters: readonly DescribedParameter[];
  /** dbt's `unique_id` of the model. */
  readonly uniqueId: string;
  /** The model's file in its dbt project; empty where an older manifest does not name it. */
  readonly file: string;
  readonly category: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  /** dbt's version of the model; absent for a model without versions. */
  readonly version?: string;
  /** What changes for callers who move to the successor, as `diff` says it; absent without one. */
  readonly successorChanges?: readonly string[];
  /** Whether a tag names the tier; otherwise it is the default tier. */
  readonly hasTierTag: boolean;
  /** Whether the project marks the whole model as private data. */
  readonly private: boolean;
  readonly description: string;
  /** In words, as the project says it; else pages make one (`endpointTitle`). */
  readonly title?: string;
  /** Who answers for the model. Not served: it may be a person. */
  readonly owner?: string;
  /** `preview`: its consumers were told that it may change; the gate lets its breaking changes through. */
  readonly stability?: "preview";
  /**
   * What is enforced when rows are built; absent where nothing is: `contract` (dbt refuses other names and types of columns), and the
   * constraints of the database, such as `primary key (id)`.
   */
  readonly enforced?: readonly string[];
  /** Further words for which a search finds the endpoint. */
  readonly synonyms?: readonly string[];
}

/** A problem of a model, and how its author can fix it. */
export interface Problem {
  /** dbt's `unique_id`. */
  readonly model: string;
  /** JSON path in the model's node: `$.config.meta.api.parameters[0].column`. */
  readonly path: string;
  readonly message: string;
  /** How to fix it. */
  readonly hint: string;
}

/** A problem without its model. */
export type Complaint = Omit<Problem, "model">;

/** One complaint, as the list that a check returns. */
export function complaint(path: string, message: string, hint: string): readonly Complaint[] {
  return [{ path, message, hint }];
}

/** A problem that does not skip its model. */
export interface Warning extends Problem {
  /** A key that nothing reads, probably misspelt: the setting that was meant is not in force. */
  readonly isUnknownKey?: true;
  /** A filter that is not offered, since it would tell what is private. */
  readonly isWithheldFilter?: true;
  /** A roll-up that is not used. */
  readonly isUnusedRollUp?: true;
}

/** A problem on one line: where it is, what is wrong, how to fix it. */
export function problemText({ path, message, hint }: Problem): string {
  return `${path}: ${message} ${hint}`;
}

/** Why a tagged model has no endpoint. */
export type SkipReason = "invalid" | "path-taken" | "excluded";

/** A tagged model without an endpoint, with all of its problems. */
export interface Skipped {
  readonly model: string;
  /** The model's file in its dbt project. */
  readonly file: string;
  readonly reason: SkipReason;
  readonly problems: readonly Problem[];
}

/** What endpoints are made from. */
export interface Lineage {
  /** By `unique_id`. */
  readonly nodes: ReadonlyMap<string, LineageNode>;
  /** By path of the endpoint: the nodes (`unique_id`, sorted) whose builds change its rows. */
  readonly upstreamNodes: ReadonlyMap<string, readonly string[]>;
  /** By path of an endpoint that promises how old its rows are: the nodes that hold them. */
  readonly rowNodes?: ReadonlyMap<string, readonly string[]>;
  /** By the same paths: the nodes above whose freshness dbt checks. */
  readonly checkedNodes?: ReadonlyMap<string, readonly string[]>;
  /** By node of a roll-up: the nodes whose builds change the rows that it is made from. */
  readonly rollUpNodes?: ReadonlyMap<string, readonly string[]>;
  /** By path of the endpoint: the tests of its model (`unique_id`, sorted), each with its column, or null. */
  readonly tests?: ReadonlyMap<string, Readonly<Record<string, string | null>>>;
}

export interface LineageNode {
  readonly parents: readonly string[];
  readonly tests: readonly string[];
  /** Of a node whose builds change an endpoint's rows. */
  readonly relation?: Relation;
}

/**
 * What a project marks as private: names by `unique_id` of a node, `*` for all of it; in lower case by `semantic_model.<name>` also
 * aggregated expressions (`sum(amount)`). `diff` judges by it what a later revision no longer marks.
 */
export type PrivateMarks = ReadonlyMap<string, readonly string[]>;

/** A node that is marked as a whole. */
export const WHOLE = "*";

export const NO_LINEAGE: Lineage = { nodes: new Map(), upstreamNodes: new Map() };

/** What a manifest publishes: the model between reading and rendering. Entries are in the documented order. */
export interface Catalogue {
  readonly entries: readonly CatalogueEntry[];
  readonly skipped: readonly Skipped[];
  /** Tier of the endpoints whose model has no tier tag. */
  readonly defaultTier: Tier;
  /** Name of dbt's adapter, such as `clickhouse`; null where the manifest, or a file of before, does not name it. */
  readonly adapter: string | null;
  /** Name of dbt's own adapter, where `engine` serves copies of its relations. */
  readonly copiedFrom?: string;
  /** Descriptions of the categories that have one. */
  readonly categories: Readonly<Record<string, string>>;
  /** Problems that do not skip a model. */
  readonly warnings: readonly Warning[];
  /** Empty in a catalogue read from its file alone. */
  readonly lineage: Lineage;
  /** Digest of what an entry was read from, where it follows from that alone, without a warning. Absent in a catalogue read from its file. */
  readonly inputs?: ReadonlyMap<CatalogueEntry, string>;
  /** Of organizations, by name; absent where the config file has none. */
  readonly plans?: Plans;
  /** Absent where nothing is marked, and in files of before. */
  readonly marks?: PrivateMarks;
}

/** Keys of endpoints in files of earlier versions: lists of texts, or null. */
export const FORMER_KEYS: readonly string[] = ["upstreamNodes"];
