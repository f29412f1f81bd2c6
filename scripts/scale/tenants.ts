import { sql } from 'kysely'
import { findRequestedModel } from '../../server/src/features/catalog/find-variant.ts'
import { serializeVariant } from '../../server/src/features/catalog/stored-model.ts'
import type { Application } from '../../server/src/wiring/application.ts'

export const organizations = 1_000

/** Creates the organizations, each with one user of the same id. */
export async function createTenants({ db }: Application): Promise<void> {
  await sql`
    WITH made AS (
      INSERT INTO organizations (name, slug) SELECT 'Organization ' || n, 'organization-' || n
      FROM generate_series(1, ${organizations}) AS n RETURNING id)
    INSERT INTO users (email, name, current_organization_id) SELECT 'user-' || id || '@example.com', 'User', id
    FROM made`.execute(db)
}

/** Inserts deployments for the users with ids from `first` to `last`, as their requests would. */
export async function insertDeployments(
  application: Application,
  { count, first, last, status }: { count: number; first: number; last: number; status: string },
): Promise<void> {
  const { default: variant } = await findRequestedModel(application, 1, { modelName: 'berth-tiny' })
  await sql`
    INSERT INTO deployments (id, user_id, organization_id, model_name, model_format, model_size_in_billions, quantization,
      inference_model_uid, variant, status, created_at, updated_at, status_changed_at, terminated_at, reconcile_at)
    SELECT id, "user", "user", 'berth-tiny', 'ggufv2', 0.001, 'F16', 'dep-' || id, ${serializeVariant(variant)}::jsonb,
      ${status}::text, at, at, at, CASE WHEN ${status}::text = 'terminated' THEN at END,
      CASE WHEN ${status}::text <> 'terminated' THEN now() END
    FROM (SELECT gen_random_uuid() AS id, now() - n * interval '1 ms' AS at,
      ${first}::bigint + n % (${last}::bigint - ${first}::bigint + 1) AS "user"
      FROM generate_series(1, ${count}::int) AS n) AS wanted`.execute(application.db)
  await sql`
    INSERT INTO instances (id, deployment_id, status, served_model_name, created_at, updated_at, status_changed_at)
    SELECT gen_random_uuid(), id, CASE WHEN status = 'terminated' THEN 'released' ELSE status END, model_name,
      created_at, created_at, created_at
    FROM deployments WHERE NOT EXISTS (SELECT FROM instances WHERE deployment_id = deployments.id)`.execute(
    application.db,
  )
}
