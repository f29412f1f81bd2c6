import type { App } from '../../http/app.ts'
import { joinResponse } from '../../http/creation.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { createTeam, deleteTeam, listVisibleTeams, renameTeam, setTeamMember } from './manage-teams.ts'
import {
  createTeamBody,
  teamBody,
  teamMemberParams,
  teamNameBody,
  teamParams,
  teamsBody,
  toTeamBody,
} from './schemas.ts'

const tags = ['Organization']
const prefix = '/v1/organization/teams'
const manage = { permission: 'manageMembers' } as const

/** The teams of an organization, with which its members share deployments. */
export function teamRoutes(app: App, deps: Pick<Services, 'db'>): void {
  app.get(
    prefix,
    {
      config: { permission: 'readOrganization' },
      schema: {
        operationId: 'listTeams',
        summary:
          'List the teams of your current organization, oldest first: all for admins, your own otherwise',
        tags,
        response: { 200: teamsBody },
      },
    },
    async ({ viewer }) => (await listVisibleTeams(deps, viewer)).map(toTeamBody),
  )

  app.post(
    prefix,
    {
      config: { ...manage, creates: 'atomically' },
      schema: {
        operationId: 'createTeam',
        summary: 'Create a team without members',
        description:
          'With OIDC_GROUPS_CLAIM, people are members while they are in a group of the provider with this name.',
        tags,
        body: createTeamBody,
        response: { 200: teamBody },
        errors: ['team_exists', 'too_many_teams'],
      },
    },
    async (request) => {
      const { name, managed_by: managedBy = null } = request.body
      return toTeamBody(await createTeam(joinResponse(deps, request), request.viewer, { name, managedBy }))
    },
  )

  app.patch(
    `${prefix}/:team_id`,
    {
      config: manage,
      schema: {
        operationId: 'updateTeam',
        summary: 'Rename a team',
        tags,
        params: teamParams,
        body: teamNameBody,
        response: { 200: teamBody },
        errors: ['not_found', 'team_exists'],
      },
    },
    async ({ body, params, viewer }) => toTeamBody(await renameTeam(deps, viewer, params.team_id, body.name)),
  )

  app.delete(
    `${prefix}/:team_id`,
    {
      config: manage,
      schema: {
        operationId: 'deleteTeam',
        summary: 'Delete a team',
        description: 'What was shared with it is not anymore.',
        tags,
        params: teamParams,
        response: { 204: noContent },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }, reply) => {
      await deleteTeam(deps, viewer, params.team_id)
      return reply.code(204).send(null)
    },
  )

  app.put(
    `${prefix}/:team_id/members/:user_id`,
    {
      config: manage,
      schema: {
        operationId: 'addTeamMember',
        summary: 'Add a member of your current organization to a team',
        tags,
        params: teamMemberParams,
        response: { 204: noContent },
        errors: ['not_found'],
      },
    },
    async ({ params: { team_id: id, user_id: userId }, viewer }, reply) => {
      await setTeamMember(deps, viewer, { id, userId, belongs: true })
      return reply.code(204).send(null)
    },
  )

  app.delete(
    `${prefix}/:team_id/members/:user_id`,
    {
      config: manage,
      schema: {
        operationId: 'removeTeamMember',
        summary: 'Take a member out of a team',
        description: 'Their access by the team ends within a second, streams included.',
        tags,
        params: teamMemberParams,
        response: { 204: noContent },
        errors: ['not_found'],
      },
    },
    async ({ params: { team_id: id, user_id: userId }, viewer }, reply) => {
      await setTeamMember(deps, viewer, { id, userId, belongs: false })
      return reply.code(204).send(null)
    },
  )
}
