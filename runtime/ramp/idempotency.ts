import { setTimeout as sleep } from "node:timers/promises";
import { type RampResponse, isRampError, rampError, type RampError } from "./ramp-errors.js";
import { failpoint } from "./failpoints.js";
import { type ProjectId, newId } from "./database/id.js";
import type { RampContext } from "./context.js";
import {
  PreconditionFailed,
  type ProjectTransaction,
  Rollback,
  OF_PROJECT,
} from "./database/ramp-database.js";
/** How long a concurrent duplicate waits for the response of the first (runtime/ramp/README.md, Limits). */
const DUPLICATE_WAIT_MS = 5_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Stores the response in the transaction of the change that it reports, and returns it. */
export type StoreResponse = (tx: ProjectTransaction, answer: RampResponse) => RampResponse;

/** What a request does first, once its fields are checked. */
export interface PreparedOperation {
  /** Id of the resource that the request creates or changes; stored with the claim. */
  readonly resourceId: string;
  /**
   * Records what is to be done, in one transaction with the claim, so that a claim always leads to its work. An answer given
   * here is stored in that transaction too; null leaves it to `finish`. An error rolls everything back.
   */
  begin(tx: ProjectTransaction): Promise<RampResponse | RampError | null>;
}

/** Whether the key of a request is known already. */
export type IsReplay = () => Promise<boolean>;

/** A request that may change something. */
export interface IdempotentOperation {
  /**
   * Checks the request and changes nothing: an error of it is not stored. Before it calls another server, it checks
   * whether it is a replay and then returns "replay".
   */
  prepare(isReplay: IsReplay): Promise<PreparedOperation | RampError | "replay">;
  /**
   * Carries out what is recorded, with calls to other servers, and ends by storing the response. It can be repeated at any time,
   * by another process too, and continues from the recorded state.
   */
  finish(resourceId: string, store: StoreResponse): Promise<RampResponse>;
}

/** Carries a request out at most once per key; without a key, once per request. */
export async function runIdempotent(
  ramp: RampContext,
  projectId: ProjectId,
  key: IdempotencyKey | null,
  work: IdempotentOperation,
): Promise<RampResponse | RampError> {
  if (key !== null) return new KeyedRun(ramp, projectId, key, work).run();
  const start = await work.prepare(() => Promise.resolve(false));
  if (start === "replay") throw new Error("A request without a key is no replay.");
  return isRampError(start) ? start : runUnkeyed(ramp, projectId, start, work);
}

async function runUnkeyed(
  ramp: RampContext,
  projectId: ProjectId,
  start: PreparedOperation,
  work: IdempotentOperation,
): Promise<RampResponse | RampError> {
  const begun = await ramp.database.inProject(projectId, async (tx) =>
    rollbackOnError(await start.begin(tx)),
  );
  if (begun instanceof Rollback) return begun.value;
  if (begun !== null) return begun;
  await failpoint("request.recorded");
  return work.finish(start.resourceId, (_tx, answer) => answer);
}

function rollbackOnError(begun: RampResponse | RampError | null): RampResponse | null | Rollback<RampError> {
  return isRampError(begun) ? new Rollback(begun) : begun;
}

type ClaimState = RampResponse | RampError | "abandoned" | "in progress" | "none";

class KeyedRun {
  readonly #ramp: RampContext;
  readonly #projectId: ProjectId;
  readonly #key: IdempotencyKey;
  readonly #work: IdempotentOperation;
  readonly #owner = newId();

  constructor(ramp: RampContext, projectId: ProjectId, key: IdempotencyKey, work: IdempotentOperation) {
    this.#ramp = ramp;
    this.#projectId = projectId;
    this.#key = key;
    this.#work = work;
  }

  async run(): Promise<RampResponse | RampError> {
    const inProgress = rampError("IDEMPOTENCY_IN_PROGRESS", { retryAfter: 1 });
    const isReplay: IsReplay = async () => (await this.#readClaim()) !== "none";
    // Inserting the claim detects a replay. The key is looked up earlier only before costly or final work: the verification of a
    // token, the request of a quote, an error.
    const start = await this.#work.prepare(isReplay);
    if (start === "replay") return this.#waitForResponse(inProgress);
    if (isRampError(start)) return (await isReplay()) ? this.#waitForResponse(inProgress) : start;
    const begun = await this.#begin(start);
    if (begun === "claimed") return this.#waitForResponse(inProgress);
    if (begun instanceof Rollback) return begun.value;
    if (begun !== null) return begun;
    await failpoint("request.recorded");
    return this.#finish(start.resourceId);
  }

  async #begin(start: PreparedOperation): Promise<RampResponse | null | Rollback<RampError> | "claimed"> {
    try {
      return await this.#ramp.database.inProject(this.#projectId, async (tx) => {
        claimKey(tx, this.#key, this.#owner, start.resourceId);
        const begun = rollbackOnError(await start.begin(tx));
        if (begun !== null && !(begun instanceof Rollback)) await this.#store(tx, begun);
        return begun;
      });
    } catch (error) {
      if (error instanceof PreconditionFailed) return "claimed";
      throw error;
    }
  }

  /** Waits for the response of the request that has the claim; `otherwise` when there is no claim. */
  async #waitForResponse(otherwise: RampError): Promise<RampResponse | RampError> {
    const deadline = Date.now() + DUPLICATE_WAIT_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const claim = await this.#readClaim();
      if (claim === "none") return otherwise;
      if (typeof claim !== "string") return claim;
      const taken = claim === "abandoned" ? await this.#takeOver() : null;
      if (taken) return taken;
      if (Date.now() >= deadline) return rampError("IDEMPOTENCY_IN_PROGRESS", { retryAfter: 1 });
      await sleep(pause);
    }
  }

  async #readClaim(): Promise<ClaimState> {
    const claim = await this.#ramp.database.inProject(this.#projectId, (tx) => readClaim(tx, this.#key.key));
    if (claim === null) return "none";
    if (!claim.fingerprint.equals(this.#key.fingerprint)) return rampError("IDEMPOTENCY_KEY_REUSED");
    if (claim.response === null) return claim.isAbandoned ? "abandoned" : "in progress";
    const body = this.#ramp.vault.open(this.#purpose, claim.response.body);
    return { status: claim.response.status, body, headers: { "X-Idempotency-Replayed": "true" } };
  }

  async #takeOver(): Promise<RampResponse | RampError | null> {
    const resourceId = await this.#ramp.database.inProject(this.#projectId, async (tx) => {
      const taken = await takeOverClaim(tx, this.#key.key, this.#owner);
      return taken ? ((await readClaim(tx, this.#key.key))?.resourceId ?? null) : null;
    });
    return resourceId === null ? null : this.#finish(resourceId);
  }

  async #finish(resourceId: string): Promise<RampResponse | RampError> {
    let stored = Promise.resolve(false);
    try {
      const answer = await this.#work.finish(resourceId, (tx, made) => {
        stored = this.#store(tx, made);
        // Not awaited here: if it fails, so does the transaction.
        stored.catch(() => undefined);
        return made;
      });
      await failpoint("response.stored");
      // Another request took the claim over meanwhile: its response is the one for all.
      return (await stored)
        ? answer
        : await this.#waitForResponse(rampError("IDEMPOTENCY_IN_PROGRESS", { retryAfter: 1 }));
    } catch (error) {
      await this.#abandon();
      throw error;
    }
  }

  #store(tx: ProjectTransaction, { status, body }: RampResponse): Promise<boolean> {
    return storeResponse(tx, this.#key.key, this.#owner, {
      status,
      body: this.#ramp.vault.seal(this.#purpose, body),
    });
  }

  /** A claim that cannot be released is taken over once it has expired. */
  #abandon(): Promise<void> {
    return this.#ramp.database
      .inProject(this.#projectId, (tx) => releaseClaim(tx, this.#key.key, this.#owner))
      .catch(() => undefined);
  }

  get #purpose(): string {
    return `answer:${this.#projectId}:${this.#key.key}`;
  }
}

/** How long a stored answer is replayed, in seconds (runtime/ramp/README.md, Limits). */
const LIFETIME_SECONDS = 24 * 60 * 60;

/** After this a claim without an answer is taken to be a crashed owner's, in seconds (runtime/ramp/README.md, Limits). */
const TAKE_OVER_SECONDS = 90;

/** A key as a request brings it. */
export interface IdempotencyKey {
  readonly key: string;
  /** SHA-256 over method, path, canonical body and customer. */
  readonly fingerprint: Buffer;
}

/** A stored claim of a key. */
interface IdempotencyClaim {
  readonly fingerprint: Buffer;
  readonly resourceId: string;
  readonly isAbandoned: boolean;
  /** The stored answer, sealed; null while the owner is at work. */
  readonly response: { readonly status: number; readonly body: Buffer } | null;
}

/** Claims a key for an owner, with what the request is about to create; fails the transaction when the key is claimed already. */
function claimKey(
  tx: ProjectTransaction,
  { key, fingerprint }: IdempotencyKey,
  owner: string,
  resourceId: string,
): void {
  tx.requireRow(
    `INSERT INTO ramp.idempotency_claims AS c (key, fingerprint, resource_id, owner, owned_until, expires_at)
     VALUES ($1, $2, $3, $4, now() + interval '${String(TAKE_OVER_SECONDS)} s', now() + interval '${String(LIFETIME_SECONDS)} s')
     ON CONFLICT (project_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, resource_id = excluded.resource_id,
       owner = excluded.owner, owned_until = excluded.owned_until, expires_at = excluded.expires_at,
       response_status = NULL, response_body = NULL
     WHERE c.expires_at <= now()
     RETURNING key`,
    [key, fingerprint, resourceId, owner],
  );
}

interface ClaimRow {
  readonly fingerprint: Buffer;
  readonly resource_id: string;
  readonly is_abandoned: boolean;
  readonly response_status: number | null;
  readonly response_body: Buffer | null;
}

async function readClaim(tx: ProjectTransaction, key: string): Promise<IdempotencyClaim | null> {
  const row = await tx.row<ClaimRow>(
    `SELECT fingerprint, resource_id, owned_until <= now() AS is_abandoned, response_status, response_body
     FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND key = $1 AND expires_at > now()`,
    [key],
  );
  if (row === null) return null;
  const { response_status: status, response_body: body } = row;
  return {
    fingerprint: row.fingerprint,
    resourceId: row.resource_id,
    isAbandoned: row.is_abandoned,
    response: status === null || body === null ? null : { status, body },
  };
}

/** Takes an abandoned claim over; false when another request did. */
async function takeOverClaim(tx: ProjectTransaction, key: string, owner: string): Promise<boolean> {
  const taken = await tx.row(
    `UPDATE ramp.idempotency_claims SET owner = $2, owned_until = now() + interval '${String(TAKE_OVER_SECONDS)} s'
     WHERE ${OF_PROJECT} AND key = $1 AND response_status IS NULL AND owned_until <= now() AND expires_at > now() RETURNING key`,
    [key, owner],
  );
  return taken !== null;
}

/** Stores the answer of a claim that is still the owner's; whether it was. */
async function storeResponse(
  tx: ProjectTransaction,
  key: string,
  owner: string,
  response: { readonly status: number; readonly body: Buffer },
): Promise<boolean> {
  const stored = await tx.row(
    `UPDATE ramp.idempotency_claims SET response_status = $3, response_body = $4
     WHERE ${OF_PROJECT} AND key = $1 AND owner = $2 AND response_status IS NULL RETURNING key`,
    [key, owner, response.status, response.body],
  );
  return stored !== null;
}

/** Releases a claim after a fault, so that a repeated request continues at once. */
async function releaseClaim(tx: ProjectTransaction, key: string, owner: string): Promise<void> {
  await tx.rows(
    `UPDATE ramp.idempotency_claims SET owned_until = now() WHERE ${OF_PROJECT} AND key = $1 AND owner = $2 AND response_status IS NULL`,
    [key, owner],
  );
}
