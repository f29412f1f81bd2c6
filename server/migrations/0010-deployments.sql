CREATE TABLE deployments (
  id                     uuid PRIMARY KEY,
  user_id                bigint NOT NULL REFERENCES users (id),
  organization_id        bigint NOT NULL REFERENCES organizations (id),
  shared_with            jsonb CHECK (shared_with = '"organization"' OR jsonb_typeof(shared_with) = 'object'),
  alias                  text CHECK (alias ~ '^[A-Za-z0-9._:/-]{1,128}$'),
  alias_order            integer CHECK (alias_order > 0),
  model_name             text NOT NULL,
  model_format           text NOT NULL,
  model_size_in_billions double precision NOT NULL,
  quantization           text NOT NULL,
  inference_model_uid    text NOT NULL UNIQUE,
  variant                jsonb NOT NULL,
  model_type             text GENERATED ALWAYS AS (variant ->> 'modelType') STORED,
  variant_reason         text,
  adapters               jsonb NOT NULL DEFAULT '[]',
  engine_options         jsonb NOT NULL DEFAULT '{}',
  engine_version         text,
  served_settings        jsonb,
  desired_state                 text NOT NULL DEFAULT 'awake' CHECK (desired_state IN ('awake', 'asleep', 'ended')),
  status                 text NOT NULL CHECK (status IN
    ('requested', 'provisioning', 'deploying', 'running', 'sleeping', 'failed', 'terminating', 'terminated')),
  waiting_for            text CHECK (waiting_for IN ('instance', 'engine', 'stop', 'release', 'drain', 'runtime', 'retry')),
  status_message         text,
  progress               double precision CHECK (progress BETWEEN 0 AND 1),
  planned_price_per_hour numeric,
  planned_instance_type text,
  planned_reason text,
  min_context_tokens     integer CHECK (min_context_tokens > 0),
  min_parallel_sequences integer CHECK (min_parallel_sequences > 0),
  requested_instance_type text,
  min_instances          integer NOT NULL DEFAULT 1 CHECK (min_instances BETWEEN 1 AND 100),
  max_instances          integer NOT NULL DEFAULT 1 CHECK (max_instances BETWEEN min_instances AND 100),
  idle_minutes           integer CHECK (idle_minutes BETWEEN 1 AND 10080),
  yields                 boolean NOT NULL DEFAULT false,
  cache_scope            text NOT NULL DEFAULT 'organization' CHECK (cache_scope IN ('member', 'organization')),
  target_concurrency     integer CHECK (target_concurrency BETWEEN 1 AND 4096),
  schedules              jsonb NOT NULL DEFAULT '[]',
  woken_at               timestamptz,
  desired_instances       integer NOT NULL DEFAULT 1 CHECK (desired_instances BETWEEN 1 AND 100),
  refusal                jsonb,
  refusals               integer NOT NULL DEFAULT 0,
  refused_at             timestamptz,
  ran_at                 timestamptz,
  recovery               jsonb,
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
) WITH (
  -- The reconciler updates rows often: leave room on each page, and vacuum before many row versions gather.
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05
);
CREATE INDEX deployments_user_idx ON deployments (user_id, created_at DESC, id DESC);
-- For the list without terminated deployments, which outnumber the others over time.
CREATE INDEX deployments_unterminated_idx ON deployments (user_id, created_at DESC, id DESC) WHERE status <> 'terminated';
CREATE INDEX deployments_organization_idx ON deployments (organization_id, status);
-- For the lists of an organization: all of its deployments, and those that are shared.
CREATE INDEX deployments_organization_list_idx ON deployments (organization_id, created_at DESC, id DESC);
CREATE INDEX deployments_shared_idx ON deployments (organization_id, created_at DESC, id DESC) WHERE shared_with IS NOT NULL;
CREATE INDEX deployments_due_idx ON deployments (reconcile_at) WHERE reconcile_at IS NOT NULL;
COMMENT ON COLUMN deployments.shared_with IS
  '"organization": every member whose current organization it is may call the deployment; {"teams", "members"}: those with these ids; NULL if only its owner may';
COMMENT ON COLUMN deployments.alias IS 'A further name for requests, which several deployments may have';
COMMENT ON COLUMN deployments.alias_order IS 'Requests by the alias go to the deployments of the lowest order that can serve; those without one come last';
COMMENT ON COLUMN deployments.variant IS 'The model variant, copied from the catalog at creation so that later catalogs can''t change the deployment; JSON with a version, which stored-model.ts writes and parses';
COMMENT ON COLUMN deployments.adapters IS 'The LoRAs that the deployment serves, copied from the catalog when they were added';
COMMENT ON COLUMN deployments.engine_options IS 'Options of the engine''s command line, by name without dashes';
COMMENT ON COLUMN deployments.engine_version IS 'The only version of the engine for instances; NULL for the newest at each start';
COMMENT ON COLUMN deployments.served_settings IS 'The last {"min_context_tokens", "min_parallel_sequences", "adapters", "engine_options", "engine_version"} with which an instance served; NULL if none did';
COMMENT ON COLUMN deployments.desired_state IS 'What the deployment is to be; status says how far it is';
COMMENT ON COLUMN deployments.status IS 'Follows from desired_state, failure_reason and the instances (derive-status.ts)';
COMMENT ON COLUMN deployments.waiting_for IS
  'What the oldest instance waits for: an instance; an engine that starts; stop: a lost engine stops, and starts again at recovery.next_at; release: the instance is too small; runtime: the compute backend does not answer; retry: it returned an error. NULL when nothing is awaited.';
COMMENT ON COLUMN deployments.status_message IS
  'The sentence that a person reads while the deployment waits, if waiting_for alone does not tell. Nothing may depend on its words.';
COMMENT ON COLUMN deployments.progress IS
  'Downloaded share of the weights, from 0 to 1; set together with waiting_for, null when unknown';
COMMENT ON COLUMN deployments.planned_price_per_hour IS
  'The price of the instance type that was planned at creation, which budgets count until one is selected; NULL if it is unknown';
COMMENT ON COLUMN deployments.planned_instance_type IS 'What is shown until an instance type is selected, with planned_reason; NULL if it is unknown';
COMMENT ON COLUMN deployments.min_context_tokens IS 'The least context_tokens that the owner asks for; null for no minimum';
COMMENT ON COLUMN deployments.requested_instance_type IS 'The only instance type that the owner takes; null for any';
COMMENT ON COLUMN deployments.min_parallel_sequences IS 'The least parallel_sequences that the owner asks for; null for no minimum';
COMMENT ON COLUMN deployments.min_instances IS 'How many instances to keep while the deployment is awake';
COMMENT ON COLUMN deployments.idle_minutes IS 'The deployment falls asleep after so many minutes without a request; NULL: never by itself';
COMMENT ON COLUMN deployments.cache_scope IS 'Whose requests share the cached beginnings of prompts';
COMMENT ON COLUMN deployments.yields IS 'May be put to sleep early when another deployment needs its hardware';
COMMENT ON COLUMN deployments.target_concurrency IS 'Requests in flight per instance to aim for; NULL: a share of parallel_sequences';
COMMENT ON COLUMN deployments.schedules IS 'From each time that a cron pattern names, min_instances of the schedule takes the place of the policy''s';
COMMENT ON COLUMN deployments.woken_at IS 'When the deployment was woken last; NULL if it never slept';
COMMENT ON COLUMN deployments.desired_instances IS 'How many instances the load asks for while the deployment is awake, within its policy';
COMMENT ON COLUMN deployments.refusal IS 'Why the last instance was not started: {"code", "message"}; NULL if it was';
COMMENT ON COLUMN deployments.refusals IS 'How many further instances in a row were not started, the last one at refused_at';
COMMENT ON COLUMN deployments.ran_at IS 'When the deployment first served. A deployment that never served is not billed.';
COMMENT ON COLUMN deployments.recovery IS
  'What follows failures: {"since", "attempts", "next_at", "served_at", "cause"} (state/recovery.ts); NULL without one for ten minutes of service';
COMMENT ON COLUMN deployments.reconcile_at IS 'When the reconciler is due next; null when nothing is left to do';
COMMENT ON COLUMN deployments.leased_until IS 'Only leased_by may reconcile the deployment and change its instances until this time';
COMMENT ON COLUMN deployments.lease_number IS 'Fencing token: grows with each lease; writes under an older number are refused';

CREATE TABLE instances (
  id                  uuid PRIMARY KEY,
  deployment_id       uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  status              text NOT NULL CHECK (status IN
    ('requested', 'provisioning', 'deploying', 'running', 'draining', 'releasing', 'released')),
  waiting_for         text CHECK (waiting_for IN ('instance', 'engine', 'stop', 'release', 'drain', 'runtime', 'retry')),
  status_message      text,
  progress            double precision CHECK (progress BETWEEN 0 AND 1),
  instance_type       text,
  selection_reason    text,
  offers_refused      text[] NOT NULL DEFAULT '{}',
  gpu_count           integer,
  memory_bytes        bigint,
  context_tokens      integer,
  parallel_sequences  integer,
  adapters            jsonb NOT NULL DEFAULT '[]',
  engine_settings     jsonb,
  served_model_name   text NOT NULL,
  region              text,
  cluster_id          text,
  instance_id         text,
  gpu_allocation_id   text,
  started_at          timestamptz,
  ready_at            timestamptz,
  lost_at             timestamptz,
  unreachable_since   timestamptz,
  engine_url          text,
  engine              jsonb,
  engine_restarted_at timestamptz,
  created_at          timestamptz NOT NULL,
  updated_at          timestamptz NOT NULL,
  status_changed_at   timestamptz NOT NULL,
  due_at              timestamptz,
  hardware_asked_at   timestamptz,
  hardware_refused_at timestamptz
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX instances_deployment_idx ON instances (deployment_id, id);
-- A frequent query looks for waiting instances. There are few of them.
CREATE INDEX instances_asking_idx ON instances (instance_type, hardware_asked_at)
  WHERE hardware_asked_at IS NOT NULL AND status = 'provisioning';
CREATE INDEX instances_live_idx ON instances (deployment_id) WHERE status <> 'released';
COMMENT ON TABLE instances IS 'The engines of deployments, each on its own hardware. Only who has the lease of the deployment changes them.';
COMMENT ON COLUMN instances.instance_id IS 'The compute backend''s id of the hardware';
COMMENT ON COLUMN instances.engine_settings IS 'What the deployment asked for when the instance type was chosen, like deployments.served_settings';
COMMENT ON COLUMN instances.adapters IS 'The LoRAs that the engine has, in its order';
COMMENT ON COLUMN instances.served_model_name IS 'The engine''s name of the model, as most callers call it';
COMMENT ON COLUMN instances.started_at IS 'When the compute backend handed the hardware over; NULL before that';
COMMENT ON COLUMN instances.ready_at IS 'When the engine first answered; NULL before that';
COMMENT ON COLUMN instances.lost_at IS 'When the hardware was lost. It is not billed from then on, until the engine runs again.';
COMMENT ON COLUMN instances.unreachable_since IS
  'When the compute backend stopped to answer for this instance; NULL while it answers. If the engine turns out to be lost, its billing ends here.';
COMMENT ON COLUMN instances.engine_url IS 'The engine''s address; NULL while it is not ready';
COMMENT ON COLUMN instances.engine IS 'The engine that became ready last: {name, version}; NULL before that, and if the runtime does not name its engines';
COMMENT ON COLUMN instances.waiting_for IS
  'What the next step waits for: an instance; an engine that starts; stop: a lost engine stops, and starts again at recovery.next_at; release: hardware; runtime: the compute backend does not answer; retry: it returned an error. NULL when nothing is awaited.';
COMMENT ON COLUMN instances.status_message IS
  'The sentence that a person reads while the instance waits, if waiting_for alone does not tell. Nothing may depend on its words.';
COMMENT ON COLUMN instances.hardware_asked_at IS
  'Since when the instance waits for hardware that other deployments give up. The instances of an organization get theirs in this order.';
COMMENT ON COLUMN instances.hardware_refused_at IS
  'When the waiting instance did not fit into the free hardware; NULL: it may fit, because some was released since';
COMMENT ON COLUMN instances.due_at IS 'When the next step is due, if the deployment has several instances; NULL: with the deployment';

CREATE TABLE instance_loads (
  instance_id uuid NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  process_id  uuid NOT NULL,
  in_flight   integer NOT NULL,
  used_at     timestamptz NOT NULL,
  reported_at timestamptz NOT NULL,
  PRIMARY KEY (instance_id, process_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE instance_loads IS 'What each server process has in flight at an instance. A process reports every second while there is something.';
COMMENT ON COLUMN instance_loads.in_flight IS 'Requests at the engine, and those that wait in the process for it';
COMMENT ON COLUMN instance_loads.used_at IS 'When the instance last served a request of the process';

-- Server processes cache inference targets. These triggers invalidate the cache of the owner, and of each
-- member if the deployment is or was shared.
CREATE FUNCTION notify_deployment_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deployment_changed', coalesce(OLD.user_id, NEW.user_id)::text);
  IF coalesce(OLD.shared_with, NEW.shared_with) IS NOT NULL THEN
    PERFORM pg_notify('deployment_changed', user_id::text) FROM memberships
    WHERE organization_id = coalesce(OLD.organization_id, NEW.organization_id);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER deployments_created AFTER INSERT OR DELETE ON deployments
  FOR EACH ROW EXECUTE FUNCTION notify_deployment_changed();
CREATE TRIGGER deployments_changed AFTER UPDATE ON deployments FOR EACH ROW
  WHEN ((OLD.status, OLD.failure_reason, OLD.model_name, OLD.alias, OLD.alias_order, OLD.shared_with, OLD.cache_scope, OLD.adapters)
    IS DISTINCT FROM (NEW.status, NEW.failure_reason, NEW.model_name, NEW.alias, NEW.alias_order, NEW.shared_with, NEW.cache_scope, NEW.adapters))
  EXECUTE FUNCTION notify_deployment_changed();

CREATE FUNCTION notify_instance_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  deployment deployments%ROWTYPE;
BEGIN
  SELECT * INTO deployment FROM deployments WHERE id = NEW.deployment_id;
  PERFORM pg_notify('deployment_changed', deployment.user_id::text);
  IF deployment.shared_with IS NOT NULL THEN
    PERFORM pg_notify('deployment_changed', user_id::text) FROM memberships
    WHERE organization_id = deployment.organization_id;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER instances_changed AFTER UPDATE ON instances FOR EACH ROW
  WHEN ((OLD.status, OLD.engine_url) IS DISTINCT FROM (NEW.status, NEW.engine_url)
    AND (OLD.engine_url IS NOT NULL OR NEW.engine_url IS NOT NULL))
  EXECUTE FUNCTION notify_instance_changed();

CREATE TABLE deployment_events (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  deployment_id uuid NOT NULL REFERENCES deployments (id),
  at            timestamptz NOT NULL,
  status        text NOT NULL,
  stage         text,
  message       text NOT NULL,
  instance_type text,
  transition    jsonb,
  change        jsonb
);
CREATE INDEX deployment_events_transition_idx ON deployment_events (deployment_id, id) WHERE transition IS NOT NULL;
CREATE INDEX deployment_events_deployment_idx ON deployment_events (deployment_id, id);
COMMENT ON COLUMN deployment_events.message IS 'A sentence; empty if transition says it all';
COMMENT ON COLUMN deployment_events.transition IS 'The start, wake or sleep that begins or ends with the event (event-transition.ts); NULL for others';
COMMENT ON COLUMN deployment_events.change IS 'The settings before and after a change by a person (settings-change.ts); NULL for others';
COMMENT ON COLUMN deployment_events.instance_type IS 'The instance type that was chosen; NULL in events that report anything else';

CREATE TABLE failure_logs (
  instance_id uuid PRIMARY KEY REFERENCES instances (id) ON DELETE CASCADE,
  lines       json NOT NULL
);
COMMENT ON TABLE failure_logs IS 'The last log lines of engines whose instance was released, after a failure or a termination. Deleted 30 days after the deployment was terminated.';
COMMENT ON COLUMN failure_logs.lines IS '[{at, line}], oldest first. json, because jsonb refuses some characters that an engine may write.';

-- Every page of the deployment list shows the total. Counting 100,000 rows takes longer than reading the
-- page.
CREATE TABLE deployment_counts (
  user_id         bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  total           bigint NOT NULL,
  PRIMARY KEY (user_id, organization_id)
);
COMMENT ON TABLE deployment_counts IS 'Number of deployments per user and organization, maintained by triggers on deployments';

CREATE INDEX deployment_counts_organization_idx ON deployment_counts (organization_id);

CREATE FUNCTION count_added_deployments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deployment_counts AS counts (user_id, organization_id, total)
  SELECT user_id, organization_id, count(*) FROM added GROUP BY user_id, organization_id ORDER BY user_id, organization_id
  ON CONFLICT (user_id, organization_id) DO UPDATE SET total = counts.total + excluded.total;
  RETURN NULL;
END
$$;
CREATE FUNCTION count_removed_deployments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE deployment_counts AS counts SET total = counts.total - gone.number
  FROM (SELECT user_id, organization_id, count(*) AS number FROM removed GROUP BY user_id, organization_id) AS gone
  WHERE (counts.user_id, counts.organization_id) = (gone.user_id, gone.organization_id);
  RETURN NULL;
END
$$;
CREATE TRIGGER deployments_counted AFTER INSERT ON deployments
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_deployments();
CREATE TRIGGER deployments_uncounted AFTER DELETE ON deployments
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_deployments();

-- A transfer changes the owner: both users' inference targets change, and their totals.
CREATE FUNCTION transfer_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deployment_changed', OLD.user_id::text), pg_notify('deployment_changed', NEW.user_id::text);
  UPDATE deployment_counts SET total = total - 1
  WHERE user_id = OLD.user_id AND organization_id = OLD.organization_id;
  INSERT INTO deployment_counts AS counts (user_id, organization_id, total) VALUES (NEW.user_id, NEW.organization_id, 1)
  ON CONFLICT (user_id, organization_id) DO UPDATE SET total = counts.total + 1;
  RETURN NULL;
END
$$;
CREATE TRIGGER deployments_transferred AFTER UPDATE ON deployments FOR EACH ROW
  WHEN (OLD.user_id <> NEW.user_id) EXECUTE FUNCTION transfer_deployment();
