-- Up Migration

-- Set while a lease is held: the provider is polled again as soon as the lease ends.
ALTER TABLE ramp.intents ADD COLUMN poll_requested boolean NOT NULL DEFAULT false;
