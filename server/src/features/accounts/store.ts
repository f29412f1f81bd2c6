import type { Database, DatabaseTransaction } from '../../database/tables.ts'

export interface NewUser {
  /** The current organization; the caller adds the membership */
  organizationId: number
  email: string
  /** Null until the user verifies the email */
  emailVerifiedAt: Date | null
  passwordHash: string | null
  name: string
  firstName: string | null
  lastName: string | null
  country: string | null
  contactNumber: string | null
  /** True while an SSO account has yet to choose its name and organization. Default: false */
  profileIncomplete?: boolean | undefined
  /** The networks of a service member. Default: null, for a person */
  allowedNetworks?: readonly string[] | undefined
}

export async function insertUser(db: Database, user: NewUser): Promise<number> {
  const { id } = await db
    .insertInto('users')
    .values({
      email: user.email,
      email_verified_at: user.emailVerifiedAt,
      password_hash: user.passwordHash,
      name: user.name,
      first_name: user.firstName,
      last_name: user.lastName,
      country: user.country,
      contact_number: user.contactNumber,
      current_organization_id: user.organizationId,
      profile_incomplete: user.profileIncomplete ?? false,
      allowed_networks: user.allowedNetworks === undefined ? null : [...user.allowedNetworks],
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export interface Profile {
  email: string
  name: string
  firstName: string | null
  lastName: string | null
  country: string | null
  contactNumber: string | null
  currentOrganizationId: number
  profileIncomplete: boolean
}

/** Reads a user's profile and locks it until the transaction ends. */
export function lockProfile(transaction: DatabaseTransaction, userId: number): Promise<Profile> {
  return transaction
    .selectFrom('users')
    .select([
      'email',
      'name',
      'first_name as firstName',
      'last_name as lastName',
      'country',
      'contact_number as contactNumber',
      'current_organization_id as currentOrganizationId',
      'profile_incomplete as profileIncomplete',
    ])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

export async function saveProfile(
  transaction: DatabaseTransaction,
  userId: number,
  profile: Omit<Profile, 'email'>,
  at: Date,
): Promise<void> {
  await transaction
    .updateTable('users')
    .set({
      name: profile.name,
      first_name: profile.firstName,
      last_name: profile.lastName,
      country: profile.country,
      contact_number: profile.contactNumber,
      current_organization_id: profile.currentOrganizationId,
      profile_incomplete: profile.profileIncomplete,
      updated_at: at,
    })
    .where('id', '=', userId)
    .execute()
}
