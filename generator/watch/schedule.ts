import { watch, type FSWatcher } from "node:fs";
import { isAddress } from "../manifest/source.js";
import { basename, dirname, resolve } from "node:path";

/** Polls are spread by up to this share of the interval, so that replicas do not poll at the same time. */
const JITTER = 0.1;

/** A file that is being written changes many times: it is looked at once it has been quiet for this long. */
const QUIET_MS = 200;

export interface Schedule {
  /** File or http(s) address; a file is also looked at as soon as it changes. */
  readonly source: string;
  readonly intervalSeconds: number;
  /** Looks at the source; called again only when it is done. */
  readonly look: () => Promise<unknown>;
}

/** Calls `look` every interval, and at once when a local file changes. Returns what ends it, once a look under way is done. */
export function follow({ source, intervalSeconds, look }: Schedule): () => Promise<void> {
  let ended = false;
  const isOver = (): boolean => ended;
  let looking: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const tick = (): void => {
    clearTimeout(timer);
    looking = looking.then(async () => {
      if (isOver()) return;
      await look();
      clearTimeout(timer);
      if (!isOver()) timer = setTimeout(tick, intervalSeconds * 1000 * (1 + JITTER * (Math.random() - 0.5)));
    });
  };
  const unwatch = isAddress(source) ? () => undefined : watchFile(source, tick);
  tick();
  return () => {
    ended = true;
    clearTimeout(timer);
    unwatch();
    return looking;
  };
}

/** Watches the folder: a file that is replaced by another, as careful writers do, would be lost sight of. */
function watchFile(file: string, changed: () => void): () => void {
  const path = resolve(file);
  let quiet: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dirname(path), (_event, name) => {
      if (name !== null && name !== basename(path)) return;
      clearTimeout(quiet);
      quiet = setTimeout(changed, QUIET_MS);
    });
    // Where nothing can be watched, such as some network file systems, the interval is left.
    watcher.on("error", () => watcher?.close());
  } catch {
    watcher = undefined;
  }
  return () => {
    clearTimeout(quiet);
    watcher?.close();
  };
}
