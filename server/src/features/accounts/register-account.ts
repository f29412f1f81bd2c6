import type { Services } from '../../services.ts'
import type { Actor } from '../../viewer.ts'
import { createOrganization } from '../organizations/create-organization.ts'
import { createAccount } from './create-account.ts'
import { hashPassword } from './passwords.ts'

export interface Registration {
  email: string
  password: string
  organization: string
  name: string | null
  firstName: string | null
  lastName: string | null
  country: string | null
  contactNumber: string | null
}

/** Creates an account and an organization with the account as its super_admin. Throws the conflict `email_taken`. */
export async function registerAccount(
  { db }: Pick<Services, 'db'>,
  visitor: Actor,
  registration: Registration,
): Promise<{ userId: number; passwordHash: string }> {
  const { password, organization, ...person } = registration
  const passwordHash = await hashPassword(password)
  const userId = await db.transaction().execute(async (transaction) => {
    const organizationId = await createOrganization(transaction, organization)
    return createAccount(
      transaction,
      visitor,
      { ...person, passwordHash, emailVerifiedAt: null },
      { organizationId, role: 'super_admin' },
    )
  })
  return { userId, passwordHash }
}
