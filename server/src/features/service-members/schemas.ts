import { z } from 'zod'
import { normalizeNetwork } from '../../base/network.ts'
import { serviceRoles } from '../../base/roles.ts'
import { pathId, queryBoolean, text, timestamp, unicodeText } from '../../http/schemas.ts'
import { memberBody, toMemberBody } from '../organizations/schemas.ts'
import type { IssuedServiceMember } from './create-service-member.ts'
import type { ServiceMember } from './find-service-member.ts'

const maxNetworks = 50

const network = unicodeText()
  .trim()
  .transform((value, context) => {
    const normalized = normalizeNetwork(value)
    if (normalized !== null) return normalized
    const shown = value.slice(0, 50)
    context.addIssue(`“${shown}” is not a network such as 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7.`)
    return z.NEVER
  })
  .meta({ type: 'string' })

const allowedNetworks = z
  .array(network)
  .min(1)
  .max(maxNetworks)
  .transform((networks) => [...new Set(networks)])
  .describe('Networks in CIDR notation where it may sign in and work; 0.0.0.0/0 and ::/0 allow every address')

const mayNameMembers = z
  .boolean()
  .describe(
    'Whether its inference requests may name the member they are for, with the header `X-Berth-Member: <email or user id>`. ' +
      'Then turns, limits, budgets and usage are those of the member, who must have access too',
  )

/** Headers with other meanings, whose values may be secret */
const reservedHeader = /^x-(berth-|forwarded-|api-key$|real-ip$|request-id$)/

const memberHeader = text({ min: 3, max: 100 })
  .toLowerCase()
  .refine((name) => /^x-[a-z0-9-]+$/.test(name) && !reservedHeader.test(name), {
    error: 'Must be the name of a header such as X-OpenWebUI-User-Email.',
  })
  .nullable()
  .describe(
    'A further header that names the member, by email: `X-OpenWebUI-User-Email` of Open WebUI, `x-litellm-end-user-id` of LiteLLM. null for none',
  )

export const newServiceMemberBody = z
  .object({
    name: text({ min: 1, max: 255 }).describe('What people call the program'),
    role: z.enum(serviceRoles).describe('What it may do'),
    allowed_networks: allowedNetworks,
    may_name_members: mayNameMembers.default(false),
    member_header: memberHeader.default(null),
  })
  .meta({
    id: 'NewServiceMember',
    examples: [{ name: 'Nightly report', role: 'member', allowed_networks: ['10.0.0.0/8'] }],
  })

export const updateServiceMemberBody = z
  .object({
    allowed_networks: allowedNetworks,
    may_name_members: mayNameMembers,
    member_header: memberHeader,
  })
  .partial()
  .meta({ id: 'ServiceMemberUpdate', examples: [{ allowed_networks: ['10.0.0.0/8', '2001:db8::/32'] }] })

export const serviceMemberParams = z.object({
  member_id: pathId.describe('Id of the membership, as in the list of members'),
})

export const rotationQuery = z.object({
  now: queryBoolean(false).describe('true to end the old password and all sessions at once'),
})

export const serviceMemberBody = memberBody
  .extend({
    allowed_networks: z.array(z.string()).describe('The networks where it may sign in and work'),
    may_name_members: z.boolean().describe('Whether its inference requests may name the member they are for'),
    member_header: z
      .string()
      .nullable()
      .describe('The header that does so besides `X-Berth-Member`, in lower case; null for none'),
    last_active_at: timestamp
      .nullable()
      .describe('The hour of its latest request; null before the first one'),
    password_created_at: timestamp.describe('When it got its current password'),
    previous_password_ends_at: timestamp
      .nullable()
      .describe('When the password before the current one stops working; null if it has'),
  })
  .meta({ id: 'ServiceMember', description: 'A member of an organization that is a program' })

export const serviceMembersBody = z.array(serviceMemberBody).describe('The service members, earliest first')

export const issuedServiceMemberBody = serviceMemberBody
  .extend({ password: z.string().describe('The new password, which is shown only now') })
  .meta({ id: 'IssuedServiceMember', description: 'A service member with a new password' })

export function toServiceMemberBody(member: ServiceMember): z.infer<typeof serviceMemberBody> {
  const { allowed_networks, may_name_members, member_header, last_active_at } = member
  const { password_created_at, previous_password_ends_at } = member
  return {
    ...toMemberBody(member),
    allowed_networks,
    may_name_members,
    member_header,
    last_active_at: last_active_at?.toISOString() ?? null,
    password_created_at: password_created_at.toISOString(),
    previous_password_ends_at: previous_password_ends_at?.toISOString() ?? null,
  }
}

export function toIssuedBody({
  member,
  password,
}: IssuedServiceMember): z.infer<typeof issuedServiceMemberBody> {
  return { ...toServiceMemberBody(member), password }
}
