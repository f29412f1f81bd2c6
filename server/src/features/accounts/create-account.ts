import { violatesUnique } from '../../database/connect.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { RoleName } from '../../base/roles.ts'
import type { Actor } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { addMember } from '../organizations/memberships.ts'
import { insertUser } from './store.ts'
import type { NewUser } from './store.ts'

/** Creates an account with a membership; returns the user's id. Throws `email_taken`: then roll back. */
export async function createAccount(
  transaction: DatabaseTransaction,
  visitor: Actor,
  account: Omit<NewUser, 'name' | 'organizationId'> & { name: string | null },
  { organizationId, role }: { organizationId: number; role: RoleName },
): Promise<number> {
  const name = account.name ?? defaultUserName(account)
  const userId = await insertUser(transaction, { ...account, name, organizationId }).catch(
    (error: unknown) => {
      throw violatesUnique(error, 'users_email_key') ? emailTaken() : error
    },
  )
  await addMember(transaction, { userId, organizationId, role })
  const { email } = account
  await recordAction(transaction, { ...visitor, userId, email, organizationId }, 'user.registered', {
    target: { type: 'user', id: userId, name: email },
    details: { role },
  })
  return userId
}

export function emailTaken(): ApplicationError {
  return new ApplicationError('email_taken', 'An account with this email already exists. Sign in instead.')
}

/** The first and last name, or the part of the email before the `@`. */
export function defaultUserName(person: Pick<NewUser, 'email' | 'firstName' | 'lastName'>): string {
  const parts = [person.firstName, person.lastName].filter((part) => part !== null)
  return parts.length > 0 ? parts.join(' ') : person.email.slice(0, person.email.lastIndexOf('@'))
}
