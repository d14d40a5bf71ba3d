-- Up Migration

-- Why the provider refused an order, recorded before the order is withdrawn; null once it is.
ALTER TABLE ramp.transactions ADD COLUMN refusal_reason text;
