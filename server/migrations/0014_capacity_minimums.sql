ALTER TABLE deployments
  ADD COLUMN min_context_tokens     integer CHECK (min_context_tokens > 0),
  ADD COLUMN min_parallel_sequences integer CHECK (min_parallel_sequences > 0);
COMMENT ON COLUMN deployments.min_context_tokens IS 'The least context_tokens that the owner asks for; null for no wish';
COMMENT ON COLUMN deployments.min_parallel_sequences IS 'The least parallel_sequences that the owner asks for; null for no wish';
