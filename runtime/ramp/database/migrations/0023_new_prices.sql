-- Up Migration

-- How much less the destination may receive by a renewed price, in percent, and of what: the amount of the price that the intent was made at,
-- once another one has replaced it.
ALTER TABLE ramp.intents
  ADD COLUMN max_slippage text,
  ADD COLUMN accepted_amount text,
  -- A price that is worse, while it waits to be accepted.
  ADD COLUMN new_price jsonb;
-- An order that was refused for its price is sent again with another one, under another idempotency key.
ALTER TABLE ramp.transactions ADD COLUMN order_attempt integer NOT NULL DEFAULT 1;
