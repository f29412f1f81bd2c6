import { randomBytes } from 'node:crypto'
import slugify from '@sindresorhus/slugify'
import { ApplicationError } from '../../base/errors.ts'
import type { ServiceRole } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { createServiceAccount } from '../accounts/service-accounts.ts'
import type { ServiceSettings } from '../accounts/service-accounts.ts'
import { recordAction } from '../audit/record-action.ts'
import { listMembers } from '../organizations/members.ts'
import { addMember, findMembership, lockMemberships } from '../organizations/memberships.ts'
import { getServiceMember, holdManager } from './find-service-member.ts'
import type { ServiceMember } from './find-service-member.ts'
import { issuePassword } from './passwords.ts'
import { requireMatchingHeader } from './update-service-member.ts'

/** How many service members an organization may have. */
export const maxServiceMembers = 100

/** A service member with its new password, which is shown once. */
export interface IssuedServiceMember {
  member: ServiceMember
  password: string
}

/** Adds a program, with its email and password. Throws `too_many_service_members`. */
export function createServiceMember(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  viewer: Viewer,
  { name, role, ...settings }: { name: string; role: ServiceRole } & ServiceSettings,
): Promise<IssuedServiceMember> {
  const { organizationId } = viewer
  requireMatchingHeader(settings)
  const at = clock()
  return db.transaction().execute(async (transaction) => {
    await lockMemberships(transaction, organizationId)
    await holdManager(transaction, viewer)
    await assertRoom(transaction, organizationId)
    const email = composeEmail(name, config.publicUrl)
    const userId = await createServiceAccount(transaction, { organizationId, email, name }, settings, at)
    await addMember(transaction, { userId, organizationId, role })
    const password = await issuePassword(transaction, userId, at)
    const { id } = (await findMembership(transaction, organizationId, { userId }))!
    await recordAction(transaction, viewer, 'service_member.created', {
      target: { type: 'member', id, name: email },
      details: { role, ...settings },
    })
    return { member: await getServiceMember(transaction, id, at), password }
  })
}

async function assertRoom(db: Services['db'], organizationId: number): Promise<void> {
  const members = await listMembers(db, organizationId)
  if (members.filter(({ allowed_networks }) => allowed_networks !== null).length < maxServiceMembers) return
  const message = `Your organization has ${maxServiceMembers} service members. Remove one that you no longer need.`
  throw new ApplicationError('too_many_service_members', message)
}

/** Composes a readable, unique address that receives no mail. */
function composeEmail(name: string, { hostname }: URL): string {
  const slug = slugify(name).slice(0, 40).replace(/-$/, '') || 'service'
  const host = hostname.replaceAll(/[^\w.-]+/g, '-')
  return `${slug}-${randomBytes(4).toString('hex')}@${host}.invalid`
}
