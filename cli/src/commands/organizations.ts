import type { OwnOrganization } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { cleanLine } from '../base/text.ts'

/** Lists the person's organizations; an asterisk marks the current one. */
export async function listOrganizations({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const organizations = await client.call('GET', '/v1/user/organizations')
  output.result(organizations, () =>
    output.table(
      ['', 'SLUG', 'NAME', 'ROLE'],
      organizations.map(({ current, slug, name, role }) => [current ? '*' : '', slug, name, role]),
    ),
  )
}

/** Makes another organization the current one. */
export async function switchOrganization({ env, output }: Context, wanted: string): Promise<void> {
  const client = await connectClient(env)
  const { id, name } = findOrganization(await client.call('GET', '/v1/user/organizations'), wanted)
  const session = await client.call('PATCH', '/v1/user/profile', { body: { current_organization_id: id } })
  output.result(session, () => output.line(`Your organization is now ${cleanLine(name)}.`))
}

/** Finds by slug, id, or name in any case. */
function findOrganization(organizations: readonly OwnOrganization[], wanted: string): OwnOrganization {
  const exact = organizations.find(({ id, slug }) => slug === wanted || String(id) === wanted)
  if (exact) return exact
  const named = organizations.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  if (named.length === 1) return named[0]!
  const slugs = (named.length > 1 ? named : organizations).map(({ slug }) => slug).join(', ')
  throw new CommandError(
    named.length > 1
      ? `Several of your organizations have the name ${wanted}. Use one of ${slugs}.`
      : `You are not a member of ${wanted}. Your organizations are ${slugs}.`,
  )
}
