import type { Member, Team } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'

const path = '/v1/organization/teams/{team_id}'
const memberPath = '/v1/organization/teams/{team_id}/members/{user_id}'

/** Lists the teams of the organization that the person may see. */
export async function listTeams({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const teams = await client.call('GET', '/v1/organization/teams')
  output.result(teams, () => {
    output.table(
      ['ID', 'NAME', 'MEMBERS'],
      teams.map(({ id, name, members }) => [String(id), name, members.map(({ email }) => email).join(', ')]),
      'No teams. `berth teams add` adds one.',
    )
  })
}

/** Adds a team with these members. All are found before the team is made. */
export async function addTeam(
  { env, output }: Context,
  name: string,
  emails: readonly string[],
): Promise<void> {
  const client = await connectClient(env)
  const members = await findMembers(client, emails)
  const team = await client.call('POST', '/v1/organization/teams', { body: { name } })
  await setMembers(client, team.id, members, true)
  output.result(team, () => output.note(`Added ${team.name}.`))
}

/** Deletes a team. */
export async function removeTeam({ env, output }: Context, name: string): Promise<void> {
  const client = await connectClient(env)
  const team = await findTeam(client, name)
  await client.call('DELETE', path, { path: { team_id: team.id } })
  output.result(team, () => output.note(`Deleted ${team.name}.`))
}

/** Adds members to a team, or takes them out. */
export async function changeTeam(
  { env, output }: Context,
  name: string,
  emails: readonly string[],
  { out }: { out?: boolean },
): Promise<void> {
  const client = await connectClient(env)
  const { id } = await findTeam(client, name)
  await setMembers(client, id, await findMembers(client, emails), out !== true)
  const team = await findTeam(client, name)
  const list = team.members.map(({ email }) => email).join(', ')
  output.result(team, () => output.note(`${team.name}: ${list || 'nobody'}.`))
}

async function setMembers(
  client: Client,
  teamId: number,
  members: readonly Member[],
  belong: boolean,
): Promise<void> {
  for (const { user_id } of members) {
    const input = { path: { team_id: teamId, user_id } }
    await (belong ? client.call('PUT', memberPath, input) : client.call('DELETE', memberPath, input))
  }
}

/** A team by its name, ignoring case. */
export async function findTeam(client: Client, name: string): Promise<Team> {
  const teams = await client.call('GET', '/v1/organization/teams')
  const team = teams.find((each) => each.name.toLowerCase() === name.toLowerCase())
  if (team) return team
  throw new CommandError(`You see no team called ${name}. \`berth teams\` lists them.`)
}

/** The members with these emails. */
export async function findMembers(client: Client, emails: readonly string[]): Promise<Member[]> {
  if (emails.length === 0) return []
  const members = await client.call('GET', '/v1/organization/members')
  return emails.map((email) => {
    const member = members.find((each) => each.email.toLowerCase() === email.toLowerCase())
    if (member) return member
    throw new CommandError(`${email} is no member of your organization. \`berth members\` lists them.`)
  })
}
