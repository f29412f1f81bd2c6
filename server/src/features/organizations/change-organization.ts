import { ApplicationError } from '../../base/errors.ts'
import { roleCan } from '../../base/roles.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { getOrganization, updateOrganization } from './store.ts'
import type { Organization, OrganizationChanges } from './store.ts'

/** Throws `forbidden` and `no_second_factor` if the viewer may not require second factors. */
export function changeOrganization(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  changes: OrganizationChanges,
): Promise<Organization> {
  const { organizationId: id } = viewer
  return db.transaction().execute(async (transaction) => {
    const old = await getOrganization(transaction, id)
    if ((changes.requiresSecondFactor ?? old.requires_second_factor) !== old.requires_second_factor)
      assertMayRequire(viewer, changes.requiresSecondFactor === true)
    const changed = await updateOrganization(transaction, id, changes, clock())
    const organization = await getOrganization(transaction, id)
    if (changed) {
      const target = { type: 'organization', id, name: organization.name } as const
      await recordAction(transaction, viewer, 'organization.updated', {
        target,
        details: { ...changes, before: pickChanged(old, changes) },
      })
    }
    return organization
  })
}

/** Only a viewer with a second factor may require them: the change would shut out its author otherwise. */
function assertMayRequire(viewer: Viewer, requiresSecondFactor: boolean): void {
  if (!roleCan(viewer.role, 'manageSignIn')) {
    const message = 'Only an owner can change whether members need a second factor.'
    throw new ApplicationError('forbidden', message)
  }
  if (requiresSecondFactor && !viewer.hasSecondFactor) {
    const message = 'Set up a second factor for yourself first, on your profile page.'
    throw new ApplicationError('no_second_factor', message)
  }
}

/** The values that the changes replace, by the names of the changes. */
function pickChanged(
  {
    name,
    description,
    requires_second_factor: requiresSecondFactor,
    allow_external: allowExternal,
  }: Organization,
  changes: OrganizationChanges,
): OrganizationChanges {
  const old = { name, description, requiresSecondFactor, allowExternal }
  return Object.fromEntries(
    Object.entries(old).filter(([field]) => changes[field as keyof OrganizationChanges] !== undefined),
  )
}
