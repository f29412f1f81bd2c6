CREATE TABLE deployable_models (
  id               text PRIMARY KEY,
  organization_id  bigint REFERENCES organizations (id),
  model_name       text NOT NULL,
  model_type       text NOT NULL CHECK (model_type IN ('LLM', 'embedding', 'rerank')),
  provider         text NOT NULL,
  enabled          boolean NOT NULL,
  operator_enabled boolean,
  sort_order       integer NOT NULL,
  entry            jsonb NOT NULL,
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX deployable_models_name_key ON deployable_models (coalesce(organization_id, 0), model_name) WHERE enabled;
CREATE INDEX deployable_models_order_idx ON deployable_models (sort_order, model_name);
COMMENT ON TABLE deployable_models IS 'The models of the catalog file as of the last start, and those of organizations. Models removed from the file are disabled, not deleted.';
COMMENT ON COLUMN deployable_models.organization_id IS 'The organization that owns the model and alone sees it; null for the models of the installation, which all see';
COMMENT ON COLUMN deployable_models.operator_enabled IS 'Whether an operator has enabled or disabled the model with npm run admin; null for what the catalog file says';
COMMENT ON COLUMN deployable_models.entry IS 'The model as JSON with a version, which stored-model.ts writes and parses';
