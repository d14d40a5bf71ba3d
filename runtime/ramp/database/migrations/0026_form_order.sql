-- Up Migration

-- The hosted page draws the fields of a form in the provider's order, which jsonb does not keep.
ALTER TABLE ramp.requirements ALTER COLUMN form TYPE json USING form::json;
