/** What has the same name, in its order, by name: `Map.groupBy`, which Node 20 lacks. */
export function groupedBy<T>(all: Iterable<T>, nameOf: (each: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of all) {
    const name = nameOf(each);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [each]);
    else group.push(each);
  }
  return groups;
}
