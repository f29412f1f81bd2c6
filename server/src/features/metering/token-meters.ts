import { sql } from 'kysely'

/**
 * The meters of a row of `token_usage` with their quantities: cached tokens are a part of the input, and are
 * billed once.
 */
export const tokenMeters = sql`(VALUES ('inference_input_tokens', input_tokens - cached_tokens),
  ('inference_cached_tokens', cached_tokens), ('inference_output_tokens', output_tokens))`
