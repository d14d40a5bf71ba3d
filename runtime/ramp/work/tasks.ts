import { type Static, type TSchema, Type } from "@sinclair/typebox";
import type { TaskList } from "graphile-worker";
import { deliver } from "../event/deliver.js";
import { attend } from "../intent/attend.js";
import { projectId } from "../project/project.js";
import type { Ramp } from "../ramp.js";
import { check } from "../schema/validate.js";

const AttendJob = Type.Object({ projectId: Type.String(), intentId: Type.String() });
const DeliverJob = Type.Object({ projectId: Type.String(), deliveryId: Type.String() });

/** What the queue does. A job that fails is not repeated: its row is still due, and the sweep finds it. */
export function tasksOf(ramp: Ramp): TaskList {
  return {
    attend: (payload) => {
      const job = expect(AttendJob, payload);
      return attend(ramp, projectId(job.projectId), job.intentId);
    },
    deliver: (payload) => {
      const job = expect(DeliverJob, payload);
      return deliver(ramp, projectId(job.projectId), job.deliveryId);
    },
  };
}

function expect<S extends TSchema>(schema: S, payload: unknown): Static<S> {
  if (!check(schema, payload)) throw new Error("The job is not of our making.");
  return payload;
}
