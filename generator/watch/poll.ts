import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { isAddress, readIfModified, type Validators } from "../manifest/source.js";

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
    if (!source.ok) return { kind: "error", detail: source.problem };
    if ("notModified" in source) return { kind: "unchanged" };
    const { text, location, validators = null } = source;
    const hash = createHash("sha256").update(text).digest("hex");
    this.#last = validators && { hash, validators };
    return hash === known ? { kind: "unchanged" } : { kind: "text", text, hash, location };
  }
}

/** The share of the interval that is random, so that replicas do not poll at the same time. */
const JITTER = 0.1;

/** Writing a file causes several events: it is polled this long after the last one. */
const DEBOUNCE_MS = 200;

interface PollingOptions {
  /** File or http(s) address; a file is also polled as soon as it changes. */
  readonly source: string;
  readonly intervalSeconds: number;
  /** Polls the source. Calls do not overlap. It must not reject: that would end the polling. */
  readonly poll: () => Promise<unknown>;
}

/**
 * Calls `poll` now, at every interval and whenever a local file changes. Returns the function that stops this; it
 * resolves when a poll in progress has ended.
 */
export function startPolling({ source, intervalSeconds, poll }: PollingOptions): () => Promise<void> {
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
  const unwatch = isAddress(source) ? () => undefined : watchFile(source, tick);
  tick();
  return () => {
    stopped = true;
    clearTimeout(timer);
    unwatch();
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
