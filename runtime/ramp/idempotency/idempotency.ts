import { setTimeout as sleep } from "node:timers/promises";
import { type RampResponse, isRampError, rampError, type RampError } from "../ramp-errors.js";
import { failpoint } from "../failpoints.js";
import { type ProjectId, newId } from "../database/id.js";
import type { RampContext } from "../context.js";
import { PreconditionFailed, type ProjectTransaction, Rollback } from "../database/ramp-database.js";
import { releaseClaim, claimKey, type IdempotencyKey, readClaim, storeResponse, takeOver } from "./claims.js";

/** How long a concurrent duplicate waits for the response of the first (runtime/ramp/README.md, Limits). */
const DUPLICATE_WAIT_MS = 5_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Stores the answer in the transaction that makes it true, and gives it back. */
export type StoreResponse = (tx: ProjectTransaction, answer: RampResponse) => RampResponse;

/** What a request does first, once its fields are checked. */
export interface PreparedOperation {
  /** What the request makes or works on; kept with the claim. */
  readonly resourceId: string;
  /**
   * Records what is to be done, in one transaction with the claim, so that a claim always leads to its work. An answer given
   * here is stored in that transaction too; null leaves it to `finish`. A refusal undoes everything.
   */
  begin(tx: ProjectTransaction): Promise<RampResponse | RampError | null>;
}

/** Whether the key of a request is known already. */
export type IsReplay = () => Promise<boolean>;

/** A request that may change something. */
export interface IdempotentOperation {
  /**
   * Checks the request and changes nothing: a refusal of it is not stored. Before it calls another server, it checks
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
      const taken = await takeOver(tx, this.#key.key, this.#owner);
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
