import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'

/** Median seconds of a variant's last starts, or null; per organization, as model names may collide. */
export async function readUsualStartSeconds(
  db: Database,
  organizationId: number,
  { modelName, format, sizeInBillions, quantization }: ModelVariant,
): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::float8 AS seconds FROM (
      SELECT extract(epoch FROM instances.ready_at - instances.created_at)::float8 AS seconds
      FROM instances JOIN deployments ON deployments.id = instances.deployment_id
      WHERE organization_id = ${organizationId} AND model_name = ${modelName} AND model_format = ${format}
        AND model_size_in_billions = ${sizeInBillions} AND quantization = ${quantization} AND ready_at IS NOT NULL
      ORDER BY instances.id DESC LIMIT 5) AS recent`.execute(db)
  return rows[0]?.seconds ?? null
}
