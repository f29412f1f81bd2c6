import { z } from 'zod'
import type { App } from '../../http/app.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { getMember } from '../organizations/members.ts'
import { memberBody, toMemberBody } from '../organizations/schemas.ts'
import { changeMemberRole } from './manage-member.ts'
import { leaveOrganization, removeMember } from './remove-member.ts'
import { handOverQuery, memberChangesBody, memberParams, toHandOver } from './schemas.ts'

const tags = ['Organization']
const roles = 'Admins manage viewers and members; a super_admin manages everyone. '

export function memberRoutes(app: App, deps: Pick<Services, 'db' | 'clock' | 'config'>): void {
  app.patch(
    '/v1/organization/members/:member_id',
    {
      config: { permission: 'manageMembers' },
      schema: {
        operationId: 'changeMemberRole',
        summary: 'Change the role of a member',
        description: `${roles}The last super_admin can’t get another role: 409 \`last_super_admin\`.`,
        tags,
        params: memberParams,
        body: memberChangesBody,
        response: { 200: memberBody, ...protectedProblems, ...bodyProblems, ...problems(404, 409) },
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
        description: `${roles}The member’s access ends at once. Their account remains.`,
        tags,
        params: memberParams,
        querystring: handOverQuery,
        response: { 204: z.null(), ...protectedProblems, ...problems(404, 409, 422) },
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
      config: { permission: null },
      schema: {
        operationId: 'leaveOrganization',
        summary: 'Leave your current organization',
        description:
          'Switches you to another of your organizations, or to a new one without a trial. The last super_admin can’t leave: 409 ' +
          '`last_super_admin`.',
        tags,
        querystring: handOverQuery,
        response: { 204: z.null(), ...protectedProblems, ...problems(409, 422) },
      },
    },
    async ({ query, viewer }, reply) => {
      await leaveOrganization(deps, viewer, toHandOver(query))
      return reply.code(204).send(null)
    },
  )
}
