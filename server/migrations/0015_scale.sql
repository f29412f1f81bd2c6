-- How many deployments each user has ever asked for: a list says so on every page, and counting a hundred thousand rows takes longer
-- than reading the page.
CREATE TABLE deployment_counts (
  user_id bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  total   bigint NOT NULL
);
COMMENT ON TABLE deployment_counts IS 'Kept by triggers of deployments';

CREATE FUNCTION count_added_deployments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deployment_counts AS counts (user_id, total)
  SELECT user_id, count(*) FROM added GROUP BY user_id ORDER BY user_id
  ON CONFLICT (user_id) DO UPDATE SET total = counts.total + excluded.total;
  RETURN NULL;
END
$$;
CREATE FUNCTION count_removed_deployments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE deployment_counts AS counts SET total = counts.total - gone.number
  FROM (SELECT user_id, count(*) AS number FROM removed GROUP BY user_id) AS gone
  WHERE counts.user_id = gone.user_id;
  RETURN NULL;
END
$$;
-- Nobody may insert between the count and the triggers.
LOCK TABLE deployments IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO deployment_counts (user_id, total) SELECT user_id, count(*) FROM deployments GROUP BY user_id;
CREATE TRIGGER deployments_counted AFTER INSERT ON deployments
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_deployments();
CREATE TRIGGER deployments_uncounted AFTER DELETE ON deployments
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_deployments();

-- Rows are updated at every look: room on their pages, and a vacuum before many versions gather.
ALTER TABLE deployments SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
