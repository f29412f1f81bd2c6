CREATE TABLE deployments (
  id                     uuid PRIMARY KEY,
  user_id                bigint NOT NULL REFERENCES users (id),
  organization_id        bigint NOT NULL REFERENCES organizations (id),
  model_name             text NOT NULL,
  model_format           text NOT NULL,
  model_size_in_billions double precision NOT NULL,
  quantization           text NOT NULL,
  inference_model_uid    text NOT NULL UNIQUE,
  variant                jsonb NOT NULL,
  status                 text NOT NULL CHECK (status IN
    ('requested', 'provisioning', 'deploying', 'running', 'failed', 'terminating', 'terminated')),
  status_message         text,
  selected_instance_type text,
  selection_reason       text,
  offers_refused         text[] NOT NULL DEFAULT '{}',
  gpu_count              integer,
  memory_bytes           bigint,
  context_tokens         integer,
  parallel_sequences     integer,
  region                 text,
  cluster_id             text,
  instance_id            text,
  gpu_allocation_id      text,
  instance_started_at    timestamptz,
  instance_released_at   timestamptz,
  ran_at                 timestamptz,
  engine_url             text,
  engine_restarts        integer NOT NULL DEFAULT 0,
  engine_restarted_at    timestamptz,
  failure_stage          text,
  failure_reason         text,
  created_at             timestamptz NOT NULL,
  updated_at             timestamptz NOT NULL,
  status_changed_at      timestamptz NOT NULL,
  terminated_at          timestamptz,
  reconcile_at           timestamptz,
  leased_by              text,
  leased_until           timestamptz,
  lease_number           bigint NOT NULL DEFAULT 0,
  CHECK ((failure_stage IS NULL) = (failure_reason IS NULL)),
  CHECK ((status = 'terminated') = (terminated_at IS NOT NULL))
);
CREATE INDEX deployments_user_idx ON deployments (user_id, created_at DESC, id DESC);
CREATE INDEX deployments_organization_idx ON deployments (organization_id, status);
CREATE INDEX deployments_due_idx ON deployments (reconcile_at) WHERE reconcile_at IS NOT NULL;
COMMENT ON COLUMN deployments.variant IS 'What is run, copied from the catalog at creation, so that a later catalog cannot change it';
COMMENT ON COLUMN deployments.ran_at IS 'When it first served; a deployment that never did is not billed';
COMMENT ON COLUMN deployments.engine_url IS 'Where requests go; null while no engine answers';
COMMENT ON COLUMN deployments.reconcile_at IS 'When a worker must look at it next; null when nothing is left to do';
COMMENT ON COLUMN deployments.leased_until IS 'Until then only leased_by may reconcile it';
COMMENT ON COLUMN deployments.lease_number IS 'Grows with each lease: a worker whose number is old can write nothing';

CREATE TABLE deployment_events (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  deployment_id uuid NOT NULL REFERENCES deployments (id),
  at            timestamptz NOT NULL,
  status        text NOT NULL,
  stage         text,
  message       text NOT NULL
);
CREATE INDEX deployment_events_deployment_idx ON deployment_events (deployment_id, id);
