import type { Application } from '../../application.ts'
import { violatesUnique } from '../../database/connect.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../errors.ts'
import type { RoleName } from '../../roles.ts'
import { createOrganization } from '../organizations/create.ts'
import { hashPassword } from './passwords.ts'
import { insertUser } from './store.ts'
import type { NewUser } from './store.ts'

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

/** Creates an account with an organization of its own, whose super_admin it is, and returns whose it is and the password's hash. */
export async function registerAccount(
  { db }: Pick<Application, 'db'>,
  registration: Registration,
): Promise<{ userId: number; passwordHash: string }> {
  const { password, organization, ...person } = registration
  const passwordHash = await hashPassword(password)
  const userId = await db.transaction().execute(async (transaction) => {
    const organizationId = await createOrganization(transaction, organization)
    return createAccount(
      transaction,
      { ...person, passwordHash, emailVerifiedAt: null },
      { organizationId, role: 'super_admin' },
    )
  })
  return { userId, passwordHash }
}

/**
 * Inserts an account with its first membership and returns the user's id. Without a name it gets one from the other fields.
 * Throws the conflict `email_taken`, after which the transaction can only be given up.
 */
export async function createAccount(
  transaction: DatabaseTransaction,
  account: Omit<NewUser, 'name'> & { name: string | null },
  membership: { organizationId: number; role: RoleName },
): Promise<number> {
  const user = { ...account, name: account.name ?? nameFrom(account) }
  try {
    return await insertUser(transaction, user, membership.organizationId, membership.role)
  } catch (error) {
    if (violatesUnique(error, 'users_email_key')) throw emailTaken()
    throw error
  }
}

export function emailTaken(): ApplicationError {
  return new ApplicationError(
    'conflict',
    'email_taken',
    'There is an account with this e-mail address already.',
  )
}

/** The name of somebody who gave none. */
export function nameFrom(person: Pick<Registration, 'email' | 'firstName' | 'lastName'>): string {
  const parts = [person.firstName, person.lastName].filter((part) => part !== null)
  return parts.length > 0 ? parts.join(' ') : person.email.slice(0, person.email.lastIndexOf('@'))
}
