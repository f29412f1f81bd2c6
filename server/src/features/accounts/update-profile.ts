import { isDeepStrictEqual } from 'node:util'
import { ApplicationError, NotFoundError } from '../../errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { isMember } from '../organizations/memberships.ts'
import { renameFoundedOrganization } from '../organizations/rename-founded-organization.ts'
import { defaultUserName } from './create-account.ts'
import { lockProfile, saveProfile } from './store.ts'

/** What may be changed of a profile; what is left out stays, null clears. */
export interface ProfileChanges {
  name?: string | undefined
  firstName?: string | null | undefined
  lastName?: string | null | undefined
  country?: string | null | undefined
  contactNumber?: string | null | undefined
  /** Names the organization of an account from SSO that is completing its profile */
  organization?: string | undefined
  /** Makes another of the user's organizations the one that counts */
  currentOrganizationId?: number | undefined
}

/**
 * Changes the viewer's profile, all of it or nothing. A name that was made up from the other fields follows them. Throws
 * `not_found` for an organization that the viewer is no member of, and the conflict `profile_complete`.
 */
export async function updateProfile(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { userId }: Pick<Viewer, 'userId'>,
  changes: ProfileChanges,
): Promise<void> {
  const at = clock()
  await db.transaction().execute(async (transaction) => {
    const before = await lockProfile(transaction, userId)
    const organizationId = changes.currentOrganizationId ?? before.currentOrganizationId
    if (!(await isMember(transaction, userId, organizationId))) {
      throw new NotFoundError('You are a member of no organization with this id.')
    }
    const { organization } = changes
    if (organization !== undefined) {
      const named =
        before.profileIncomplete && (await renameFoundedOrganization(transaction, userId, organization, at))
      if (!named) throw profileComplete()
    }
    const person = {
      firstName: valueOr(before.firstName, changes.firstName),
      lastName: valueOr(before.lastName, changes.lastName),
      country: valueOr(before.country, changes.country),
      contactNumber: valueOr(before.contactNumber, changes.contactNumber),
    }
    const nameWasMadeUp = before.name === defaultUserName(before)
    const after = {
      ...before,
      ...person,
      name: changes.name ?? (nameWasMadeUp ? defaultUserName({ ...before, ...person }) : before.name),
      currentOrganizationId: organizationId,
      profileIncomplete: before.profileIncomplete && organization === undefined,
    }
    if (!isDeepStrictEqual(before, after)) await saveProfile(transaction, userId, after, at)
  })
}

function valueOr<Value>(before: Value, change: Value | undefined): Value {
  return change === undefined ? before : change
}

function profileComplete(): ApplicationError {
  const message = 'Your organization has its name already; change it with PATCH /v1/organization.'
  return new ApplicationError('conflict', 'profile_complete', message)
}
