import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'

/** A condition on rows of deployments: one serves an adapter of this name. */
export function servesAdapter(modelName: string): RawBuilder<boolean> {
  return sql<boolean>`adapters @> ${JSON.stringify([{ modelName }])}::jsonb`
}
