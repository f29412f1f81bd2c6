-- For the list without those that are over: they outnumber the others with time.
CREATE INDEX deployments_unterminated_idx ON deployments (user_id, created_at DESC, id DESC) WHERE status <> 'terminated';
