import { isDeepStrictEqual } from 'node:util'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { isMember } from '../organizations/memberships.ts'
import { hasName, renameFoundedOrganization } from '../organizations/rename-founded-organization.ts'
import { defaultUserName } from './create-account.ts'
import { lockProfile, saveProfile } from './store.ts'
import type { Profile } from './store.ts'

/** Changes to a profile. Omitted fields are unchanged; null clears a field. */
export interface ProfileChanges {
  name?: string | undefined
  firstName?: string | null | undefined
  lastName?: string | null | undefined
  country?: string | null | undefined
  contactNumber?: string | null | undefined
  /** New name of the organization; only while an SSO account completes its profile */
  organization?: string | undefined
  /** Switches to another of the user's organizations */
  currentOrganizationId?: number | undefined
}

/** Changes default names too. Throws `not_found` for others' organizations, `profile_complete`. */
export async function updateProfile(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  changes: ProfileChanges,
): Promise<void> {
  const at = clock()
  const { userId } = viewer
  await db.transaction().execute(async (transaction) => {
    const before = await lockProfile(transaction, userId)
    const organizationId = changes.currentOrganizationId ?? before.currentOrganizationId
    if (!(await isMember(transaction, userId, organizationId))) {
      throw new NotFoundError('Organization not found. GET /v1/user/organizations lists your organizations.')
    }
    const { organization } = changes
    if (organization !== undefined) {
      const isNamed = before.profileIncomplete
        ? await renameFoundedOrganization(transaction, userId, organization, at)
        : await hasName(transaction, organizationId, organization)
      if (!isNamed) throw profileComplete()
    }
    const person = {
      firstName: changeOrCurrent(changes.firstName, before.firstName),
      lastName: changeOrCurrent(changes.lastName, before.lastName),
      country: changeOrCurrent(changes.country, before.country),
      contactNumber: changeOrCurrent(changes.contactNumber, before.contactNumber),
    }
    const hadDefaultName = before.name === defaultUserName(before)
    const after = {
      ...before,
      ...person,
      name: changes.name ?? (hadDefaultName ? defaultUserName({ ...before, ...person }) : before.name),
      currentOrganizationId: organizationId,
      profileIncomplete: before.profileIncomplete && organization === undefined,
    }
    if (isDeepStrictEqual(before, after)) return
    await saveProfile(transaction, userId, after, at)
    const changed = Object.keys(after).filter(
      (key) => after[key as keyof Profile] !== before[key as keyof Profile],
    )
    const target = { type: 'user', id: userId, name: before.email } as const
    await recordAction(transaction, viewer, 'user.updated', { target, details: { changed } })
  })
}

function changeOrCurrent<Value>(change: Value | undefined, current: Value): Value {
  return change === undefined ? current : change
}

function profileComplete(): ApplicationError {
  const message = 'Your profile is already complete. To rename your organization, use PATCH /v1/organization.'
  return new ApplicationError('profile_complete', message)
}
