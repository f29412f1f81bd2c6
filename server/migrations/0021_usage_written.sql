ALTER TABLE billing_accounts
  ADD COLUMN usage_written_through timestamptz,
  ADD COLUMN usage_remainders jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN billing_accounts.usage_written_through IS 'All sealed usage of the hours before it is in usage_sends; null: it was not looked at yet';
COMMENT ON COLUMN billing_accounts.usage_remainders IS 'What of that usage is no whole unit yet: {price key: thousandths of a unit}';
