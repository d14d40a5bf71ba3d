import { open, statfs } from "node:fs/promises";

import type { Cluster } from "./cluster.js";
import { readPidFile } from "./pid-file.js";

/** What the server writes when it's up. */
const UP = "database system is ready to accept connections";

/** The reasons that it gives for its end, each at the beginning of a line; the first that's found counts. */
const REASONS = [
  "PANIC: {2}(.+)",
  "LOG: {2}(received (?:fast|smart|immediate) shutdown request)",
  "FATAL: {2}(could not .+)",
  "LOG: {2}((?:shutting down|aborting startup|performing immediate shutdown) (?:due to|because) .+)",
].map((reason) => new RegExp(`^\\S+ \\S+ \\S+ \\[\\d+\\] ${reason}`));

/** Of its own log the server makes one file of this size at a time: with less room it can't go on for long. */
const SEGMENT_BYTES = 16 * 1024 * 1024;

/**
 * Why a server that runs no more has ended, in a line: what its log says since it came up. Statements, which the log
 * has beside some messages, and folders are left out.
 */
export async function whyEnded(cluster: Cluster): Promise<string> {
  const said = reasonIn(await endOfLog(cluster).catch(() => ""));
  if (said !== undefined) return said;
  if (await readPidFile(cluster)) return "it was killed, as when memory runs out";
  const { bavail, bsize } = await statfs(cluster.data);
  if (bavail * bsize >= SEGMENT_BYTES) return "its log does not say why";
  return `its disk has ${String(Math.floor((bavail * bsize) / 1024 ** 2))} MB left`;
}

/** An end of the log that is long enough for a crash in front of many clients, each of which gets a line. */
const LOOK_BYTES = 256 * 1024;

async function endOfLog({ log }: Cluster): Promise<string> {
  const file = await open(log);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, LOOK_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

const LONGEST = 200;

function reasonIn(log: string): string | undefined {
  const lines = log.slice(Math.max(0, log.lastIndexOf(UP))).split("\n");
  for (const reason of REASONS) {
    const found = lines.findLast((line) => reason.test(line));
    const text = found === undefined ? undefined : reason.exec(found)?.[1];
    if (text !== undefined) return text.replace(/"\/[^"]*\/([^"/]*)"/g, '"$1"').slice(0, LONGEST);
  }
  return undefined;
}
