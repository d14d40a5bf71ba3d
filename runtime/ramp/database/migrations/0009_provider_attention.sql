-- Up Migration

-- What is wrong with the offers of a connection, until the next one that is right (providers/quotes.ts).
ALTER TABLE ramp.provider_connections ADD COLUMN attention text;
