/**
 * Who uses the server is written down in one place that forgets nobody and survives no crash: advisory locks of the
 * server itself, in its database `postgres`. Every process that uses it holds USERS shared; who gets it alone may shut
 * the server down. A process that dies, however it dies, lets go of its lock.
 */
const LOCK_CLASS = 0x7277;
const USERS = `${LOCK_CLASS}, 1`;
const WATCH = `${LOCK_CLASS}, 2`;

/** Waits while somebody is about to shut the server down; then the session ends, and with it the statement. */
export const JOIN = `SELECT pg_advisory_lock_shared(${USERS})`;

/** Two statements: of two processes that leave at the same time, the second must not see the first's lock. */
export const LEAVE = `SELECT pg_advisory_unlock_shared(${USERS})`;
export const AM_I_LAST = `SELECT pg_try_advisory_lock(${USERS}) AS last`;

/** So long may a process that crashed take to come back and find its server warm. */
const GRACE_SECONDS = 5;

/**
 * Shuts the server down when the last process that used it is gone without having done so, as after `kill -9`. It runs
 * in the server, whose session goes on without its client as long as it doesn't try to talk to it. One at a time; it
 * commits each second, so that it holds no snapshot that would keep vacuum from its work.
 */
export const WATCH_OVER = `
DO $$
DECLARE
  idle integer := 0;
BEGIN
  IF NOT pg_try_advisory_lock(${WATCH}) THEN RETURN; END IF;
  LOOP
    PERFORM pg_sleep(1);
    IF EXISTS (
      SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
      WHERE l.locktype = 'advisory' AND (l.classid, l.objid) = (${USERS}) AND l.mode = 'ShareLock'
    ) THEN
      idle := 0;
    ELSE
      idle := idle + 1;
    END IF;
    IF idle >= ${GRACE_SECONDS} AND pg_try_advisory_lock(${USERS}) THEN
      COPY (SELECT) TO PROGRAM 'read pid < postmaster.pid && kill -INT $pid';
      RETURN;
    END IF;
    COMMIT;
  END LOOP;
END $$`;
