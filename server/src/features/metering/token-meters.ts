import { sql } from 'kysely'

/** The meters and quantities of a row of `token_usage`: cached tokens, a part of the input, count once. */
export const tokenMeters = sql`(VALUES ('inference_input_tokens', input_tokens - cached_tokens),
  ('inference_cached_tokens', cached_tokens), ('inference_output_tokens', output_tokens))`
