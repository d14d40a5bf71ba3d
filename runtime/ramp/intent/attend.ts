import { setTimeout as sleep } from "node:timers/promises";
import type { ProjectId } from "../project/project.js";
import type { Ramp } from "../ramp.js";
import { newId } from "../store/id.js";
import { hold } from "./attention.js";
import { drive } from "./drive.js";
import { readIntent } from "./read.js";

/** A holder is at work for moments: whoever was called for news waits for it, lest the news be missed. */
const BUSY_PAUSE_MS = 250;
const BUSY_TRIES = 8;

/** Does what can be done about an intent, as soon as nobody else is at it. */
export async function attend(ramp: Ramp, projectId: ProjectId, id: string): Promise<void> {
  const driver = newId();
  for (let tries = 0; tries < BUSY_TRIES; tries++) {
    const [isHeld, intent] = await ramp.database.inProject(projectId, (tx) =>
      Promise.all([hold(tx, id, driver, ramp.rhythm), readIntent(tx, id)]),
    );
    if (intent === null) return;
    if (isHeld) return drive(ramp, projectId, intent, driver, () => undefined);
    // Neither free nor held: it is at its end.
    if (intent.attendedBy === null) return;
    await sleep(BUSY_PAUSE_MS);
  }
}
