import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { groupedBy, servedPaths } from "@routewright/runtime/model";
import type { HeldBackEndpoint } from "@routewright/runtime/server";
import { inDocumentedOrder } from "../catalogue/path.js";
import { readCatalogueIn } from "../catalogue/catalogue-file.js";
import { readLineage } from "../catalogue/lineage-file.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { ACCEPT_FILE, type AcceptEntry, applyAcceptFile, readAcceptFile } from "../report/accept-file.js";
import { type Change, isFailing } from "./change.js";
import { CHANGE_KINDS, KINDS } from "./change-kinds.js";
import { compareCatalogues, matchEndpoints } from "./compare-catalogues.js";
import type { ChangeSeverities } from "./change-kinds.js";

/** How `serve --guard` judges the changes of a refresh: as `routewright diff` in the same folder. */
export interface GuardOptions {
  /** The generated folder: what it holds has been reviewed. */
  readonly generated: string;
  readonly severities: ChangeSeverities;
  /** The accept file; the default one when absent. */
  readonly accept?: string | undefined;
  readonly minimumNoticeDays: number;
}

/** The catalogue to serve, and the endpoints that it keeps from the one in service. */
export interface Guarded {
  readonly catalogue: Catalogue;
  readonly heldBack: readonly HeldBackEndpoint[];
}

/** Holds back breaking and exposing changes at refresh, endpoint by endpoint (runtime/docs/refresh.md). */
export class Guard {
  readonly #options: GuardOptions;
  /** Catalogues that this guard has let through, by the hash of their manifest: the one in service and the last one. */
  #passed: ReadonlyMap<string, Catalogue> = new Map();

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /**
   * Compares a catalogue with the one in service. `inService`: hash of the manifest in service; null: the generated folder.
   * A change that the generated folder already has is let through: it has been reviewed.
   *
   * @throws when the generated folder or the accept file cannot be read: nothing is let through then
   */
  async check(head: Catalogue, hash: string, inService: string | null): Promise<Guarded> {
    const reviewed = readReviewed(this.#options.generated);
    const passed = (inService === null ? undefined : this.#passed.get(inService)) ?? reviewed;
    const base = withMarksOf(passed, reviewed);
    const accepted = await readAccepted(this.#options.accept ?? ACCEPT_FILE);
    const guarded = holdBack(base, head, reviewed, accepted, this.#options);
    this.#passed = new Map([
      ...(inService === null ? [] : [[inService, base] as const]),
      [hash, guarded.catalogue],
    ]);
    return guarded;
  }
}

/** @throws when the generated folder has no readable catalogue */
function readReviewed(generated: string): Catalogue {
  const reading = readCatalogueIn(generated);
  if (reading === null)
    throw new Error(
      `--guard compares with ${generated}/catalogue.json, which is missing: run \`routewright generate\`.`,
    );
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const lineage = join(generated, "lineage.json");
  return existsSync(lineage)
    ? { ...reading.value, lineage: readLineage(readFileSync(lineage, "utf8")) }
    : reading.value;
}

async function readAccepted(file: string): Promise<readonly AcceptEntry[]> {
  const reading = await readAcceptFile(file);
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return reading.value;
}

/** Keeps the base's endpoint wherever the head changes it in a breaking or exposing way, or its relation. */
function holdBack(
  base: Catalogue,
  head: Catalogue,
  reviewed: Catalogue,
  accepted: readonly AcceptEntry[],
  { severities, minimumNoticeDays }: GuardOptions,
): Guarded {
  const today = new Date().toISOString().slice(0, 10);
  const changes = compareCatalogues(base, head, { today, minimumNoticeDays }, severities);
  const isReviewed = reviewedIn(reviewed, head, (catalogue) =>
    compareCatalogues(catalogue, head, { today, minimumNoticeDays }),
  );
  const { unaccepted } = applyAcceptFile(changes, accepted, CHANGE_KINDS, today);
  const failing = unaccepted.filter((change) => isHeld(change) && !isReviewed(change));
  const byPath = groupedBy(failing, ({ endpoint }) => endpoint);
  const isFailing = (entry: CatalogueEntry): boolean => servedPaths(entry).some((path) => byPath.has(path));
  const failingPairs = matchEndpoints(base.entries, head.entries).pairs.filter((pair) =>
    pair.some(isFailing),
  );
  const kept = new Set([...base.entries.filter(isFailing), ...failingPairs.map(([inBase]) => inBase)]);
  const dropped = new Set([...head.entries.filter(isFailing), ...failingPairs.map(([, inHead]) => inHead)]);
  const entries = [...head.entries.filter((entry) => !dropped.has(entry)), ...kept].sort(inDocumentedOrder);
  const heldBack = [...byPath].map(([endpoint, held]) => ({ endpoint, changes: held.map(changeText) }));
  return { catalogue: { ...head, entries }, heldBack };
}

/** Another relation may hold rows that callers must not see: its change is held back at any severity. */
function isHeld(change: Change): boolean {
  return isFailing(change) || change.kind === "relation-changed" || change.kind === "model-changed";
}

/** A mark that is gone counts until it is gone from the generated folder: a later refresh may use what it protected. */
function withMarksOf(base: Catalogue, { marks = new Map() }: Catalogue): Catalogue {
  const own = [...(base.marks ?? [])].map(
    ([id, names]) => [id, [...new Set([...names, ...(marks.get(id) ?? [])])]] as const,
  );
  const all = new Map([...marks, ...own]);
  return all.size === 0 ? base : { ...base, marks: all };
}

/** Whether the generated folder has a path exactly as the head has it: the same endpoint, or none, and the same marks of private data. */
function reviewedIn(
  reviewed: Catalogue,
  head: Catalogue,
  changesFrom: (base: Catalogue) => readonly Change[],
): (change: Change) => boolean {
  const [inFolder, inHead] = [byPathOf(reviewed), byPathOf(head)];
  let unmarked: ReadonlySet<string> | undefined;
  const hasLostMarks = (path: string): boolean => {
    const lost = (): readonly Change[] => changesFrom(reviewed).filter(({ kind }) => kind === LOST_MARK);
    unmarked ??= new Set(lost().map(({ endpoint }) => endpoint));
    return unmarked.has(path);
  };
  return ({ endpoint: path, kind }) =>
    isDeepStrictEqual(inFolder.get(path), inHead.get(path)) && !(kind === LOST_MARK && hasLostMarks(path));
}

const LOST_MARK = "private-mark-removed";

function byPathOf({ entries }: Catalogue): ReadonlyMap<string, CatalogueEntry> {
  return new Map(entries.flatMap((entry) => servedPaths(entry).map((path) => [path, entry])));
}

/** `Tier lowered: tier2 → tier0. Callers of a lower tier can read data that they could not read.` */
function changeText({ kind, subject, before, after, details }: Change): string {
  const values = [before, after].filter((value) => value !== null).join(" → ");
  const what = [KINDS[kind].title, subject, values].filter(Boolean).join(": ");
  return [`${what}. ${KINDS[kind].reason}`, ...details].join(" ");
}
