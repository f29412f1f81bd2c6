CREATE TABLE secret_key_fingerprints (
  only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  fingerprint bytea NOT NULL
);
COMMENT ON TABLE secret_key_fingerprints IS 'One row: identifies the SECRET_KEY that the keys of all engines are derived from';
COMMENT ON COLUMN secret_key_fingerprints.fingerprint IS 'HMAC-SHA-256 with the SECRET_KEY';
