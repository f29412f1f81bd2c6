-- Adds two histograms: objects that map a bucket number to a count.
CREATE FUNCTION add_buckets(one jsonb, other jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT coalesce(jsonb_object_agg(bucket, number), '{}') FROM (
    SELECT bucket, sum(number::bigint) AS number
    FROM (SELECT * FROM jsonb_each_text(one) UNION ALL SELECT * FROM jsonb_each_text(other)) AS both_of_them (bucket, number)
    GROUP BY bucket
  ) AS sums
$$;

CREATE TABLE deployment_minutes (
  deployment_id      uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  minute             timestamptz NOT NULL,
  requests           bigint NOT NULL,
  errors             bigint NOT NULL,
  failed_by_status   jsonb NOT NULL,
  caller_left        bigint NOT NULL,
  retries            bigint NOT NULL,
  input_tokens       bigint NOT NULL,
  output_tokens      bigint NOT NULL,
  in_flight_seconds  double precision NOT NULL DEFAULT 0,
  waiting_seconds    double precision NOT NULL DEFAULT 0,
  first_byte_buckets jsonb NOT NULL,
  duration_buckets   jsonb NOT NULL,
  PRIMARY KEY (deployment_id, minute)
) WITH (fillfactor = 50);
CREATE INDEX deployment_minutes_minute_idx ON deployment_minutes (minute);
COMMENT ON TABLE deployment_minutes IS 'Request statistics per deployment and the minute in which requests ended; kept for two days and not used for billing';
COMMENT ON COLUMN deployment_minutes.failed_by_status IS 'Requests without a complete response of their model: count per HTTP status, 502 also for those that the engine cut off, 499 if the caller left before';
COMMENT ON COLUMN deployment_minutes.caller_left IS 'Requests whose caller left before the end of the response';
COMMENT ON COLUMN deployment_minutes.in_flight_seconds IS 'Seconds that requests spent at engines within the minute, summed over requests: 60 for one all the time';
COMMENT ON COLUMN deployment_minutes.waiting_seconds IS 'Seconds that requests waited in Berth within the minute, for their turn or until the deployment was awake';
COMMENT ON COLUMN deployment_minutes.duration_buckets IS 'Histogram of durations: count per logarithmic bucket';

CREATE TABLE caller_minutes (
  deployment_id   uuid NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  minute          timestamptz NOT NULL,
  user_id         bigint NOT NULL REFERENCES users (id),
  requests        bigint NOT NULL,
  input_tokens    bigint NOT NULL,
  output_tokens   bigint NOT NULL,
  waiting_buckets jsonb NOT NULL,
  PRIMARY KEY (deployment_id, minute, user_id)
) WITH (fillfactor = 50);
CREATE INDEX caller_minutes_minute_idx ON caller_minutes (minute);
COMMENT ON TABLE caller_minutes IS 'Like deployment_minutes, by caller';
COMMENT ON COLUMN caller_minutes.waiting_buckets IS 'Histogram of the time in Berth''s queue: count per logarithmic bucket';

CREATE TABLE deployment_hours (
  LIKE deployment_minutes INCLUDING DEFAULTS INCLUDING STORAGE,
  FOREIGN KEY (deployment_id) REFERENCES deployments (id) ON DELETE CASCADE
) WITH (fillfactor = 50);
ALTER TABLE deployment_hours RENAME COLUMN minute TO hour;
ALTER TABLE deployment_hours ADD PRIMARY KEY (deployment_id, hour);
CREATE INDEX deployment_hours_hour_idx ON deployment_hours (hour);
COMMENT ON TABLE deployment_hours IS 'The sums of deployment_minutes, kept for STATISTICS_RETENTION; both are written in one transaction';

CREATE TABLE caller_hours (
  LIKE caller_minutes INCLUDING DEFAULTS INCLUDING STORAGE,
  FOREIGN KEY (deployment_id) REFERENCES deployments (id) ON DELETE CASCADE,
  FOREIGN KEY (user_id) REFERENCES users (id)
) WITH (fillfactor = 50);
ALTER TABLE caller_hours RENAME COLUMN minute TO hour;
ALTER TABLE caller_hours ADD PRIMARY KEY (deployment_id, hour, user_id);
CREATE INDEX caller_hours_hour_idx ON caller_hours (hour);
COMMENT ON TABLE caller_hours IS 'Like deployment_hours, by caller';

CREATE TABLE statistics_batches (
  id          uuid PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX statistics_batches_recorded_at_idx ON statistics_batches (recorded_at);
COMMENT ON TABLE statistics_batches IS 'Batches of statistics that were written, until their process knows it, so that a retry does not count twice';
