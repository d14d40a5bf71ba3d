import { EventEmitter } from "node:events";
import type { Socket, SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import type pg from "pg";
import { DatabaseSocket, PostgresClient } from "./connection/postgres-client.js";

/** Takes the rows of a statement as PostgreSQL sends them. */
export interface RowSink {
  /** The frame's fields begin at `offset`, each with its length before it: -1 for null. Valid during the call only. */
  row(frame: Buffer, offset: number): void;
}

/** Type of the frames that hold rows. */
const DATA_ROW = 0x44;

/** Type of the frames that report an error. */
const ERROR = 0x45;

/** The field of an error that has its severity in English; `pg` reads the localized one. */
const SEVERITY = 0x56;

/** Frames of a statement that nobody needs. In a page of one row pg spent 7 % of Node's time on its frames. */
const BIND_COMPLETE = 0x32;
const COMMAND_COMPLETE = 0x43;

/** Type of the frame that ends a statement. */
const READY = 0x5a;

/** Bytes of a frame before its content: its type and its length. */
const HEAD_BYTES = 5;

/** Bytes of a row's frame before its fields: the head, and their number. */
const ROW_HEAD_BYTES = HEAD_BYTES + 2;

/**
 * Walks the frames of PostgreSQL's protocol between the socket and pg's parser: rows go to the sink, the others to pg.
 * In a prototype, 1,000 rows that became JavaScript strings and text again took 1,400 µs of processor time, as bytes 500.
 */
class SocketProxy extends EventEmitter {
  sink: RowSink | null = null;
  /** Statements that PostgreSQL has bound to their values: counted while there is a sink. */
  bound = 0;
  /** Goes on with the next statement of a batch. False: pg takes the end of this one. */
  next: (() => boolean) | null = null;
  /** Of the last error: `ERROR`, or `FATAL` and `PANIC` where the session ends. */
  severity = "";
  readonly #stream: Duplex;
  /** A frame whose rest has not arrived, or its head, and its bytes so far. */
  #held: Buffer | null = null;
  #heldBytes = 0;

  constructor(stream: Duplex) {
    super();
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    stream.on("end", () => this.emit("end"));
  }

  /** Stops reading, so that PostgreSQL stops sending. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #take(chunk: Buffer): void {
    try {
      let at = 0;
      while (this.#held !== null && at < chunk.length) at = this.#complete(this.#held, chunk, at);
      if (at < chunk.length) this.#walk(chunk, at);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Adds to the frame that is held, and passes it on once it is complete. Returns where the rest of the chunk begins. */
  #complete(held: Buffer, chunk: Buffer, at: number): number {
    const end = at + chunk.copy(held, this.#heldBytes, at);
    this.#heldBytes += end - at;
    if (this.#heldBytes < held.length) return end;
    this.#held = null;
    if (this.#heldBytes === frameBytes(held, 0)) this.#walk(held, 0);
    else this.#hold(held, 0);
    return end;
  }

  #walk(chunk: Buffer, from: number): void {
    const { length } = chunk;
    let start = from;
    let at = from;
    while (length - at >= HEAD_BYTES) {
      const bytes = frameBytes(chunk, at);
      if (length - at < bytes) break;
      const type = chunk[at];
      if (type === ERROR) {
        // An error before it is passed on with its own severity.
        if (at > start) this.emit("data", chunk.subarray(start, at));
        start = at;
        this.severity = severityIn(chunk.subarray(at + HEAD_BYTES, at + bytes));
      } else if (type === DATA_ROW || type === BIND_COMPLETE || type === COMMAND_COMPLETE || type === READY) {
        // What comes before may change the sink.
        if (at > start) this.emit("data", chunk.subarray(start, at));
        start = this.#takes(type, chunk, at) ? at + bytes : at;
      }
      at += bytes;
    }
    if (at > start) this.emit("data", chunk.subarray(start, at));
    if (at < length) this.#hold(chunk, at);
  }

  /** Whether the frame at this place is not for pg. */
  #takes(type: number, chunk: Buffer, at: number): boolean {
    if (this.sink === null) return false;
    if (type === DATA_ROW) this.sink.row(chunk, at + ROW_HEAD_BYTES);
    else if (type === READY) return this.next?.() === true;
    else if (type === BIND_COMPLETE) this.bound++;
    return true;
  }

  /** Keeps the beginning of a frame in a buffer of the frame's length. Only it is copied, not the chunks. */
  #hold(chunk: Buffer, at: number): void {
    const hasHead = chunk.length - at >= HEAD_BYTES;
    this.#held = Buffer.allocUnsafe(hasHead ? frameBytes(chunk, at) : HEAD_BYTES);
    this.#heldBytes = chunk.copy(this.#held, 0, at);
  }

  /** Nothing after it can be trusted. The query rejects with the error. */
  #fail(error: Error): void {
    this.sink = null;
    this.#stream.removeAllListeners("data");
    this.#stream.destroy(error);
  }
}

/** Bytes of the frame that begins there. */
function frameBytes(chunk: Buffer, at: number): number {
  const bytes = 1 + chunk.readUInt32BE(at + 1);
  if (bytes < HEAD_BYTES) throw new Error("PostgreSQL sent a malformed frame.");
  return bytes;
}

/** Fields follow each other, each a byte that says which it is and a text that ends with a zero. */
function severityIn(fields: Buffer): string {
  for (let at = 0; fields[at]; at = fields.indexOf(0, at) + 1)
    if (fields[at] === SEVERITY) return fields.toString("latin1", at + 1, fields.indexOf(0, at));
  return "";
}

/** Bytes that a socket reads at a time. */
const READ_BYTES = 64 * 1024;

/**
 * A socket that reads into one buffer: listeners must use the bytes at once, as the tap does. With a new buffer of 64 KiB for
 * each read, Node took 955 µs of processor time instead of 713 for a page of 1,000 rows.
 */
function openSocket(): Socket {
  const read = (length: number, buffer: Uint8Array): boolean => {
    socket.emit("data", (buffer as Buffer).subarray(0, length));
    return true;
  };
  const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: read };
  const socket: Socket = new DatabaseSocket({ onread } as SocketConstructorOpts);
  return socket;
}

/** What this file needs of pg's connection: `attachListeners` gives a socket to its parser, again once it has TLS. */
interface PgConnection {
  on(event: "parameterStatus", listener: (status: { readonly parameterName: string }) => void): void;
  on(event: "errorMessage", listener: (error: pg.DatabaseError) => void): void;
  readonly stream: Socket;
  attachListeners(stream: Duplex | SocketProxy): void;
  /** Texts of the statements that are prepared, by their names. */
  readonly parsedStatements: Record<string, string>;
}

/** A client of pg whose rows may go to a sink. Throws where this version of pg has no such hook. */
export class WireClient extends PostgresClient {
  #tap: SocketProxy | null = null;

  constructor(config?: pg.ClientConfig) {
    super({ ...config, stream: openSocket });
    const connection = this.#pg as PgConnection | undefined;
    if (typeof connection?.attachListeners !== "function" || typeof connection.parsedStatements !== "object")
      throw new Error(NO_HOOK);
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream: Duplex) => attach((this.#tap = new SocketProxy(stream)));
    // Before the client itself listens.
    connection.on("errorMessage", (error) => (error.severity = this.tap.severity));
  }

  get #pg(): PgConnection {
    return (this as unknown as { readonly connection: PgConnection }).connection;
  }

  /** The tap of the connection that is open. */
  get tap(): SocketProxy {
    if (this.#tap === null) throw new Error(NO_HOOK);
    return this.#tap;
  }

  /** Does not wait for the database's end of the connection: while it is frozen it has none, and the process would not end. */
  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const ended = callback === undefined ? super.end() : super.end(callback);
    this.#pg.stream.destroySoon();
    return ended;
  }

  /** Calls back for each setting of the session that the server reports as changed. */
  onSetting(changed: (name: string) => void): void {
    this.#pg.on("parameterStatus", ({ parameterName }) => changed(parameterName));
  }

  hasPrepared(name: string): boolean {
    return this.#pg.parsedStatements[name] !== undefined;
  }

  /** The statement is prepared again before it runs. */
  forget(name: string): void {
    Reflect.deleteProperty(this.#pg.parsedStatements, name);
  }

  /** As `forget`, of all statements of the session. */
  forgetAll(): void {
    for (const name of Object.keys(this.#pg.parsedStatements)) this.forget(name);
  }
}

const NO_HOOK =
  "The installed version of the package 'pg' does not let Routewright read rows as bytes. Install the version in its package.json.";
