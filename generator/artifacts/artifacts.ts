import { setTimeout as sleep } from "node:timers/promises";
import {
  type ArtifactKind,
  artifactAt,
  artifactIn,
  failed,
  isOfArtifacts,
  type Outcome,
  succeeded,
} from "@routewright/runtime/model";
import { PolledSource, type PollResult, sha256 } from "./polled-source.js";
import type { Source } from "./source.js";
import type { ArtifactAccess } from "./store.js";

/** Where a command finds dbt's files. */
export interface ArtifactLocations {
  /** File or address of the manifest. */
  readonly manifest: string;
  /** Of dbt's catalog.json, or of a columns.json. */
  readonly catalog?: string | undefined;
  /**
   * The folder or address that holds all files; null or left out: each is named alone. Of its files only the manifest must
   * be there, and it belongs to the run results beside it.
   */
  readonly artifacts?: string | null;
  readonly access?: ArtifactAccess;
}

/** dbt's files as they were at one moment. */
export interface ArtifactTexts {
  readonly manifest: Source;
  readonly catalog: Source | null;
  readonly warnings: readonly string[];
}

/** What writes the catalog, for the message that it is missing. */
export const CATALOG_WRITER = "`dbt docs generate`, or `dbt compile --write-catalog` of dbt 2,";

export const RUN_RESULTS_WRITER = "`dbt build`";
export const SOURCES_WRITER = "`dbt source freshness`";
export const FRESHNESS_WRITER = "`dbt freshness` of dbt 2";

/** What a poll of dbt's files gave; `hash` is that of all of them. */
type ArtifactPoll =
  | ({ readonly kind: "text"; readonly hash: string } & ArtifactTexts)
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

interface ArtifactFile {
  readonly kind: ArtifactKind;
  readonly location: string;
  readonly isOptional: boolean;
}

/** The files that are read together. */
function filesOf({ manifest, catalog, artifacts = null }: ArtifactLocations): readonly ArtifactFile[] {
  const file = (kind: ArtifactKind, named: string): ArtifactFile => {
    const location = artifactAt(named, kind);
    return { kind, location, isOptional: kind !== "manifest" && isOfArtifacts(location, artifacts, kind) };
  };
  const own = file("manifest", manifest);
  const hasResults = artifacts !== null && isOfArtifacts(own.location, artifacts, "manifest");
  return [
    ...(catalog === undefined ? [] : [file("catalog", catalog)]),
    // Only its `invocation_id` counts: those who need the results read them themselves.
    ...(hasResults ? [file("runResults", artifactIn(artifacts, "runResults"))] : []),
    own,
  ];
}

/** The locations to watch: a change of any of them renders anew. */
export function watchedLocations(locations: ArtifactLocations): readonly string[] {
  return filesOf(locations).map(({ location }) => location);
}

/** Reads dbt's files once. */
export async function readArtifacts(locations: ArtifactLocations): Promise<Outcome<ArtifactTexts>> {
  const polled = await new PolledArtifacts(locations).poll(null);
  if (polled.kind === "text") return succeeded(polled);
  return failed(polled.kind === "error" ? polled.detail : "dbt's files cannot be told from earlier ones.");
}

/** A pipeline copies one file after the other: this long after a look at files that do not belong together comes the next. */
const SETTLE_MS = 1000;

/** Looks at files that change each time, before they are left to the next poll. */
const MAX_LOOKS = 20;

/** Hash and text of a file; a text is kept only while files are read. Null: there is no file. */
type Version = {
  readonly hash: string;
  readonly source: Source | null;
  readonly invocation: string | null;
} | null;

/** dbt's files, which are polled together: what a poll returns was there at one moment, and of one dbt invocation where that is known. */
export class PolledArtifacts {
  readonly #files: readonly (ArtifactFile & { readonly polled: PolledSource })[];
  /** The versions that were read last, without texts. */
  #last: { readonly hash: string; readonly versions: readonly Version[] } | null = null;

  constructor(locations: ArtifactLocations) {
    this.#files = filesOf(locations).map((file) => ({
      ...file,
      polled: new PolledSource(file.location, WRITERS[file.kind], locations.access),
    }));
  }

  /** `known`: the caller's hash of all of them; null for none. */
  async poll(known: string | null): Promise<ArtifactPoll> {
    const last = this.#last?.hash === known ? this.#last.versions : null;
    const first = await this.#look(last ?? this.#files.map(() => null));
    if (typeof first === "string") return { kind: "error", detail: first };
    if (last !== null && !first.isChanged) return { kind: "unchanged" };
    const settled = await this.#settled(first.versions);
    if (typeof settled === "string") return { kind: "error", detail: settled };
    const hash = this.#hashOf(settled);
    this.#last = { hash, versions: settled.map((version) => version && { ...version, source: null }) };
    return hash === known ? { kind: "unchanged" } : { kind: "text", hash, ...this.#textsOf(settled) };
  }

  /** Looks again until all files name one invocation, or nothing has changed since the look before: twice where they name several. */
  async #settled(versions: readonly Version[]): Promise<readonly Version[] | string> {
    let current = await this.#completed(versions);
    let hasWaited = false;
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      if (typeof current === "string" || this.#files.length === 1) return current;
      const invocations = current.flatMap((version) => (version === null ? [] : [version.invocation]));
      const isOne = new Set(invocations.filter((id) => id !== null)).size <= 1;
      if (isOne && !invocations.includes(null)) return current;
      const next = await this.#look(current);
      if (typeof next === "string") return next;
      if (next.isChanged) {
        current = await this.#completed(next.versions);
        hasWaited = false;
      } else {
        if (hasWaited || isOne) return current;
        await sleep(SETTLE_MS);
        hasWaited = true;
      }
    }
    return "dbt's files change all the time: they are read again at the next poll.";
  }

  /** Reads the texts of the files that an earlier poll has read. */
  async #completed(versions: readonly Version[]): Promise<readonly Version[] | string> {
    const isLacking = (version: Version): boolean => version !== null && version.source === null;
    if (!versions.some(isLacking)) return versions;
    const look = await this.#look(versions.map((version) => (isLacking(version) ? null : version)));
    return typeof look === "string" ? look : look.versions;
  }

  /** One look at each file; the problem where one cannot be read. */
  async #look(
    known: readonly Version[],
  ): Promise<{ readonly versions: readonly Version[]; readonly isChanged: boolean } | string> {
    const versions: Version[] = [];
    for (const [i, { polled, isOptional }] of this.#files.entries()) {
      const before = known[i] ?? null;
      const result = await polled.poll(before?.hash ?? null);
      if (result.kind === "error" || (result.kind === "missing" && !isOptional)) return result.detail;
      versions.push(result.kind === "unchanged" ? before : versionOf(result));
    }
    return { versions, isChanged: versions.some((version, i) => version !== known[i]) };
  }

  /** Run results are left out: they change nothing of what is rendered. */
  #hashOf(versions: readonly Version[]): string {
    const rendered = versions.filter((_, i) => this.#files[i]?.kind !== "runResults");
    const hashes = rendered.map((version) => version?.hash ?? "-");
    return hashes.length === 1 ? hashes.join() : sha256(hashes.join());
  }

  #textsOf(versions: readonly Version[]): ArtifactTexts {
    const of = (kind: ArtifactKind): Version =>
      versions[this.#files.findIndex((file) => file.kind === kind)] ?? null;
    const manifest = of("manifest")?.source ?? { text: "", location: "" };
    return {
      manifest,
      catalog: of("catalog")?.source ?? null,
      warnings: mixtureOf(of("manifest"), of("runResults")),
    };
  }
}

const WRITERS: Readonly<Record<ArtifactKind, string | undefined>> = {
  manifest: undefined,
  catalog: CATALOG_WRITER,
  runResults: RUN_RESULTS_WRITER,
  sources: SOURCES_WRITER,
  freshness: FRESHNESS_WRITER,
};

function versionOf(result: Extract<PollResult, { kind: "text" | "missing" }>): Version {
  if (result.kind === "missing") return null;
  const { hash, text, location } = result;
  return { hash, source: { text, location }, invocation: invocationOf(text) };
}

/** dbt writes `metadata` first; a file of another order has no known invocation. Parsing a manifest of 100 MB for it takes seconds. */
function invocationOf(text: string): string | null {
  const start = text.slice(0, 20_000);
  if (!/^\s*\{\s*"metadata"\s*:/.test(start)) return null;
  return /"invocation_id"\s*:\s*"([\w-]{1,64})"/.exec(start)?.[1] ?? null;
}

function mixtureOf(manifest: Version, results: Version): readonly string[] {
  if (!manifest?.invocation || !results?.invocation || manifest.invocation === results.invocation) return [];
  const [of, other] = [manifest.source?.location ?? "", results.source?.location ?? ""];
  return [
    `${of} is of the dbt invocation ${manifest.invocation}, ${other} of ${results.invocation}: keep the files of one \`dbt build\` together.`,
  ];
}
