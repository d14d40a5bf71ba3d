import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import Negotiator from "negotiator";

/** A content coding (RFC 9110 §8.4.1). */
export type Encoding = "br" | "gzip" | "zstd";

/**
 * Shorter bodies are not compressed: they fit into the initial congestion window (RFC 6928), so compression saves no round
 * trip.
 */
export const COMPRESSED_FROM_BYTES = 14 * 1024;

/** Functions of `node:zlib` from Node 22.15 on. */
interface Zstd {
  readonly zstdCompress?: (data: Buffer, callback: (error: Error | null, result: Buffer) => void) => void;
  readonly createZstdCompress?: () => Transform;
}

/** Unreachable: `encodingOf` does not choose zstd there. */
const NO_ZSTD = "This version of Node.js has no zstd.";

const { zstdCompress, createZstdCompress } = zlib as Zstd;

/** Levels at which compression is as fast as the database writes JSON. */
const BROTLI: zlib.BrotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };
const GZIP: zlib.ZlibOptions = { level: 5 };

const brotli: (body: Buffer, options: zlib.BrotliOptions) => Promise<Buffer> = promisify(zlib.brotliCompress);
const gzip: (body: Buffer, options: zlib.ZlibOptions) => Promise<Buffer> = promisify(zlib.gzip);
const zstd = zstdCompress && promisify(zstdCompress);

/** In order of speed, which decides between equally preferred codings. */
const ENCODINGS: readonly Encoding[] = zstdCompress ? ["zstd", "br", "gzip"] : ["br", "gzip"];

interface Encodings {
  encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[];
}

/** The client's preferred coding; null: none. */
export function encodingOf({ headers }: Pick<IncomingMessage, "headers">): Encoding | null {
  const accepted = headers["accept-encoding"];
  if (accepted === undefined) return null;
  // The types of `negotiator` lack the second argument.
  const negotiator = new Negotiator({ headers: { "accept-encoding": accepted } }) as unknown as Encodings;
  const [best] = negotiator.encodings([...ENCODINGS, "identity"], { preferred: ENCODINGS });
  return ENCODINGS.find((encoding) => encoding === best) ?? null;
}

/** Compresses off the event loop. */
export async function compress(encoding: Encoding, body: Buffer): Promise<Buffer> {
  switch (encoding) {
    case "br":
      return brotli(body, {
        params: { ...BROTLI.params, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length },
      });
    case "gzip":
      return gzip(body, GZIP);
    case "zstd":
      if (zstd) return zstd(body);
      throw new Error(NO_ZSTD);
  }
}

/** A compressing stream. */
export function compressor(encoding: Encoding): Transform {
  switch (encoding) {
    case "br":
      return zlib.createBrotliCompress(BROTLI);
    case "gzip":
      return zlib.createGzip(GZIP);
    case "zstd":
      if (createZstdCompress) return createZstdCompress();
      throw new Error(NO_ZSTD);
  }
}
