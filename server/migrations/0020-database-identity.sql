CREATE TABLE database_identities (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  identity  text NOT NULL
);
COMMENT ON TABLE database_identities IS 'One row: the database in which this installation runs. It differs in a copy that was restored elsewhere.';
COMMENT ON COLUMN database_identities.identity IS 'PostgreSQL''s system identifier, which a standby shares with its primary, and the oid of the database';
