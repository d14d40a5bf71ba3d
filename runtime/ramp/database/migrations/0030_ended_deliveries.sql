-- Up Migration

-- Housekeeping finds deliveries that have ended by their age (start-ramp.ts): without it each server read the whole table each minute.
CREATE INDEX ON ramp.webhook_deliveries (updated_at) WHERE status <> 'PENDING';
