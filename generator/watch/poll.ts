import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { CATALOG_WRITER } from "../manifest/catalog.js";
import { isAddress, NOT_MODIFIED, readIfModified, type Validators } from "../manifest/source.js";

/** The result of one poll. */
type PollResult =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly hash: string;
      /** Redacted, for messages. */
      readonly location: string;
    }
  /** The content has the hash that the caller knows. */
  | { readonly kind: "unchanged" }
  | { readonly kind: "error"; readonly detail: string };

/** A file or address to poll: compared by hash, over HTTP with conditional requests. */
export class PolledSource {
  readonly #location: string;
  readonly #limits: { readonly writer?: string };
  /** The version that was read last, for a conditional request. */
  #last: { readonly hash: string; readonly validators: Validators } | null = null;

  /** `writer`: what writes the file, for the message that it is missing. */
  constructor(location: string, writer?: string) {
    this.#location = location;
    this.#limits = writer === undefined ? {} : { writer };
  }

  /** `known`: hash of the caller's version; null for none. */
  async poll(known: string | null): Promise<PollResult> {
    const validatorsOfKnown = this.#last?.hash === known ? this.#last.validators : null;
    const source = await readIfModified(this.#location, validatorsOfKnown, this.#limits);
    if (source === NOT_MODIFIED) return { kind: "unchanged" };
    if (!source.ok) return { kind: "error", detail: source.problems.join(" ") };
    const { text, location, validators = null } = source.value;
    const hash = sha256(text);
    this.#last = validators && { hash, validators };
    return hash === known ? { kind: "unchanged" } : { kind: "text", text, hash, location };
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

interface ArtifactLocations {
  /** File or http(s) address of the manifest. */
  readonly manifest: string;
  /** Of dbt's catalog.json. */
  readonly catalog?: string | undefined;
}

/** The locations to watch: a change of any of them renders anew. */
export function watchedLocations({ manifest, catalog }: ArtifactLocations): readonly string[] {
  return [manifest, ...(catalog === undefined ? [] : [catalog])];
}

/** The manifest together with what completes it: its text is returned when any of them has changed. */
export class PolledArtifacts {
  readonly #manifest: PolledSource;
  readonly #others: readonly PolledSource[];
  /** The hash of all that was read last, and of each. */
  #last: { readonly hash: string; readonly manifest: string; readonly others: readonly string[] } | null =
    null;

  constructor({ manifest, catalog }: ArtifactLocations) {
    this.#manifest = new PolledSource(manifest);
    this.#others = catalog === undefined ? [] : [new PolledSource(catalog, CATALOG_WRITER)];
  }

  /** `known`: the caller's hash of all of them; null for none. */
  async poll(known: string | null): Promise<PollResult> {
    if (this.#others.length === 0) return this.#manifest.poll(known);
    const last = this.#last?.hash === known ? this.#last : null;
    const others: string[] = [];
    for (const [i, source] of this.#others.entries()) {
      const lastHash = last?.others[i];
      const polled = await source.poll(lastHash ?? null);
      if (polled.kind === "error") return polled;
      others.push(polled.kind === "text" ? polled.hash : (lastHash ?? ""));
    }
    const isSame = last !== null && others.every((hash, i) => hash === last.others[i]);
    const polled = await this.#manifest.poll(isSame ? last.manifest : null);
    if (polled.kind !== "text") return polled;
    const hash = sha256([polled.hash, ...others].join());
    this.#last = { hash, manifest: polled.hash, others };
    return hash === known ? { kind: "unchanged" } : { ...polled, hash };
  }
}

/** The share of the interval that is random, so that replicas do not poll at the same time. */
const JITTER = 0.1;

/** Writing a file causes several events: it is polled this long after the last one. */
const DEBOUNCE_MS = 200;

interface PollingOptions {
  /** Files or http(s) addresses; a file is also polled as soon as it changes. */
  readonly sources: readonly string[];
  readonly intervalSeconds: number;
  /** Polls the sources. Calls do not overlap. It must not reject: that would end the polling. */
  readonly poll: () => Promise<unknown>;
}

/**
 * Calls `poll` now, at every interval and whenever a local file changes. Returns the function that stops this; it
 * resolves when a poll in progress has ended.
 */
export function startPolling({ sources, intervalSeconds, poll }: PollingOptions): () => Promise<void> {
  let stopped = false;
  // A function, as TypeScript does not know that the variable changes while it waits.
  const isStopped = (): boolean => stopped;
  let polling: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const tick = (): void => {
    clearTimeout(timer);
    polling = polling.then(async () => {
      if (isStopped()) return;
      await poll();
      clearTimeout(timer);
      if (!isStopped())
        timer = setTimeout(tick, intervalSeconds * 1000 * (1 + JITTER * (Math.random() - 0.5)));
    });
  };
  const unwatch = sources.filter((source) => !isAddress(source)).map((file) => watchFile(file, tick));
  tick();
  return () => {
    stopped = true;
    clearTimeout(timer);
    for (const stop of unwatch) stop();
    return polling;
  };
}

/** Watches the file's folder: a watch on the file itself ends when a rename replaces the file. */
function watchFile(file: string, changed: () => void): () => void {
  const path = resolve(file);
  let debounce: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dirname(path), (_event, name) => {
      if (name !== null && name !== basename(path)) return;
      clearTimeout(debounce);
      debounce = setTimeout(changed, DEBOUNCE_MS);
    });
    // Some file systems, such as network ones, support no watches: polling continues at the interval.
    watcher.on("error", () => watcher?.close());
  } catch {
    watcher = undefined;
  }
  return () => {
    clearTimeout(debounce);
    watcher?.close();
  };
}
