-- Up Migration

-- A customer's access token carries how often the customer's tokens had been revoked when it was issued: times would compare the
-- clocks of a server and the database, and a fresh token was refused when they differed by a millisecond.
-- A row is kept: the next revocation counts on.
ALTER TABLE ramp.token_revocations ADD COLUMN generation integer NOT NULL DEFAULT 1;
CREATE INDEX ON ramp.token_revocations (revoked_at);
