ALTER TABLE instances ADD COLUMN runtime text;
COMMENT ON COLUMN instances.runtime IS
  'Which runtime of RUNTIME has the instance; null before its hardware is chosen';
