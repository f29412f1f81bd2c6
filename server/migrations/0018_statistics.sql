-- Adds histograms up: objects whose keys are the numbers of buckets and whose values are counts.
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
  input_tokens       bigint NOT NULL,
  output_tokens      bigint NOT NULL,
  first_byte_buckets jsonb NOT NULL,
  duration_buckets   jsonb NOT NULL,
  PRIMARY KEY (deployment_id, minute)
) WITH (fillfactor = 50);
CREATE INDEX deployment_minutes_minute_idx ON deployment_minutes (minute);
COMMENT ON TABLE deployment_minutes IS 'How requests to a deployment went, by the minute in which they ended; kept for two days, and nothing is billed by it';
COMMENT ON COLUMN deployment_minutes.duration_buckets IS 'How many requests took how long: counts by the number of a logarithmic bucket';
