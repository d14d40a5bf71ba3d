-- Up Migration

-- One process at a time talks to the provider about an intent: it holds a lease, which expires if the process crashes.
ALTER TABLE ramp.intents RENAME COLUMN attend_at TO next_poll_at;
ALTER TABLE ramp.intents RENAME COLUMN attended_by TO lease_owner;
ALTER TABLE ramp.intents RENAME COLUMN attended_until TO lease_expires_at;
ALTER TABLE ramp.intents RENAME COLUMN setbacks TO failed_attempts;

ALTER FUNCTION ramp.insist(boolean) RENAME TO require_row;
