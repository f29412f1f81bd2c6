CREATE TABLE model_uploads (
  id              uuid PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  file_name       text NOT NULL,
  bytes           bigint NOT NULL CHECK (bytes > 0),
  received        bigint NOT NULL DEFAULT 0 CHECK (received BETWEEN 0 AND bytes),
  status          text NOT NULL DEFAULT 'receiving' CHECK (status IN ('receiving', 'complete', 'used')),
  announced_hash  text,
  sha256          text,
  model_id        text REFERENCES deployable_models (id),
  folder          uuid,
  writer          uuid,
  leased_until    timestamptz,
  created_at      timestamptz NOT NULL,
  expires_at      timestamptz NOT NULL,
  CHECK (status = 'receiving' OR sha256 IS NOT NULL),
  CHECK ((status = 'used') = (model_id IS NOT NULL))
);
CREATE INDEX model_uploads_organization_idx ON model_uploads (organization_id);
CREATE INDEX model_uploads_sha256_idx ON model_uploads (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX model_uploads_model_idx ON model_uploads (model_id) WHERE model_id IS NOT NULL;
COMMENT ON TABLE model_uploads IS 'Files of models that people upload. The bytes are in DATA_DIR/models/uploads until they are complete, then once per content in DATA_DIR/models or in the store of MODEL_STORE_URL.';
COMMENT ON COLUMN model_uploads.received IS 'Bytes that are safely on the disk, from the start of the file';
COMMENT ON COLUMN model_uploads.announced_hash IS 'SHA-256 of the whole file that the client announced, in hexadecimal; null for none';
COMMENT ON COLUMN model_uploads.sha256 IS 'SHA-256 of the content in hexadecimal, which names the file; set before the file gets that name';
COMMENT ON COLUMN model_uploads.folder IS 'The folder DATA_DIR/models that has the bytes until they are complete, by its file folder-id; null without MODEL_STORE_URL';
COMMENT ON COLUMN model_uploads.writer IS 'The request that may write to the file until leased_until';
COMMENT ON COLUMN model_uploads.expires_at IS 'When the upload is removed unless it has become a model';
