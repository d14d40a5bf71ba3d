import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { isAddress } from "../artifacts/source.js";
import { Timer } from "@routewright/runtime/model";

/** The share of the interval that is random, so that replicas do not poll at the same time. */
const JITTER = 0.1;

/** Writing a file causes several events: it is polled this long after the last one. */
const DEBOUNCE_MS = 200;

interface PollingOptions {
  /** Files or addresses; a file is also polled as soon as it changes. */
  readonly sources: readonly string[];
  readonly intervalSeconds: number;
  /** Polls the sources. Calls do not overlap. It must not reject: that would end the polling. */
  readonly poll: () => Promise<unknown>;
}

/** Polls that go on. */
export interface Polling {
  /** Polls once more, after a poll in progress. */
  readonly now: () => Promise<void>;
  /** Ends the polling; resolves when a poll in progress has ended. */
  readonly stop: () => Promise<void>;
}

/** Calls `poll` now, at every interval and whenever a local file changes. */
export function startPolling({ sources, intervalSeconds, poll }: PollingOptions): Polling {
  let stopped = false;
  // A function, as TypeScript does not know that the variable changes while it waits.
  const isStopped = (): boolean => stopped;
  let polling: Promise<void> = Promise.resolve();
  let timer: Timer | undefined;
  const now = (): Promise<void> => {
    timer?.stop();
    polling = polling.then(async () => {
      if (isStopped()) return;
      await poll();
      timer?.stop();
      if (!isStopped())
        timer = new Timer(intervalSeconds * 1000 * (1 + JITTER * (Math.random() - 0.5)), () => void now());
    });
    return polling;
  };
  const changed = (): void => void now();
  const unwatch = sources.filter((source) => !isAddress(source)).map((file) => watchFile(file, changed));
  void now();
  const stop = (): Promise<void> => {
    stopped = true;
    timer?.stop();
    for (const end of unwatch) end();
    return polling;
  };
  return { now, stop };
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
