import type { App } from '../../http/app.ts'
import { toListOrder } from '../../http/schemas.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { getMember } from '../organizations/members.ts'
import { memberBody, toMemberBody } from '../organizations/schemas.ts'
import { changeMemberRole } from './manage-member.ts'
import { leaveOrganization, removeMember } from './remove-member.ts'
import { listPeople } from './people.ts'
import {
  handOverQuery,
  updateMemberBody,
  memberParams,
  peopleBody,
  peopleQuery,
  toHandOver,
  toPeopleFilter,
  toPersonBody,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config'>

const tags = ['Organization']
const roles = 'Admins manage viewers and members; a super_admin manages everyone. '

/** The routes with which people manage the members of their organization, and leave it. */
export function memberRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/organization/people',
    {
      config: { permission: 'readOrganization' },
      schema: {
        operationId: 'listPeople',
        summary: 'List the people and programs of your current organization',
        description: 'Admins see open invitations too.',
        tags,
        querystring: peopleQuery,
        response: { 200: peopleBody },
      },
    },
    async ({ query, viewer }) => {
      const { limit, offset } = query
      const page = { limit, offset, at: deps.clock() }
      const { items, total } = await listPeople(
        deps.db,
        viewer,
        toPeopleFilter(query),
        toListOrder(query.sort),
        page,
      )
      return { items: items.map(toPersonBody), total, limit, offset }
    },
  )

  app.patch(
    '/v1/organization/members/:member_id',
    {
      config: { permission: 'manageMembers' },
      schema: {
        operationId: 'updateMember',
        summary: 'Update the role of a member',
        description:
          `${roles}The last super_admin can’t get another role: 409 \`last_super_admin\`. A service member can only be a viewer or a member: ` +
          '409 `service_member_role`.',
        tags,
        params: memberParams,
        body: updateMemberBody,
        response: { 200: memberBody },
        errors: ['not_found', 'service_member_role', 'last_super_admin'],
      },
    },
    async ({ body, params, viewer }) => {
      const { id } = await changeMemberRole(deps, viewer, params.member_id, body.role)
      return toMemberBody(await getMember(deps.db, id))
    },
  )

  app.delete(
    '/v1/organization/members/:member_id',
    {
      config: { permission: 'manageMembers' },
      schema: {
        operationId: 'removeMember',
        summary: 'Remove a member',
        description: `${roles}The member’s access ends at once. The account of a person remains; that of a service member ends.`,
        tags,
        params: memberParams,
        querystring: handOverQuery,
        response: { 204: noContent },
        errors: ['not_found', 'last_super_admin', 'invalid_recipient', 'deployments_active'],
      },
    },
    async ({ params, query, viewer }, reply) => {
      await removeMember(deps, viewer, params.member_id, toHandOver(query))
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/v1/organization/leave',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'leaveOrganization',
        summary: 'Leave your current organization',
        description:
          'Switches you to another of your organizations, or to a new one without a trial. The last super_admin can’t leave: 409 ' +
          '`last_super_admin`.',
        tags,
        querystring: handOverQuery,
        response: { 204: noContent },
        errors: ['last_super_admin', 'invalid_recipient', 'deployments_active'],
      },
    },
    async ({ query, viewer }, reply) => {
      await leaveOrganization(deps, viewer, toHandOver(query))
      return reply.code(204).send(null)
    },
  )
}
