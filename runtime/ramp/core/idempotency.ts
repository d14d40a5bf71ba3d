import { type RampResponse, isRampError, rampError, type RampError, type RampAnswer } from "./ramp-errors.js";
import { failpoint } from "./failpoints.js";
import { type ProjectId, newId } from "../database/id.js";
import type { CoreContext } from "./context.js";
import {
  PreconditionFailed,
  type ProjectTransaction,
  Rollback,
  OF_PROJECT,
} from "../database/transaction.js";
import { sleep } from "@routewright/runtime/internal/core/model/timer.js";
/** How long a concurrent duplicate waits for the response of the first (runtime/ramp/docs/limits.md). */
const DUPLICATE_WAIT_MS = 5_000;

/** Pauses between its look-ups: doubled up to the maximum. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

const IN_PROGRESS = rampError("IDEMPOTENCY_IN_PROGRESS", { retryAfter: 1 });

/** Stores the response in the transaction of the change that it reports, and returns it. */
export type StoreResponse = (tx: ProjectTransaction, response: RampResponse) => Promise<RampResponse>;

/** What a request does first, once its fields are checked. */
export interface PreparedOperation {
  /** Id of the resource that the request creates or changes; stored with the claim. */
  readonly resourceId: string;
  /** Whether `begin` has the operator's rights on the project: the service's own role may neither ask for refunds nor record ends. */
  readonly isOperators?: true;
  /** Locks the customer that `begin` writes, where the caller is not that customer. Sent before the claim. */
  lock?(tx: ProjectTransaction): void;
  /**
   * Records what is to be done, in one transaction with the claim, so that any process that finds the claim can finish it.
   * A response is stored in that transaction too; null leaves it to `finish`. An error rolls everything back.
   */
  begin(tx: ProjectTransaction): Promise<RampAnswer | null>;
}

/** Whether the key of a request is known already. */
export type IsReplay = () => Promise<boolean>;

/** What a request does, why it is refused, or that it is a replay. */
export type Preparation = PreparedOperation | RampError | "replay";

/** A request that may change something. */
export interface IdempotentOperation {
  /**
   * Checks the request and changes nothing: its errors are not stored. Before it calls another server, it checks whether the
   * request is a replay, and returns "replay" if so.
   */
  prepare(isReplay: IsReplay): Promise<Preparation>;
  /**
   * Executes what is recorded, with calls to other servers, and ends by storing the response. It can be repeated at any time,
   * by another process too, and continues from the recorded state. Absent where `begin` always has the response.
   */
  finish?(resourceId: string, store: StoreResponse): Promise<RampResponse>;
}

/** Who sends a request that may change something. */
interface AuthorizedCaller {
  readonly projectId: ProjectId;
  /** Whether the key was used when the caller was authenticated; null: it was not looked up. */
  readonly isKeyUsed: boolean | null;
  /** Called in the transaction that records the request, which fails with `Unauthorized` where it is not. */
  requireAuthorized(tx: ProjectTransaction): void;
}

/** The caller of a request has lost the right to it meanwhile. */
export class Unauthorized extends PreconditionFailed {
  readonly refusal: RampError;

  constructor(refusal: RampError) {
    super();
    this.refusal = refusal;
  }
}

/** What runs need of the service. */
type RunContext = Pick<CoreContext, "database" | "vault">;

/** Executes a request at most once per key; without a key, once per request. */
export async function runIdempotent(
  ramp: RunContext,
  caller: AuthorizedCaller,
  key: IdempotencyKey | null,
  work: IdempotentOperation,
): Promise<RampAnswer> {
  if (key !== null) return new KeyedRun(ramp, caller, key, work).run();
  const start = await work.prepare(() => Promise.resolve(false));
  if (start === "replay") throw new Error("A request without a key is no replay.");
  return isRampError(start) ? start : runUnkeyed(ramp, caller, start, work);
}

async function runUnkeyed(
  ramp: RunContext,
  caller: AuthorizedCaller,
  start: PreparedOperation,
  work: IdempotentOperation,
): Promise<RampAnswer> {
  const begun = await beginning(ramp, caller, start)((tx) => begin(tx, caller, start)).catch(refusalOf);
  if (begun instanceof Rollback) return begun.value;
  if (begun !== null) return begun;
  await failpoint("request.recorded");
  return finished(work)(start.resourceId, (_tx, response) => Promise.resolve(response));
}

/** The transaction of `begin`. */
function beginning(
  { database }: RunContext,
  { projectId }: AuthorizedCaller,
  { isOperators }: PreparedOperation,
): <T>(work: (tx: ProjectTransaction) => Promise<T>) => Promise<T> {
  return isOperators
    ? (work) => database.asOperatorOf(projectId, work)
    : (work) => database.inProject(projectId, work);
}

function finished(work: IdempotentOperation): NonNullable<IdempotentOperation["finish"]> {
  if (!work.finish) throw new Error("The claim holds its response from the start.");
  return work.finish.bind(work);
}

/**
 * Authorizes and begins in one round trip; what began without the right to it is rolled back. The customer is locked before the claim, as an
 * erasure locks them.
 */
async function begin(
  tx: ProjectTransaction,
  caller: AuthorizedCaller,
  start: PreparedOperation,
  claim?: () => void,
): Promise<RampResponse | null | Rollback<RampError>> {
  caller.requireAuthorized(tx);
  if (claim) {
    start.lock?.(tx);
    claim();
  }
  const begun = await start.begin(tx);
  return isRampError(begun) ? new Rollback(begun) : begun;
}

/** What a transaction failed with, where that is the answer. */
function refusalOf(error: unknown): Rollback<RampError> {
  if (error instanceof Unauthorized) return new Rollback(error.refusal);
  throw error;
}

type ClaimState = RampAnswer | "abandoned" | "in progress" | "none";

class KeyedRun {
  readonly #ramp: RunContext;
  readonly #caller: AuthorizedCaller;
  readonly #key: IdempotencyKey;
  readonly #work: IdempotentOperation;
  readonly #owner = newId();

  constructor(ramp: RunContext, caller: AuthorizedCaller, key: IdempotencyKey, work: IdempotentOperation) {
    this.#ramp = ramp;
    this.#caller = caller;
    this.#key = key;
    this.#work = work;
  }

  async run(): Promise<RampAnswer> {
    const isReplay: IsReplay = async () => (await this.#readClaim()) !== "none";
    // Inserting the claim detects a replay. The key is looked up earlier only before costly or final work: the verification of a
    // token, the request of a quote, an error.
    const { isKeyUsed } = this.#caller;
    const start = await this.#work.prepare(isKeyUsed === null ? isReplay : () => Promise.resolve(isKeyUsed));
    if (start === "replay") return this.#waitForResponse();
    if (isRampError(start)) return (await isReplay()) ? this.#waitForResponse() : start;
    const begun = await this.#begin(start);
    if (begun === "claimed") return this.#waitForResponse();
    if (begun instanceof Rollback) return begun.value;
    if (begun !== null) return begun;
    await failpoint("request.recorded");
    return this.#finish(start.resourceId);
  }

  async #begin(start: PreparedOperation): Promise<RampResponse | null | Rollback<RampError> | "claimed"> {
    try {
      return await beginning(
        this.#ramp,
        this.#caller,
        start,
      )(async (tx) => {
        const begun = await begin(tx, this.#caller, start, () => this.#claim(tx, start.resourceId));
        if (begun !== null && !(begun instanceof Rollback)) await this.#store(tx, begun);
        return begun;
      });
    } catch (error) {
      if (error instanceof PreconditionFailed && !(error instanceof Unauthorized)) return "claimed";
      return refusalOf(error);
    }
  }

  /** Waits for the response of the request that has the claim. Without a claim (it was rolled back or has expired) the client must retry. */
  async #waitForResponse(): Promise<RampAnswer> {
    const deadline = performance.now() + DUPLICATE_WAIT_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const claim = await this.#readClaim();
      if (claim === "none") return IN_PROGRESS;
      if (typeof claim !== "string") return claim;
      const taken = claim === "abandoned" ? await this.#takeOver() : null;
      if (taken) return taken;
      if (performance.now() >= deadline) return IN_PROGRESS;
      await sleep(pause);
    }
  }

  async #readClaim(): Promise<ClaimState> {
    const claim = await this.#statements.row<Claim>(
      `SELECT fingerprint, owned_until <= now() AS "isAbandoned", response_status AS status, response_body AS sealed
       FROM ramp.idempotency_claims WHERE ${OF_PROJECT} AND key = $1 AND expires_at > now()`,
      [this.#key.key],
    );
    if (claim === null) return "none";
    if (!claim.fingerprint.equals(this.#key.fingerprint)) return rampError("IDEMPOTENCY_KEY_REUSED");
    const { status, sealed } = claim;
    if (status === null || sealed === null) return claim.isAbandoned ? "abandoned" : "in progress";
    const body = this.#ramp.vault.open(this.#purpose, sealed);
    return { status, body, headers: { "X-Idempotency-Replayed": "true" } };
  }

  /** Takes an abandoned claim over; null when another request did. */
  async #takeOver(): Promise<RampAnswer | null> {
    const taken = await this.#statements.row<{ resourceId: string }>(
      `UPDATE ramp.idempotency_claims SET owner = $2, owned_until = now() + ${TAKE_OVER}
       WHERE ${OF_PROJECT} AND key = $1 AND response_status IS NULL AND owned_until <= now() AND expires_at > now()
       RETURNING resource_id AS "resourceId"`,
      [this.#key.key, this.#owner],
    );
    return taken && this.#finish(taken.resourceId);
  }

  async #finish(resourceId: string): Promise<RampAnswer> {
    const stored = new Map<RampResponse, Promise<boolean>>();
    try {
      const response = await finished(this.#work)(resourceId, (tx, last) => {
        // The commit leaves with it, and fails when it fails.
        const storing = this.#store(tx, last);
        storing.catch(() => undefined);
        stored.set(last, storing);
        return Promise.resolve(last);
      });
      await failpoint("response.stored");
      // If another request has taken the claim over, its response is the only one.
      return (await stored.get(response)) === true ? response : await this.#waitForResponse();
    } catch (error) {
      await this.#abandon();
      throw error;
    }
  }

  /** Claims the key with what the request is about to create; fails the transaction when the key is claimed already. */
  #claim(tx: ProjectTransaction, resourceId: string): void {
    tx.requireRow(
      `INSERT INTO ramp.idempotency_claims AS c (key, fingerprint, resource_id, owner, owned_until, expires_at)
       VALUES ($1, $2, $3, $4, now() + ${TAKE_OVER}, now() + ${LIFETIME})
       ON CONFLICT (project_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, resource_id = excluded.resource_id,
         owner = excluded.owner, owned_until = excluded.owned_until, expires_at = excluded.expires_at,
         response_status = NULL, response_body = NULL
       WHERE c.expires_at <= now()
       RETURNING key`,
      [this.#key.key, this.#key.fingerprint, resourceId, this.#owner],
    );
  }

  /** Stores the response; false when the claim is no longer this request's. */
  #store(tx: ProjectTransaction, { status, body }: RampResponse): Promise<boolean> {
    const text = `UPDATE ramp.idempotency_claims SET response_status = $3, response_body = $4
       WHERE ${OF_PROJECT} AND key = $1 AND owner = $2 AND response_status IS NULL RETURNING key`;
    const sealed = this.#ramp.vault.seal(this.#purpose, body);
    return tx.ahead.row(text, [this.#key.key, this.#owner, status, sealed]).then((stored) => stored !== null);
  }

  /** Releases the claim, so that a repeated request continues at once; else it is taken over once it has expired. */
  async #abandon(): Promise<void> {
    const release = `UPDATE ramp.idempotency_claims SET owned_until = now()
      WHERE ${OF_PROJECT} AND key = $1 AND owner = $2 AND response_status IS NULL`;
    await this.#statements.rows(release, [this.#key.key, this.#owner]).catch(() => undefined);
  }

  get #statements() {
    return this.#ramp.database.of(this.#caller.projectId);
  }

  /** The purpose under which the response is sealed: stored responses open with this text only. */
  get #purpose() {
    return `answer:${this.#caller.projectId}:${this.#key.key}` as const;
  }
}

/** How long a stored response is replayed (runtime/ramp/docs/limits.md). */
const LIFETIME = "interval '24 h'";

/** The owner of a claim without a response counts as crashed after this (runtime/ramp/docs/limits.md). */
const TAKE_OVER = "interval '90 s'";

/** The key of a request, and what it was sent with. */
export interface IdempotencyKey {
  readonly key: string;
  /** SHA-256 over method, path, customer and the body as it was sent. */
  readonly fingerprint: Buffer;
}

/** A stored claim of a key; without a response until the request is done. */
interface Claim {
  readonly fingerprint: Buffer;
  readonly isAbandoned: boolean;
  readonly status: number | null;
  readonly sealed: Buffer | null;
}
