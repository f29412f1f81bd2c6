import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import { violatesUnique } from '../../database/connect.ts'
import type { Viewer } from '../../base/viewer.ts'
import { roleCan } from '../../base/roles.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { findMembership, holdRole, lockMemberships } from '../organizations/memberships.ts'
import { getTeam, listTeams, lockTeam } from './store.ts'
import type { Team } from './store.ts'

/** How many teams an organization may have. */
export const maxTeams = 200

type Deps = Pick<Services, 'db'>

/** The teams of the viewer's current organization: all for admins, their own for others. */
export function listVisibleTeams({ db }: Deps, { organizationId, userId, role }: Viewer): Promise<Team[]> {
  return listTeams(db, organizationId, roleCan(role, 'manageMembers') ? null : userId)
}

/** Adds a team without members. Throws `team_exists` and `too_many_teams`. */
export function createTeam(
  { db }: Deps,
  viewer: Viewer,
  { name, managedBy }: { name: string; managedBy: string | null },
): Promise<Team> {
  const { organizationId } = viewer
  return db.transaction().execute(async (transaction) => {
    await lockMemberships(transaction, organizationId)
    await holdManager(transaction, viewer)
    const teams = await listTeams(transaction, organizationId, null)
    if (teams.length >= maxTeams) {
      throw new ApplicationError(
        'too_many_teams',
        `Your organization has ${maxTeams} teams. Delete one first.`,
      )
    }
    const { id } = await transaction
      .insertInto('teams')
      .values({ organization_id: organizationId, name, managed_by: managedBy })
      .returning('id')
      .executeTakeFirstOrThrow()
      .catch(refuseTwin)
    await recordAction(transaction, viewer, 'team.created', { target: { type: 'team', id, name } })
    return getTeam(transaction, id)
  })
}

/** Renames a team. Throws `team_exists`. */
export function renameTeam({ db }: Deps, viewer: Viewer, id: number, name: string): Promise<Team> {
  return changeTeam({ db }, viewer, id, async (transaction, before) => {
    if (before.name === name) return
    await transaction.updateTable('teams').set({ name }).where('id', '=', id).execute().catch(refuseTwin)
    const details = { name: { from: before.name, to: name } }
    await recordAction(transaction, viewer, 'team.updated', { target: { type: 'team', id, name }, details })
  })
}

/** Deletes a team, and its shares of deployments. */
export async function deleteTeam({ db }: Deps, viewer: Viewer, id: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { name } = await requireTeam(transaction, viewer, id)
    await transaction.deleteFrom('teams').where('id', '=', id).execute()
    await recordAction(transaction, viewer, 'team.deleted', { target: { type: 'team', id, name } })
  })
}

/** Adds a member of the organization to a team, or takes one out. Does nothing if that is so already. */
export async function setTeamMember(
  { db }: Deps,
  viewer: Viewer,
  { id, userId, belongs }: { id: number; userId: number; belongs: boolean },
): Promise<void> {
  const { organizationId } = viewer
  await db.transaction().execute(async (transaction) => {
    const { name } = await requireTeam(transaction, viewer, id)
    const member = await findMembership(transaction, organizationId, { userId })
    if (member === undefined) throw new NotFoundError('Your organization has no member with this user id.')
    const { numChanged } = belongs
      ? await addTeamMember(transaction, { id, userId, organizationId, byGroup: false })
      : await removeTeamMember(transaction, id, userId)
    if (numChanged === 0) return
    await recordAction(transaction, viewer, belongs ? 'team.member_added' : 'team.member_removed', {
      target: { type: 'team', id, name },
      details: { user_id: userId, email: member.email },
    })
  })
}

/** Adds a member. One that an admin adds stays when the group of the provider ends. */
export async function addTeamMember(
  transaction: DatabaseTransaction,
  member: { id: number; userId: number; organizationId: number; byGroup: boolean },
): Promise<{ numChanged: number }> {
  const { numInsertedOrUpdatedRows: changed = 0n } = await transaction
    .insertInto('team_members')
    .values({
      team_id: member.id,
      user_id: member.userId,
      organization_id: member.organizationId,
      by_group: member.byGroup,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['team_id', 'user_id'])
        .doUpdateSet({ by_group: false })
        .where('team_members.by_group', '=', !member.byGroup)
        .where('team_members.by_group', '=', true),
    )
    .executeTakeFirst()
  return { numChanged: Number(changed) }
}

export async function removeTeamMember(
  transaction: DatabaseTransaction,
  id: number,
  userId: number,
): Promise<{ numChanged: number }> {
  const { numDeletedRows } = await transaction
    .deleteFrom('team_members')
    .where('team_id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return { numChanged: Number(numDeletedRows) }
}

function changeTeam(
  { db }: Deps,
  viewer: Viewer,
  id: number,
  change: (transaction: DatabaseTransaction, before: { name: string }) => Promise<void>,
): Promise<Team> {
  return db.transaction().execute(async (transaction) => {
    await change(transaction, await requireTeam(transaction, viewer, id))
    return getTeam(transaction, id)
  })
}

async function requireTeam(transaction: DatabaseTransaction, viewer: Viewer, id: number) {
  await holdManager(transaction, viewer)
  const team = await lockTeam(transaction, viewer.organizationId, id)
  if (team === undefined)
    throw new NotFoundError('There is no such team. GET /v1/organization/teams lists them.')
  return team
}

/** Keeps the viewer's role until the transaction ends. Throws `forbidden` if it doesn't manage members. */
async function holdManager(transaction: DatabaseTransaction, viewer: Viewer): Promise<void> {
  if (roleCan(await holdRole(transaction, viewer), 'manageMembers')) return
  throw new ApplicationError('forbidden', 'Only admins manage teams.')
}

function refuseTwin(error: unknown): never {
  if (!violatesUnique(error, 'teams_name_key')) throw error
  throw new ApplicationError('team_exists', 'Your organization has a team of this name already.')
}
