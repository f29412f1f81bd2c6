CREATE TABLE idempotency_keys (
  user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  key          text NOT NULL,
  request_hash bytea NOT NULL,
  attempt      uuid NOT NULL,
  attempted_at timestamptz NOT NULL,
  response     bytea,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
COMMENT ON TABLE idempotency_keys IS 'What requests with an Idempotency-Key answered, for 24 hours';
COMMENT ON COLUMN idempotency_keys.request_hash IS 'HMAC of the request under a key derived from the SECRET_KEY';
COMMENT ON COLUMN idempotency_keys.attempt IS 'Only the latest attempt may commit what the request creates';
COMMENT ON COLUMN idempotency_keys.attempted_at IS 'Renewed while the attempt runs; another may begin 15 seconds later';
COMMENT ON COLUMN idempotency_keys.response IS 'Encrypted under a key derived from the SECRET_KEY; null while the request runs';
