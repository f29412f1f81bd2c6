import { z } from 'zod'
import { email, entityId, managedBy, pathId, text, timestamp } from '../../http/schemas.ts'
import type { Team } from './store.ts'

export const teamNameBody = z
  .object({
    name: text({ min: 1, max: 100 }).describe('Unique in the organization, ignoring case'),
  })
  .meta({ id: 'TeamName', examples: [{ name: 'Research' }] })

export const createTeamBody = teamNameBody
  .extend({ managed_by: managedBy.optional() })
  .meta({ id: 'NewTeam', examples: [{ name: 'Research' }] })

export const teamParams = z.object({ team_id: pathId.describe('Id of the team') })

export const teamMemberParams = teamParams.extend({
  user_id: pathId.describe('User id of a member of the organization'),
})

export const teamBody = z
  .object({
    id: entityId.describe('Id of the team'),
    name: z.string().describe('Name of the team'),
    members: z
      .array(
        z.object({
          user_id: entityId.describe('The member'),
          email: email.describe('Their email'),
          name: z.string().describe('Their name'),
          kind: z.enum(['person', 'service']).describe('Whether the member is a program'),
        }),
      )
      .describe('The members of the team, earliest members of the organization first'),
    managed_by: managedBy,
    created_at: timestamp.describe('When the team was created'),
  })
  .meta({
    id: 'Team',
    description: 'Members of an organization with whom deployments can be shared together',
  })

export const teamsBody = z.array(teamBody).describe('Oldest first')

export function toTeamBody(team: Team): z.infer<typeof teamBody> {
  return { ...team, created_at: team.created_at.toISOString() }
}
