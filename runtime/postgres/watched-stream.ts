import type { RowChunks, RowStream, StreamEnd } from "../query/warehouse.js";

/** Who wants to know how a stream gets on. */
export interface StreamWatcher {
  readonly progress: () => void;
  readonly failed: (error: unknown) => void;
  /** Told once, however it ends. */
  readonly ended: () => void;
}

/** The same stream, under watch. */
export function watchedStream(stream: RowStream, watcher: StreamWatcher): RowStream {
  return { ...stream, pieces: new WatchedPieces(stream.pieces, watcher) };
}

class WatchedPieces implements RowChunks {
  readonly #pieces: RowChunks;
  readonly #watcher: StreamWatcher;
  #hasEnded = false;

  constructor(pieces: RowChunks, watcher: StreamWatcher) {
    this.#pieces = pieces;
    this.#watcher = watcher;
  }

  async next(): Promise<IteratorResult<string, StreamEnd>> {
    try {
      const result = await this.#pieces.next();
      this.#watcher.progress();
      if (result.done === true) this.#end();
      return result;
    } catch (error) {
      this.#watcher.failed(error);
      this.#end();
      throw error;
    }
  }

  return(): Promise<IteratorReturnResult<StreamEnd>> {
    this.#end();
    return this.#pieces.return();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#watcher.ended();
  }
}
