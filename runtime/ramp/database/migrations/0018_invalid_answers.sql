-- A provider's answer about one order that does not match the protocol holds that order, under attention.
ALTER TABLE ramp.intents DROP CONSTRAINT intents_attention_check, ADD CONSTRAINT intents_attention_check CHECK (
  attention - ARRAY['AMOUNT_MISMATCH', 'FEE_MISMATCH', 'RECEIPT_CHANGED', 'REFUND_MISMATCH', 'CHARGEBACK', 'LATE_PAYMENT',
    'RECEIPT_MISSING', 'REFUND_REFUSED', 'INVALID_INSTRUCTIONS', 'CONTRADICTION', 'REFERENCE_CHANGED', 'UNKNOWN_ORDER',
    'INVALID_ANSWER', 'PROVIDER_FAILS'] = '{}') NOT VALID;
