-- Up Migration

-- Which database this is. A backup brings along another one's, by which `migrate` knows that it was restored (continue-events.ts).
CREATE TABLE ramp.database_identity (
  identity text NOT NULL
);
