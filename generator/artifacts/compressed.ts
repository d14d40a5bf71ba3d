import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { failedFetch, type Fetched, tooLarge } from "./store.js";

type FetchedContent = Extract<Fetched, { kind: "content" }>;

/** Names of compressed files, behind that of the file. */
export const COMPRESSED_SUFFIXES = [".gz", ".zst"];

/**
 * The bytes that a file of gzip or zstd holds. Its first bytes say it, which no JSON begins with: a store may keep the file under
 * any name, with and without `Content-Encoding`. `maxBytes` bounds what comes out.
 */
export async function decompressed(
  content: FetchedContent,
  shown: string,
  maxBytes: number,
): Promise<Fetched> {
  const { bytes } = content;
  const format = FORMATS.find(({ start }) => start.every((byte, at) => bytes[at] === byte));
  if (format === undefined) return content;
  const decompress = format.decompress();
  if (decompress === null) return failedFetch(`${shown} is compressed with ${format.name}: ${TOO_OLD}`);
  try {
    return { ...content, bytes: await decompress(bytes, { maxOutputLength: maxBytes }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return tooLarge(shown, maxBytes);
    return failedFetch(`${shown} is not complete, or no ${format.name} file: copy it again, byte by byte.`);
  }
}

const TOO_OLD = "Node 22.15 or later reads it. Use it, or keep the file as it is or with gzip.";

type Decompress = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** Node 20 has no zstd, nor its types. */
const { zstdDecompress } = zlib as unknown as { readonly zstdDecompress?: typeof zlib.gunzip };

interface CompressedFormat {
  readonly name: string;
  readonly start: readonly number[];
  /** Null where this version of Node has none. */
  readonly decompress: () => Decompress | null;
}

const FORMATS: readonly CompressedFormat[] = [
  {
    name: "gzip",
    start: [0x1f, 0x8b],
    decompress: () => promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  },
  {
    name: "zstd",
    start: [0x28, 0xb5, 0x2f, 0xfd],
    decompress: () =>
      zstdDecompress === undefined ? null : promisify<Buffer, zlib.ZlibOptions, Buffer>(zstdDecompress),
  },
];
