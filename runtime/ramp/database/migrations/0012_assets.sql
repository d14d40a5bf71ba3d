-- Up Migration

-- What an account on the chain needs beside its address, such as a memo or a tag: {field, pattern, required}.
ALTER TABLE ramp.blockchains ADD COLUMN memo jsonb;
-- Where the decimals come from: those of the operator's file are not changed by the defaults (database/assets.ts).
ALTER TABLE ramp.currencies ADD COLUMN is_operators boolean NOT NULL DEFAULT false, ADD COLUMN source text;
