import { groupedBy } from "@routewright/runtime/model";
import { type Model, unversionedId } from "../manifest/model.js";
import { isExcluded } from "./settings/meta-api.js";
import type { VersionOfPath } from "./path.js";
import { readTags } from "./tags.js";

/**
 * The versions whose tags give the path of another version too, by `unique_id` (generator/docs/how-to/versions.md). One
 * that is alone counts: its callers can name it before there is a second one, and after the other has gone.
 */
export function versionsOfPaths(models: readonly Model[]): ReadonlyMap<string, VersionOfPath> {
  const published = models.flatMap((model) => {
    const { version, uniqueId } = model;
    const unversioned = version === null ? null : unversionedId(uniqueId, version);
    const path = unversioned === null || isExcluded(model) ? null : readTags(model).path;
    return version === null || unversioned === null || path === null
      ? []
      : [{ model, version, unversioned, path }];
  });
  return new Map(
    [...groupedBy(published, ({ unversioned }) => unversioned).values()].flatMap((versions) => {
      const isAlone = versions.length === 1;
      const count = (path: string) => versions.filter((each) => each.path === path).length;
      return versions
        .filter(({ path }) => isAlone || count(path) > 1)
        .map(({ model: { uniqueId, successor }, version }): readonly [string, VersionOfPath] => [
          uniqueId,
          { version, isLatest: isAlone || successor === null },
        ]);
    }),
  );
}
