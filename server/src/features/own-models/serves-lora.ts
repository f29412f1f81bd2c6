import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'

/** A condition on rows of deployments: one serves a LoRA of this name. */
export function servesLora(modelName: string): RawBuilder<boolean> {
  return sql<boolean>`adapters @> ${JSON.stringify([{ modelName }])}::jsonb`
}
