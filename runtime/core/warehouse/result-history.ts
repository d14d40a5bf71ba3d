/** A build of a node, as far as its time is concerned (`NodeBuild`). */
interface DatedBuild {
  readonly completedAt: number;
  readonly earlier?: readonly number[];
}

/** A result of a test, as far as it says when the test failed (`TestRun`). */
interface DatedRun {
  readonly status: string;
  readonly completedAt: number;
  readonly earlier?: readonly Omit<DatedRun, "earlier">[];
}

/** Builds of a node, and changes of a test's result, that are remembered: a copy is seldom more builds behind. */
const REMEMBERED = 20;

/** The build with those before it, whatever order they were reported in. `other`: of the same node. */
export function withEarlier<T extends DatedBuild>(build: T, other: DatedBuild): T {
  const times = [build, other].flatMap(({ completedAt, earlier = [] }) => [completedAt, ...earlier]);
  const before = [...new Set(times)].filter((time) => time < build.completedAt).sort((a, b) => b - a);
  return before.length === 0 ? build : { ...build, earlier: before.slice(0, REMEMBERED) };
}

/** The result with those before it, of which a later one changed whether the test failed. `others`: of the same test. */
export function withEarlierRuns<T extends DatedRun>(run: T, ...others: readonly T[]): T {
  const runs = [run, ...others]
    .flatMap((each) => [each, ...(each.earlier ?? [])])
    .filter(({ status, completedAt }) => status !== "skipped" && completedAt < run.completedAt)
    .map(({ status, completedAt }) => ({ status, completedAt }))
    .sort((a, b) => b.completedAt - a.completedAt)
    .filter(({ completedAt }, i, all) => all[i + 1]?.completedAt !== completedAt);
  // Of results in a row that are alike the first says enough.
  const changes = runs.filter(
    ({ status }, i) => runs[i + 1] === undefined || isFailure(runs[i + 1]?.status) !== isFailure(status),
  );
  return changes.length === 0 ? run : { ...run, earlier: changes.slice(0, REMEMBERED) };
}

/** Whether the test had failed when it last ran before a time, in milliseconds since 1970. */
export function hadFailed(run: DatedRun | undefined, before: number): boolean {
  if (run === undefined) return false;
  const last = [run, ...(run.earlier ?? [])].find(
    ({ status, completedAt }) => status !== "skipped" && completedAt < before,
  );
  return isFailure(last?.status);
}

export function isFailure(status: string | undefined): boolean {
  return status === "fail" || status === "error";
}

/** Until when a copy's rows were those of the last builds, in milliseconds since 1970; null where nobody knows. `loads`: the builds that it holds. */
export function lastUntil(
  builds: ReadonlyMap<string, DatedBuild>,
  loads: readonly (Readonly<Record<string, string>> | null)[],
): number | null {
  const ends = loads.flatMap((load) => {
    const held = Object.entries(load ?? {});
    return held.length === 0 ? [null] : held.map(([node, time]) => endOf(builds.get(node), Date.parse(time)));
  });
  const known = ends.filter((end) => end !== null);
  return known.length < ends.length ? null : Math.min(...known);
}

/** When the build after that of a time ended; Infinity: it is the last. */
function endOf(build: DatedBuild | undefined, time: number): number | null {
  if (build === undefined) return null;
  const times = [build.completedAt, ...(build.earlier ?? [])];
  const at = times.indexOf(time);
  return at < 0 ? null : (times[at - 1] ?? Infinity);
}
