import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { getOrganization, updateOrganization } from './store.ts'
import type { Organization, OrganizationChanges } from './store.ts'

/** Updates the viewer's current organization. */
export function changeOrganization(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  changes: OrganizationChanges,
): Promise<Organization> {
  const { organizationId: id } = viewer
  return db.transaction().execute(async (transaction) => {
    const changed = await updateOrganization(transaction, id, changes, clock())
    const organization = await getOrganization(transaction, id)
    if (changed) {
      const target = { type: 'organization', id, name: organization.name } as const
      await recordAction(transaction, viewer, 'organization.updated', { target, details: { ...changes } })
    }
    return organization
  })
}
