-- Up Migration

-- Housekeeping finds deliveries that have ended by their age (start-ramp.ts): without it each server read the whole table each minute.
-- While it is built, all that writes events waits. On a large table the operator builds it first, CONCURRENTLY, under this name (docs/changelog.md).
CREATE INDEX IF NOT EXISTS webhook_deliveries_ended ON ramp.webhook_deliveries (updated_at) WHERE status <> 'PENDING';
