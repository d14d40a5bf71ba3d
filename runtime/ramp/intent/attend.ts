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
    const seen = await ramp.database.inProject(projectId, async (tx) => {
      const isHeld = await hold(tx, id, driver, ramp.rhythm);
      const intent = await readIntent(tx, id);
      return { isHeld, intent };
    });
    if (seen.intent === null) return;
    if (seen.isHeld) return drive(ramp, projectId, seen.intent, driver, () => Promise.resolve());
    // Neither free nor held: it is at its end.
    if (seen.intent.attendedBy === null) return;
    await sleep(BUSY_PAUSE_MS);
  }
}
