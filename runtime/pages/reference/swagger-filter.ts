/** What is used of Swagger UI's system. */
interface FilteredSystem {
  readonly layoutSelectors: { currentFilter(): unknown };
}

/** Immutable collections of Swagger UI, as far as the filter reads them. */
interface TaggedOperations {
  map(change: (tag: TagOfOperations, name: string) => TagOfOperations): TaggedOperations;
  filter(isKept: (tag: TagOfOperations) => boolean): TaggedOperations;
}
interface TagOfOperations {
  get(name: "operations"): ListOfOperations;
  set(name: "operations", operations: ListOfOperations): TagOfOperations;
}
interface ListOfOperations {
  readonly size: number;
  filter(isKept: (operation: { getIn(path: readonly string[]): unknown }) => boolean): ListOfOperations;
}

const NAMED_BY = [["path"], ["operation", "summary"], ["operation", "operationId"]] as const;

/** Swagger UI's filter finds tags. This one finds operations by path and title too, and opens the tags of what it finds. */
export const filterOfOperations = (system: FilteredSystem) => ({
  fn: {
    opsFilter: (tags: TaggedOperations, phrase: string): TaggedOperations => {
      const words = phrase.toLowerCase().split(/\s+/);
      return tags
        .map((tag, name) =>
          tag.set(
            "operations",
            tag.get("operations").filter((operation) => {
              const text = [name, ...NAMED_BY.map((path) => operation.getIn(path))].join(" ").toLowerCase();
              return words.every((word) => text.includes(word));
            }),
          ),
        )
        .filter((tag) => tag.get("operations").size > 0);
    },
  },
  statePlugins: {
    layout: {
      wrapSelectors: {
        isShown:
          (isShown: (thing: readonly string[], byDefault: boolean) => unknown) =>
          (_: unknown, thing: readonly string[], byDefault: boolean): unknown => {
            const filter = system.layoutSelectors.currentFilter();
            const isFound = thing[0] === "operations-tag" && typeof filter === "string" && filter.length > 2;
            return isShown(thing, byDefault || isFound);
          },
      },
    },
  },
});
