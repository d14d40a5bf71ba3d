import { randomUUID } from "node:crypto";
import { open, type FileHandle, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Overloaded } from "./query-errors.js";
import type { RowChunks, StreamEnd } from "./warehouse.js";

/** Bytes that streams share. */
export class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  acquire(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.#left += bytes;
  }
}

/** Memory and disk for rows that clients of all streams have not read yet. */
export interface SpoolBudget {
  readonly memory: Budget;
  readonly disk: Budget;
}

/** Memory of one stream, in bytes. Streams of fast clients never use the disk. */
const MEMORY_BYTES = 256 * 1024;

interface Stored {
  readonly position: number;
  readonly length: number;
}

/**
 * Bytes, and the function that gives their memory back, after which they must not be read. When each chunk was a new buffer, which waited for the
 * garbage collector, a stream took 41 to 58 MiB above idle instead of 17.
 */
export interface PooledBytes {
  readonly bytes: Buffer;
  readonly release: () => void;
}

/** For bytes that the garbage collector frees. */
export const NOTHING = (): void => undefined;

/** What fills a spool. */
interface SpoolSource {
  /** Nobody wants further rows: `finish` follows. */
  readonly stop: () => void;
  /** Nobody reads any more. */
  readonly release: () => void;
}

/**
 * Rows of a stream that its client has not read yet, in memory, then in a file: stored at the database's pace, so that its
 * transaction ends, and returned at the client's (runtime/docs/limits.md, Streams).
 */
export class SpooledRows implements RowChunks {
  readonly #budget: SpoolBudget;
  readonly #source: SpoolSource;
  readonly #isUnread: boolean;
  readonly #entries: (PooledBytes | Stored)[] = [];
  /** Of the bytes that were returned last. */
  #release = NOTHING;
  #memoryBytes = 0;
  #fileEntries = 0;
  #fileEnd = 0;
  #file: FileHandle | null = null;
  /** Memory of the bytes that were read from the file last. */
  #loaded = Buffer.alloc(0);
  #isClosed = false;
  #waiting: (() => void)[] = [];
  /** How often the client has read, or the spool was closed. */
  #reads = 0;
  #end: StreamEnd | null = null;
  #error: Error | null = null;

  /** `isUnread`: nobody reads before all is stored, so what does not fit is an error. */
  constructor(budget: SpoolBudget, source: SpoolSource, isUnread = false) {
    this.#budget = budget;
    this.#source = source;
    this.#isUnread = isUnread;
  }

  /** Resolves once the bytes are stored: immediately while there is room, otherwise after the client has read more. */
  async push(bytes: Buffer, release = NOTHING): Promise<void> {
    if (bytes.length === 0) return release();
    await this.#store(bytes, release);
    this.#signal();
  }

  /** All rows are stored, or reading them has failed. */
  finish(end: StreamEnd, error: Error | null): void {
    this.#error = error;
    this.#end = end;
    this.#signal();
  }

  /** A stream that fails ends as one that is read to its end: its reader need not call `return`. */
  async next(): Promise<IteratorResult<Buffer, StreamEnd>> {
    try {
      return await this.#next();
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async #next(): Promise<IteratorResult<Buffer, StreamEnd>> {
    for (;;) {
      const value = await this.#shift();
      if (value !== null) return { done: false, value };
      if (this.#error !== null) throw this.#error;
      if (this.#end !== null) return this.return();
      await this.#change();
    }
  }

  async return(): Promise<IteratorReturnResult<StreamEnd>> {
    if (!this.#isClosed) {
      await this.#close();
      if (this.#end === null) this.#source.stop();
    }
    while (this.#end === null) await this.#change();
    this.#source.release();
    return { done: true, value: this.#end };
  }

  async #store(bytes: Buffer, release: () => void): Promise<void> {
    const { length } = bytes;
    while (!this.#isClosed) {
      if (this.#fitsInMemory(length)) {
        this.#memoryBytes += length;
        this.#entries.push({ bytes, release });
        return;
      }
      const reads = this.#reads;
      if (this.#budget.disk.acquire(length) && (await this.#write(bytes))) return release();
      if (this.#isUnread && !this.hasClosed()) throw new Overloaded("noRoom");
      // The client may have read more while the disk was tried.
      if (reads === this.#reads) await this.#change();
    }
  }

  /** The bytes stored first, until the next call; null when there are none. */
  async #shift(): Promise<Buffer | null> {
    this.#release();
    this.#release = NOTHING;
    const entry = this.#entries.shift();
    if (entry === undefined) return null;
    try {
      if ("position" in entry) return await this.#load(entry);
      this.#release = entry.release;
      this.#forgetMemory(entry.bytes.length);
      return entry.bytes;
    } finally {
      this.#reads++;
      this.#signal();
    }
  }

  /** Frees memory and disk, and discards what is stored. */
  async #close(): Promise<void> {
    this.#isClosed = true;
    for (const entry of this.#entries.splice(0))
      if ("position" in entry) this.#budget.disk.release(entry.length);
      else entry.release();
    this.#budget.memory.release(this.#memoryBytes);
    this.#reads++;
    this.#signal();
    await this.#file?.close();
  }

  /** A single entry always fits: otherwise a stream could not make progress. */
  #fitsInMemory(length: number): boolean {
    if (this.#entries.length === 0) {
      if (!this.#budget.memory.acquire(length)) this.#budget.memory.release(-length);
      return true;
    }
    return this.#memoryBytes + length <= MEMORY_BYTES && this.#budget.memory.acquire(length);
  }

  #forgetMemory(bytes: number): void {
    this.#memoryBytes -= bytes;
    this.#budget.memory.release(bytes);
  }

  /** A method: TypeScript assumes that a field keeps its value during an `await`. */
  hasClosed(): boolean {
    return this.#isClosed;
  }

  /** False when the disk is full: the client must read first, as when the budget is used up. */
  async #write(bytes: Buffer): Promise<boolean> {
    const { length } = bytes;
    if (this.#fileEntries === 0) this.#fileEnd = 0;
    const position = this.#fileEnd;
    let isStored = false;
    try {
      this.#file ??= await openUnlinked();
      if (this.hasClosed()) {
        await this.#file.close();
        return true;
      }
      await writeAll(this.#file, bytes, position);
      isStored = !this.hasClosed();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      return false;
    } finally {
      if (!isStored) this.#budget.disk.release(length);
    }
    if (!isStored) return true;
    this.#fileEnd += length;
    this.#fileEntries++;
    this.#entries.push({ position, length });
    return true;
  }

  async #load({ position, length }: Stored): Promise<Buffer> {
    if (this.#loaded.length < length) this.#loaded = Buffer.allocUnsafeSlow(length);
    const bytes = this.#loaded.subarray(0, length);
    try {
      const read = await this.#file?.read(bytes, 0, length, position);
      if (read?.bytesRead !== length)
        throw new Error("The file of a stream is shorter than what was written.");
    } finally {
      this.#fileEntries--;
      this.#budget.disk.release(length);
    }
    return bytes;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #signal(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function isDiskFull(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** One write may store less than all: what is missing fails with the reason, such as a full disk. */
async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** An unlinked file: the system deletes it when the process ends. */
async function openUnlinked(): Promise<FileHandle> {
  const path = join(tmpdir(), `routewright-spool-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await unlink(path).catch(() => undefined);
  return file;
}
