-- Up Migration

-- Jumps of the database's clock that a server saw, and moved the deadlines for (clock-jumps.ts).
CREATE TABLE ramp.clock_jumps (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT now(),
  milliseconds bigint NOT NULL
);
