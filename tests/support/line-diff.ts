/** Which files of a rendered folder are new, other, or gone. */
export function changedFiles(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Record<"added" | "changed" | "removed", string[]> {
  const names = [...after.keys()];
  return {
    added: names.filter((name) => !before.has(name)),
    changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

/** The lines that the second text has more than the first; null when it also lacks or moves some of the first's. */
export function addedLines(before: string, after: string): readonly string[] | null {
  const old = before.split("\n");
  let next = 0;
  const added = after.split("\n").filter((line) => {
    const isOld = next < old.length && line === old[next];
    if (isOld) next++;
    return !isOld;
  });
  return next === old.length ? added : null;
}
