ALTER TABLE usage_anomalies ADD COLUMN deployment_id uuid;
COMMENT ON COLUMN usage_anomalies.deployment_id IS 'The deployment that it is about, where it is about one';
