import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { diff } from "../../generator/commands/diff.js";
import { ownFolder } from "../support/service.js";
import { mutated } from "./mutate.js";

const [APRIL, MAY] = ["2026-04-24", "2026-05-21"].map(
  (day) => `../shared/catalogue/manifest-${day}.json`,
) as [string, string];
const isThere = existsSync(APRIL) && existsSync(MAY);
if (!isThere) console.warn(`Skipped: the real catalogue is not at ${APRIL}.`);

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

describe.skipIf(!isThere)("between two real manifests", () => {
  it.each([
    ["forwards", APRIL, MAY],
    ["backwards", MAY, APRIL],
  ])("the counts by kind are those of a script that shares no code, %s", async (_, base, head) => {
    const counts = await kindsBetween(base, head);
    expect(Object.keys(counts)).toContain("endpoint-removed");
    expect(counts).toEqual(independentCounts(base, head));
  });

  it("the counts by kind agree where every part of many models has changed", async () => {
    const file = join(ownFolder(), "mutated.json");
    const seen = new Set<string>();
    for (let seed = 1; seed <= 6; seed++) {
      writeFileSync(file, JSON.stringify(mutated(JSON.parse(readFileSync(MAY, "utf8")), seed)));
      const counts = await kindsBetween(MAY, file);
      expect(counts).toEqual(independentCounts(MAY, file));
      for (const kind of Object.keys(counts)) seen.add(kind);
    }
    // All but a few kinds occur, so that the agreement means something.
    expect(seen.size).toBeGreaterThan(30);
  });
});
