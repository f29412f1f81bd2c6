ALTER TABLE instances ADD COLUMN runtime text;
COMMENT ON COLUMN instances.runtime IS
  'Which runtime of RUNTIME has the instance; null before its hardware is chosen';

-- Runtimes may offer instance types of the same name.
ALTER TABLE instances DROP COLUMN offers_refused;
ALTER TABLE instances ADD COLUMN offers_refused jsonb NOT NULL DEFAULT '[]';
COMMENT ON COLUMN instances.offers_refused IS 'A list of objects with runtime and instance_type';
