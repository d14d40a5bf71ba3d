import os from "node:os";
import { IntervalJob } from "@routewright/runtime/internal/core/http/claim-worker.js";
import type { CoreContext } from "./context.js";
import { type ClockReading, RECORDED_JUMPS } from "../database/clock.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { OperatorTransaction } from "../database/transaction.js";

/** How often the database's clock is read. */
const READ_MS = 1_000;
/** A smaller step does no harm: a lease lasts two minutes. */
const JUMP_MS = 60_000;

/** A time within JSON, moved; what has none stays. */
const movedTime = (column: string): string =>
  `CASE WHEN ${column} ->> 'expiresAt' IS NULL THEN ${column} ELSE jsonb_set(${column}, '{expiresAt}', to_jsonb(
     to_char(((${column} ->> 'expiresAt')::timestamptz + $1) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) END`;

/**
 * What a jump moves: each deadline keeps the time that was left, so that nothing expires by it and nothing waits for it. A test lists all
 * columns of times, with why the others stay.
 */
const DEADLINES = [
  // Accounts before their intents, as a callback locks them.
  "UPDATE ramp.deposit_accounts SET next_poll_at = next_poll_at + $1 WHERE next_poll_at IS NOT NULL",
  `UPDATE ramp.intents SET expires_at = expires_at + $1, next_poll_at = next_poll_at + $1,
     lease_expires_at = lease_expires_at + $1, new_price = ${movedTime("new_price")} WHERE next_poll_at IS NOT NULL`,
  "UPDATE ramp.provider_connections SET capabilities_at = capabilities_at + $1",
  "UPDATE ramp.idempotency_claims SET expires_at = expires_at + $1, owned_until = owned_until + $1",
  "UPDATE ramp.quotes SET expires_at = expires_at + $1",
  "UPDATE ramp.webhook_secrets SET signs_until = signs_until + $1",
  `UPDATE ramp.webhook_deliveries SET attempt_at = attempt_at + $1, attempted_until = attempted_until + $1
     WHERE status = 'PENDING'`,
] as const;

/**
 * A reading between two times since the boot of this machine, in milliseconds. They go on while the machine is suspended, where the monotonic
 * clock stands still; to 10 ms on Linux, to a second elsewhere.
 */
interface WatchedReading extends ClockReading {
  readonly upBefore: number;
  readonly upAfter: number;
}

const upFor = (): number => os.uptime() * 1_000;

/**
 * Reads the database's clock each second. Where it moved on by another time than passed on this machine it has jumped:
 * the first server to see that records it and moves the deadlines. `routewright ramp doctor` shows it.
 */
export function watchClock({ database, log }: CoreContext): IntervalJob {
  let last: WatchedReading | null = null;
  let isOff = false;
  return new IntervalJob("clock failed", READ_MS, log, async () => {
    const reading = await readClock(database);
    const jump = last === null ? 0 : jumpBetween(last, reading);
    const isJump = Math.abs(jump) >= JUMP_MS;
    if (isJump && (await recordJump(database, jump, reading.recorded)))
      log.error({ seconds: Math.round(jump / 1_000) }, "database clock jumped: deadlines moved with it");
    // Read again: the jump that is recorded by now explains the difference.
    last = isJump ? await readClock(database) : reading;
    database.clock.adopt(last);
    const seconds = secondsAhead(database);
    if (seconds !== 0 && !isOff)
      log.warn({ seconds }, "clock of this server differs from the database's: only signatures go by it");
    isOff = seconds !== 0;
  }).wake();
}

/** How far this machine's clock is ahead of the database's; 0 where that does no harm. */
export function secondsAhead({ clock }: RampDatabase): number {
  const ahead = Date.now() - clock.now().getTime();
  return Math.abs(ahead) >= JUMP_MS ? Math.round(ahead / 1_000) : 0;
}

async function readClock(database: RampDatabase): Promise<WatchedReading> {
  const upBefore = upFor();
  const before = performance.now();
  const row = await database.operator.row<{ at: Date; recorded: number }>(
    `SELECT now() AS at, ${RECORDED_JUMPS} AS recorded`,
  );
  if (row === null) throw new Error("The database gave no time.");
  const after = performance.now();
  return { at: row.at.getTime(), recorded: row.recorded, before, after, upBefore, upAfter: upFor() };
}

/** By how much the database's clock moved more than the time that passed, beyond the jumps that are recorded. */
export function jumpBetween(last: WatchedReading, reading: WatchedReading): number {
  const moved = reading.at - reading.recorded - (last.at - last.recorded);
  const [least, most] = [reading.upBefore - last.upAfter, reading.upAfter - last.upBefore];
  return moved > most ? moved - most : Math.min(moved - least, 0);
}

/** Records a jump and moves the deadlines; false when another server has done it. `known`: the sum of the jumps recorded before. */
export function recordJump(database: RampDatabase, jump: number, known: number): Promise<boolean> {
  return database.asOperator(async (tx) => {
    await tx.rows("LOCK TABLE ramp.clock_jumps IN EXCLUSIVE MODE");
    const recorded =
      (await tx.row<{ recorded: number }>(`SELECT ${RECORDED_JUMPS} AS recorded`))?.recorded ?? 0;
    if (Math.abs(jump - (recorded - known)) < JUMP_MS) return false;
    const milliseconds = Math.round(jump - (recorded - known));
    tx.unlimit();
    tx.write("INSERT INTO ramp.clock_jumps (milliseconds) VALUES ($1)", [milliseconds]);
    for (const statement of DEADLINES)
      tx.write(statement.replaceAll("$1", "make_interval(secs => $1)"), [milliseconds / 1_000]);
    return true;
  });
}

/** Jumps of the last seven days. After one that went back, its time can be in the future. */
export function recentJumps(tx: OperatorTransaction) {
  return tx.rows<{ readonly at: Date; readonly seconds: number }>(
    "SELECT at, round(milliseconds / 1000.0)::int AS seconds FROM ramp.clock_jumps WHERE at > now() - interval '7 days' ORDER BY at",
  );
}
