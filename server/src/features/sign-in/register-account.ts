import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { assertMayRegister } from '../accounts/access-policy.ts'
import { countRegistration } from '../accounts/count-registration.ts'
import { createAccount } from '../accounts/create-account.ts'
import { hashPassword } from '../accounts/passwords.ts'
import { createOrganization } from '../organizations/create-organization.ts'
import { sendEmailVerification } from './email-verification.ts'

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

/** Creates an account and its organization, and emails a link to verify the address. Throws `email_taken`. */
export async function registerAccount(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>,
  visitor: Actor,
  registration: Registration,
): Promise<{ userId: number; proof: { passwordHash: string } }> {
  const { password, organization, ...person } = registration
  assertMayRegister(deps.config.registration, person.email)
  return countRegistration(deps, visitor, async () => {
    const passwordHash = await hashPassword(deps.config.passwordHashing, password)
    const userId = await deps.db.transaction().execute(async (transaction) => {
      const organizationId = await createOrganization(transaction, organization)
      const id = await createAccount(
        transaction,
        visitor,
        { ...person, passwordHash, emailVerifiedAt: null },
        { organizationId, role: 'super_admin' },
      )
      if (deps.config.mail.url !== null) {
        await sendEmailVerification(deps, transaction, { id, email: person.email })
      }
      return id
    })
    return { userId, proof: { passwordHash } }
  })
}
