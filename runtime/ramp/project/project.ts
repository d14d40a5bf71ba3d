declare const brand: unique symbol;

/** A project's id, a uuid in lower case. Only what has read it from the database makes one. */
export type ProjectId = string & { readonly [brand]: "project" };

export function projectId(uuid: string): ProjectId {
  return uuid as ProjectId;
}

/** Who calls a project-level endpoint. */
export interface Project {
  readonly id: ProjectId;
  readonly organizationId: string;
  readonly name: string;
  /** Added to the expiry of a subject token, in seconds (ramp-api.md §5, rule 2). */
  readonly tokenTtlSeconds: number;
}
