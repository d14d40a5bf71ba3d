import { catalogueOf } from "../../generator/catalogue/build.js";
import { render, type FileSet } from "../../generator/render/render.js";
import { compareSnapshots } from "../../generator/diff/compare-snapshots.js";
import { readGenerated } from "../../generator/diff/sides/generated.js";
import { type Snapshot, snapshotOfManifest } from "../../generator/diff/snapshot.js";
import { parseManifest, type Manifest } from "../../generator/manifest/manifest.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

/** The day on which tests compare. */
export const TODAY = "2030-01-31";

/** A manifest's JSON, read. */
export function manifestFrom(json: unknown): Manifest {
  const reading = parseManifest(JSON.stringify(json), "manifest.json");
  if (!reading.ok) throw new Error(reading.problem);
  return reading.manifest;
}

/** The files that a manifest's JSON renders to. */
export function filesOf(json: unknown): FileSet {
  return render(catalogueOf(manifestFrom(json)));
}

/** A generated folder's files, read back; a problem fails the test. */
export function readBack(files: FileSet): Snapshot {
  const reading = readGenerated(files, "generated");
  if (!reading.ok) throw new Error(reading.problems.join("\n"));
  return reading.snapshot;
}

export function snapshotFrom(json: unknown): Snapshot {
  return snapshotOfManifest(manifestFrom(json));
}

/** One published model with what a test says of it. */
export function modelWith(model: Partial<TestModel> = {}): TestModel {
  return { name: "api_volume", tags: ["production", "bridges", "api:volume"], ...model };
}

/** Kinds and subjects of the changes between two lists of models, in their order. */
export function changesBetween(base: readonly TestModel[], head: readonly TestModel[]): readonly string[] {
  const clickhouse = { adapter_type: "clickhouse" };
  const [was, is] = [base, head].map((models) => snapshotFrom(manifestOf(models, clickhouse)));
  if (was === undefined || is === undefined) return [];
  return compareSnapshots(was, is, TODAY).map(({ kind, subject }) =>
    subject === null ? kind : `${kind} ${subject}`,
  );
}
