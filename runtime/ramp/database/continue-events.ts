import type pg from "pg";

/** How events go on in a database that was restored. */
export interface RestoreOptions {
  /** A sequence number that is not below any that was sent; null: all were sent before now. */
  readonly eventsAfter?: bigint | null | undefined;
  /** This machine's time, in milliseconds since 1970. */
  readonly machineTime?: () => number;
}

/** Clocks that differ by more cannot say which events were sent before now. */
const TOLERANCE_MS = 60_000;

/**
 * Sequence numbers of events are the time in microseconds (webhooks/events.ts). A database that was restored does not know which were sent after
 * its backup: they were before now, which only clocks tell. Where these contradict each other or the backup, the operator has to tell.
 * Called by each migration; changes nothing in a database that is the one of before.
 */
export async function continueEvents(client: pg.Client, options: RestoreOptions): Promise<void> {
  const { eventsAfter = null, machineTime = Date.now } = options;
  const identity = await identityOf(client);
  await client.query("BEGIN; SET LOCAL ramp.operator = 'on'");
  try {
    const found = await client.query<Restored>(RESTORED);
    const [restored] = found.rows;
    if (restored === undefined) throw new Error("The database gave no time.");
    if (restored.identity !== identity || eventsAfter !== null) {
      const after = eventsAfter ?? timeOf(restored, machineTime());
      await client.query(GO_ON, [String(after)]);
      await client.query("DELETE FROM ramp.database_identity");
      await client.query("INSERT INTO ramp.database_identity (identity) VALUES ($1)", [identity]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

interface Restored {
  /** Null: recorded by no version yet. */
  readonly identity: string | null;
  /** Of the database's clock, and of its last event, in microseconds since 1970. */
  readonly now: string;
  readonly last: string | null;
}

const MICROSECONDS = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint::text`;
const RESTORED = `SELECT (SELECT identity FROM ramp.database_identity) AS identity, ${MICROSECONDS("now()")} AS now,
  ${MICROSECONDS("(SELECT max(changed_at) FROM ramp.change_times)")} AS last`;

/**
 * After a clock that went back numbers count on by microseconds, which leaves less than a minute's behind: as many are left out. Projects without
 * an event can have sent some after the backup.
 */
const GO_ON = `INSERT INTO ramp.change_times AS c (project_id, changed_at)
  SELECT id, 'epoch'::timestamptz + $1::bigint * interval '1 microsecond' FROM ramp.projects
  ON CONFLICT (project_id) DO UPDATE SET changed_at =
    CASE WHEN c.changed_at < excluded.changed_at THEN excluded.changed_at ELSE c.changed_at + interval '1 minute' END`;

/** A restore makes other tables, another database, another cluster, or another timeline of the same one. */
const TABLE =
  "current_database(), (SELECT oid FROM pg_database WHERE datname = current_database()), 'ramp.change_times'::regclass::oid";
const CLUSTER =
  "(SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8)";

/** Some managed databases do not say which cluster they are. */
async function identityOf(client: pg.Client): Promise<string> {
  const read = async (parts: string): Promise<string> => {
    const found = await client.query<{ identity: string }>(`SELECT concat_ws('/', ${parts}) AS identity`);
    return found.rows[0]?.identity ?? "";
  };
  return read(`${TABLE}, ${CLUSTER}`).catch(() => read(TABLE));
}

/** The later of both clocks, in microseconds, where they agree and the backup is older. */
function timeOf({ identity, now, last }: Restored, machine: number): bigint {
  const database = millisecondsOf(now);
  const isBehind = last !== null && BigInt(last) > BigInt(now);
  if (identity === null) return BigInt(now);
  if (!isBehind && Math.abs(database - machine) <= TOLERANCE_MS)
    return BigInt(Math.max(database, machine) + 1) * 1_000n;
  const times = [
    `the database's clock ${isoOf(database)}`,
    `this machine's clock ${isoOf(machine)}`,
    ...(last === null ? [] : [`the last event of the backup ${isoOf(millisecondsOf(last))}`]),
  ];
  throw new Error(
    `The database was restored, and it is not clear which time it is: ${times.join(", ")}. New events could get a sequence number that was sent before. Set the clocks right, or run \`routewright ramp migrate --events-after <sequence>\` with the highest \`sequence\` that a project has received, or with the time at which the servers of before were stopped.`,
  );
}

const millisecondsOf = (microseconds: string): number => Number(BigInt(microseconds) / 1_000n);
const isoOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
