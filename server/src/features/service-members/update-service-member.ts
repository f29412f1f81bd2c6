import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '../../base/errors.ts'
import { parseNetworks } from '../../base/network.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { updateServiceAccount } from '../accounts/service-accounts.ts'
import type { ServiceSettings } from '../accounts/service-accounts.ts'
import { recordAction } from '../audit/record-action.ts'
import { deleteSessionsOutside } from '../sessions/limit-sessions.ts'
import { getServiceMember, lockServiceMember } from './find-service-member.ts'
import type { ServiceMember } from './find-service-member.ts'

type Changes = { [Name in keyof ServiceSettings]?: ServiceSettings[Name] | undefined }

/** Changes the networks of a service member, or its right to name members. Sessions from elsewhere end. */
export function updateServiceMember(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: number,
  changes: Changes,
): Promise<ServiceMember> {
  return db.transaction().execute(async (transaction) => {
    const { userId, email } = await lockServiceMember(transaction, viewer, id)
    const at = clock()
    const { allowed_networks, may_name_members, member_header } = await getServiceMember(transaction, id, at)
    const before: ServiceSettings = { allowed_networks, may_name_members, member_header }
    const after = applyChanges(before, changes)
    requireMatchingHeader(after)
    if (!isDeepStrictEqual(before, after)) {
      await updateServiceAccount(transaction, userId, after, at)
      await deleteSessionsOutside(transaction, userId, parseNetworks(after.allowed_networks))
      await recordAction(transaction, viewer, 'service_member.updated', {
        target: { type: 'member', id, name: email },
        details: describeChanges(before, after),
      })
    }
    return getServiceMember(transaction, id, at)
  })
}

/** A program that loses the right to name members loses its header too. */
function applyChanges(before: ServiceSettings, changes: Changes): ServiceSettings {
  const mayName = changes.may_name_members ?? before.may_name_members
  const header = changes.member_header === undefined ? before.member_header : changes.member_header
  return {
    allowed_networks: changes.allowed_networks ?? before.allowed_networks,
    may_name_members: mayName,
    member_header: changes.may_name_members === false ? (changes.member_header ?? null) : header,
  }
}

/** Throws `validation_failed` for a header without a reader. */
export function requireMatchingHeader({ may_name_members, member_header }: ServiceSettings): void {
  if (may_name_members || member_header === null) return
  throw invalidField('member_header', 'Only for a program that may name members.', 'invalid_value')
}

function describeChanges(before: ServiceSettings, after: ServiceSettings) {
  const names = Object.keys(after) as (keyof ServiceSettings)[]
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  return Object.fromEntries(changed.map((name) => [name, { from: before[name], to: after[name] }]))
}
