import type { Tier } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../../catalogue/catalogue.js";
import type { Sentence } from "../../report/sentence.js";
import type { Ancestor } from "../project/lineage.js";
import type { Node } from "../project/node.js";
import type { Project } from "../project/project.js";

/** An endpoint with what stands behind it. */
export interface Subject {
  readonly entry: CatalogueEntry;
  readonly node: Node;
  /** Everything that feeds it, nearest first. */
  readonly ancestors: readonly Ancestor[];
  /** Where its `meta.api` is in the node, as a JSON path. */
  readonly apiPath: string;
}

/** What holds for all endpoints of a run. */
export interface Context {
  readonly project: Project;
  /** Tier of an API model whose tags name none. */
  readonly defaultTier: Tier;
  /** Keys of a `meta` that mark data as private. */
  readonly privateKeys: readonly string[];
}

/** What a check says of an endpoint. */
export interface Remark {
  /** Where in the model's node, as a JSON path. */
  readonly path: string;
  readonly message: Sentence;
  readonly hint: Sentence;
}

export interface Check {
  readonly find: (subject: Subject, context: Context) => readonly Remark[];
  /** Why the check can say nothing of this project; null, or left out, when it can. */
  readonly blindTo?: (project: Project) => string | null;
}
