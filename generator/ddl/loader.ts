import type { BuildsAtLoad, Outcome } from "@routewright/runtime/model";
import type { CopiedRelation } from "./copied-relation.js";
import type { ExportFormat, ExportTemplate } from "./export-location.js";
import type { RelationScript } from "./script.js";

export const MATERIALIZATIONS = ["table", "view"] as const;
export type CopyMaterialization = (typeof MATERIALIZATIONS)[number];

/** What is loaded, and how. */
export interface LoadRequest {
  /** Names the tables of this load. */
  readonly id: string;
  readonly from: ExportTemplate;
  readonly format: ExportFormat;
  readonly as: CopyMaterialization;
  readonly grants: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly buildsOf: (copied: CopiedRelation) => BuildsAtLoad | null;
}

/** An engine that is loaded. */
export interface Loader {
  /** The script of a relation, by the columns that its export has. */
  script(copied: CopiedRelation, request: LoadRequest): Promise<Outcome<RelationScript>>;
  /** Runs a script. Rejects with what is wrong; the old rows stay. */
  apply(script: RelationScript): Promise<void>;
  /** The script for the engine's own client. */
  print(script: RelationScript): string;
  /** The command that runs the scripts of relations. */
  usage(names: readonly string[]): string;
  close(): Promise<void>;
}
