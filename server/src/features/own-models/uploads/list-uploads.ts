import type { Services } from '../../../services.ts'
import type { ModelUpload } from './write-lease.ts'

/** The uploads of an organization that no model uses, the newest first. */
export async function listUploads(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
): Promise<ModelUpload[]> {
  return db
    .selectFrom('model_uploads')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('status', '!=', 'used')
    .orderBy('created_at', 'desc')
    .execute()
}
