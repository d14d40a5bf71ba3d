import { setTimeout as sleep } from "node:timers/promises";

import { claimStart } from "./claim.js";
import type { Cluster } from "./cluster.js";
import { join } from "./join.js";
import { Membership, type Tell } from "./membership.js";
import { isRunning, readPidFile } from "./pid-file.js";
import { portFor } from "./port.js";
import { startServer, stopServer } from "./server.js";
import { EmbeddedPostgresUnavailable } from "./unavailable.js";

/**
 * What stands behind `postmaster.pid`: our server, which we have joined; our server, not ready (it starts, recovers or
 * shuts down); or nothing that is ours.
 */
type Attachment =
  | { readonly kind: "joined"; readonly membership: Membership }
  | { readonly kind: "busy" }
  | { readonly kind: "absent"; readonly why: string };

/** Another process may take the port, or start or stop the server, between our look and our start. */
const MAX_STARTS = 5;
const RETRY_MS = 200;

/** Recovery after a crash takes as long as there is to replay. */
const PATIENCE_MS = 5 * 60_000;

/** Who brings a server back that has ended rests for up to 15 s between two attempts (`revival.ts`). */
const OTHERS_MS = 30_000;

/** Joins the server that runs on the cluster, whoever started it, or else starts one. */
export async function bringUp(cluster: Cluster, tell: Tell): Promise<Membership> {
  const deadline = Date.now() + PATIENCE_MS;
  const othersUntil = Date.now() + OTHERS_MS;
  let trouble = "the server does not get ready";
  let started = false;
  for (let starts = 0; starts < MAX_STARTS && Date.now() < deadline;) {
    const seen = await attach(cluster, tell);
    if (seen.kind === "joined") return seen.membership;
    if (seen.kind === "absent") {
      const outcome = await startOnce(cluster);
      if (outcome === "started") started = true;
      if (outcome === "started") continue;
      if (outcome === "claimed" && Date.now() > othersUntil) throw unavailableToOthers(cluster);
      if (outcome !== "claimed") starts++;
      if (outcome !== "claimed") trouble = `${seen.why}; ${outcome.failure}`;
    }
    await sleep(RETRY_MS);
  }
  if (started) await stopServer(cluster);
  throw new EmbeddedPostgresUnavailable(trouble);
}
