import type { Application } from '../../application.ts'
import { violatesUnique } from '../../database/connect.ts'
import { ApplicationError } from '../../errors.ts'
import { createOrganization } from '../organizations/create.ts'
import { hashPassword } from './passwords.ts'
import { insertUser } from './store.ts'

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

/** Creates an account with an organization of its own, whose super_admin it is, and returns the user's id. */
export async function registerAccount(
  { db }: Pick<Application, 'db'>,
  registration: Registration,
): Promise<number> {
  const { password, organization, name, ...person } = registration
  const passwordHash = await hashPassword(password)
  const user = { ...person, passwordHash, name: name ?? nameFrom(person) }
  try {
    return await db.transaction().execute(async (transaction) => {
      const organizationId = await createOrganization(transaction, organization)
      return insertUser(transaction, user, organizationId, 'super_admin')
    })
  } catch (error) {
    if (violatesUnique(error, 'users_email_key')) {
      throw new ApplicationError(
        'conflict',
        'email_taken',
        'There is an account with this e-mail address already.',
      )
    }
    throw error
  }
}

function nameFrom(person: Pick<Registration, 'email' | 'firstName' | 'lastName'>): string {
  const parts = [person.firstName, person.lastName].filter((part) => part !== null)
  return parts.length > 0 ? parts.join(' ') : person.email.slice(0, person.email.lastIndexOf('@'))
}
