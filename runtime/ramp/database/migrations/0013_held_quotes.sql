-- Up Migration

-- The customer who requested a quote with its token: nobody else's intent names it. Null: the project requested it, for any of its customers.
ALTER TABLE ramp.quotes ADD COLUMN customer_id text,
  ADD FOREIGN KEY (project_id, customer_id) REFERENCES ramp.customers (project_id, id);
CREATE INDEX ON ramp.quotes (project_id, customer_id) WHERE customer_id IS NOT NULL;
