CREATE TABLE benchmarks (
  deployment_id  uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  number         integer NOT NULL,
  started_by     bigint NOT NULL REFERENCES users (id),
  status         text NOT NULL CHECK (status IN ('running', 'finished', 'stopped', 'failed', 'interrupted')),
  settings       jsonb NOT NULL,
  rows           jsonb NOT NULL DEFAULT '[]',
  other_requests bigint,
  error          text,
  started_at     timestamptz NOT NULL,
  ended_at       timestamptz,
  seen_at        timestamptz NOT NULL,
  CHECK ((status = 'running') = (ended_at IS NULL)),
  PRIMARY KEY (deployment_id, number)
);
CREATE UNIQUE INDEX benchmarks_running_idx ON benchmarks (deployment_id) WHERE ended_at IS NULL;
CREATE INDEX benchmarks_started_by_idx ON benchmarks (started_by);
COMMENT ON TABLE benchmarks IS 'What a running deployment was measured to do; the newest 20 of each deployment are kept';
COMMENT ON COLUMN benchmarks.seen_at IS 'When its process last wrote: one that is silent for 30 s has ended';
COMMENT ON COLUMN benchmarks.other_requests IS 'Requests of others to the deployment meanwhile; null while unknown';
