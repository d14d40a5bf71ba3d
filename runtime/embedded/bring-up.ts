import { setTimeout as sleep } from "node:timers/promises";

import { claimStart } from "./claim.js";
import type { Cluster } from "./cluster.js";
import { join } from "./join.js";
import { Membership } from "./membership.js";
import { readPidFile } from "./pid-file.js";
import { portFor } from "./port.js";
import type { Tell } from "./revival.js";
import { startServer, stopServer } from "./server.js";
import { EmbeddedPostgresUnavailable } from "./unavailable.js";

/** Another process may take the port, or start or stop the server, between our look and our start. */
const MAX_STARTS = 5;
const RETRY_MS = 200;

/** Recovery after a crash takes as long as there is to replay. */
const PATIENCE_MS = 5 * 60_000;

/** Who brings back a server that has ended rests for up to 15 s between two attempts (`revival.ts`). */
const OTHERS_MS = 30_000;

/** Joins the server that runs on the cluster, whoever started it, or else starts one. */
export async function bringUp(cluster: Cluster, tell: Tell): Promise<Membership> {
  const begun = Date.now();
  let trouble = "the server does not get ready";
  let started = false;
  for (let starts = 0; starts < MAX_STARTS && Date.now() - begun < PATIENCE_MS;) {
    const seen = await attach(cluster, tell);
    if (seen.kind === "joined") return seen.membership;
    if (seen.kind === "absent") {
      const outcome = await startOnce(cluster);
      if (outcome.kind === "started") started = true;
      if (outcome.kind === "claimed" && Date.now() - begun > OTHERS_MS) throw othersFail(cluster);
      if (outcome.kind === "failed") trouble = `${seen.why}; ${outcome.why}`;
      if (outcome.kind !== "claimed") starts++;
      if (outcome.kind === "started") continue;
    }
    await sleep(RETRY_MS);
  }
  if (started) await stopServer(cluster);
  throw new EmbeddedPostgresUnavailable(trouble);
}

/**
 * What stands behind `postmaster.pid`: our server, which we have joined; our server, not ready (it starts, recovers or
 * shuts down); or nothing that is ours.
 */
type Attachment =
  | { readonly kind: "joined"; readonly membership: Membership }
  | { readonly kind: "busy" }
  | { readonly kind: "absent"; readonly why: string };

async function attach(cluster: Cluster, tell: Tell): Promise<Attachment> {
  const found = await readPidFile(cluster);
  if (!found) return { kind: "absent", why: "no server runs yet" };
  const { port } = found;
  try {
    return { kind: "joined", membership: new Membership({ cluster, port, tell }, await join(cluster, port)) };
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    return BUSY.test(code) ? { kind: "busy" } : { kind: "absent", why: message };
  }
}

/** SQLSTATE: shutting down, crashed, not ready yet; too many connections. */
const BUSY = /^(57P0[123]|53300)$/;

/** What came of an attempt to start the server; `claimed`: it's another's business at the moment. */
type Start =
  | { readonly kind: "started" }
  | { readonly kind: "claimed" }
  | { readonly kind: "failed"; readonly why: string };

async function startOnce(cluster: Cluster): Promise<Start> {
  const claim = await claimStart(cluster);
  if (!claim) return { kind: "claimed" };
  try {
    const why = await startServer(cluster, await portFor(cluster));
    return why === undefined ? { kind: "started" } : { kind: "failed", why };
  } finally {
    await claim.release();
  }
}

function othersFail({ log }: Cluster): EmbeddedPostgresUnavailable {
  const seconds = String(OTHERS_MS / 1000);
  return new EmbeddedPostgresUnavailable(
    `another process that uses it has tried to start it for ${seconds} s; what keeps it from that is in ${log}`,
  );
}
