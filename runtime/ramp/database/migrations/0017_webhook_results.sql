-- What the last attempt at each receiver found, so that who reads a webhook looks up no name.
ALTER TABLE ramp.webhook_endpoints ADD COLUMN last_result text, ADD COLUMN last_result_at timestamptz;
