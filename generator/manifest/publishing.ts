/** Whether tags publish a model: `production` and `api:{resource}`. */
export function isPublished(tags: readonly string[]): boolean {
  return tags.includes("production") && hasResource(tags);
}

export function hasResource(tags: readonly string[]): boolean {
  return tags.some((tag) => tag.startsWith("api:"));
}

/** What `publish` made of a manifest's models. */
export interface Publishing {
  /** The rule of each model that it tags, by `unique_id`. */
  readonly rules: ReadonlyMap<string, string>;
  /** Models that it names and never publishes, with the reason: their authors may. */
  readonly refused: ReadonlyMap<string, string>;
  /** Models that it names and leaves, with the reason. */
  readonly left: ReadonlyMap<string, string>;
}

export const NOTHING_PUBLISHED: Publishing = { rules: new Map(), refused: new Map(), left: new Map() };
