-- Up Migration

-- Until when the provider waits for the payment: the intent does not expire before (intents/apply-reply.ts).
ALTER TABLE ramp.transactions ADD COLUMN payment_due_at timestamptz;
