-- Up Migration

-- Figures of an organization that go before those of its plan; null: the plan's.
ALTER TABLE routewright_keys.organizations
  -- Stays when the id changes: what was used is counted by it.
  ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0),
  ADD COLUMN month_requests bigint CHECK (month_requests > 0),
  ADD COLUMN month_rows bigint CHECK (month_rows > 0),
  ADD COLUMN month_bytes bigint CHECK (month_bytes > 0),
  ADD COLUMN max_keys integer CHECK (max_keys > 0),
  ADD COLUMN max_members integer CHECK (max_members > 0);

CREATE TRIGGER touch_keys_of_figures
  AFTER UPDATE OF requests_per_minute, month_requests, month_rows, month_bytes ON routewright_keys.organizations
  FOR EACH ROW EXECUTE FUNCTION routewright_keys.touch_keys();
