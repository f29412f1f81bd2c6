CREATE TABLE token_batches (
  id          uuid PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX token_batches_recorded_idx ON token_batches (recorded_at);
COMMENT ON TABLE token_batches IS 'Files of the token journals whose tokens are in token_usage, so that none is counted twice';
