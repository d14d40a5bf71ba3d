import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { diff } from "../../generator/commands/diff.js";
import { bikeShareManifest } from "../support/bike-share.js";
import { ownFolder } from "../support/service.js";
import { mutated } from "./mutate.js";

const [APRIL, MAY] = ["2026-04-24", "2026-05-21"].map(
  (day) => `../shared/catalogue/manifest-${day}.json`,
) as [string, string];

/** Models refused by rules that the independent script does not have: materialization, misspelt tiers, taken paths. */
const UNKNOWN_TO_SCRIPT: ReadonlySet<string> = new Set([
  "model.bikes.revenue_forecast",
  "model.bikes.fleet_positions",
  "model.bikes.trips_weekly_copy",
]);

/** The small manifests in files, and the real ones where they are beside the clone. */
function manifestPairs(): readonly (readonly [name: string, base: string, head: string, kinds: number])[] {
  const folder = mkdtempSync(join(tmpdir(), "routewright-diff-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const [spring, autumn] = (["spring", "autumn"] as const).map((season) => {
    const file = join(folder, `${season}.json`);
    const { nodes, ...manifest } = bikeShareManifest(season);
    const counted = Object.entries(nodes).filter(([id]) => !UNKNOWN_TO_SCRIPT.has(id));
    writeFileSync(file, JSON.stringify({ ...manifest, nodes: Object.fromEntries(counted) }));
    return file;
  }) as [string, string];
  const isThere = existsSync(APRIL) && existsSync(MAY);
  return [["small", spring, autumn, SMALL_KINDS], ...(isThere ? ([["real", APRIL, MAY, 30]] as const) : [])];
}

/** Kinds of change that mutations of the small manifest show at least. */
const SMALL_KINDS = 20;

type Counts = Readonly<Record<string, number>>;

async function kindsBetween(base: string, head: string): Promise<Counts> {
  const { output = "" } = await diff({
    base,
    head,
    format: "json",
    failOn: "none",
    generated: "generated",
    cwd: process.cwd(),
    defaultTier: "tier0",
    today: "2030-01-01",
  });
  return (JSON.parse(output) as { kinds: Counts }).kinds;
}

function independentCounts(base: string, head: string): Counts {
  const text = execFileSync(process.execPath, ["tests/diff/independent-count.js", base, head], {
    encoding: "utf8",
  });
  return JSON.parse(text) as Counts;
}

describe.each(manifestPairs())("between two %s manifests", (_, base, head, kinds) => {
  it.each([
    ["forwards", base, head],
    ["backwards", head, base],
  ])("the counts by kind are those of a script that shares no code, %s", async (_, from, to) => {
    const counts = await kindsBetween(from, to);
    expect(Object.keys(counts)).toContain("endpoint-removed");
    expect(counts).toEqual(independentCounts(from, to));
  });

  it("the counts by kind agree where every part of many models has changed", async () => {
    const file = join(ownFolder(), "mutated.json");
    const seen = new Set<string>();
    for (let seed = 1; seed <= 6; seed++) {
      writeFileSync(file, JSON.stringify(mutated(JSON.parse(readFileSync(head, "utf8")), seed)));
      const counts = await kindsBetween(head, file);
      expect(counts).toEqual(independentCounts(head, file));
      for (const kind of Object.keys(counts)) seen.add(kind);
    }
    // Many kinds occur, so that the agreement means something.
    expect(seen.size).toBeGreaterThan(kinds);
  });
});
