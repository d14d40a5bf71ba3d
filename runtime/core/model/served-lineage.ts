/** The part of `lineage.json` that serves. */
export interface ServedLineage {
  /** By path of the endpoint: the dbt nodes (`unique_id`) whose builds change its rows. */
  readonly upstreamNodes?: Readonly<Record<string, readonly string[]>>;
  /** By path of an endpoint that promises how old its rows are: the nodes that hold them. */
  readonly rowNodes?: Readonly<Record<string, readonly string[]>>;
  /** By the same paths: the nodes above whose freshness dbt checks. */
  readonly checkedNodes?: Readonly<Record<string, readonly string[]>>;
  /** By node of a roll-up: the nodes whose builds change the rows that it is made from. */
  readonly rollUpNodes?: Readonly<Record<string, readonly string[]>>;
  /** By path of the endpoint: the tests of its model, each with its column, or null. */
  readonly tests?: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
  /** By `unique_id`. */
  readonly nodes?: LineageNodes;
}

export type LineageNodes = Readonly<
  Record<string, { readonly parents: readonly string[]; readonly tests: readonly string[] }>
>;

/** A damaged file counts as empty. */
export function lineageIn(text: string): ServedLineage {
  try {
    return JSON.parse(text) as ServedLineage;
  } catch {
    return {};
  }
}
