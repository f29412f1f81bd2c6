import type { IssuedServiceMember, ServiceMember } from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { CommandError, usageError } from '../base/errors.ts'

/** Lists the programs that are members of the organization. */
export async function listServiceMembers({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const members = await client.call('GET', '/v1/organization/service-members')
  output.result(members, () => {
    output.table(
      ['ID', 'EMAIL', 'NAME', 'ROLE', 'NETWORKS', 'NAMES MEMBERS'],
      members.map(({ id, email, name, role, allowed_networks: networks, ...naming }) => [
        String(id),
        email,
        name,
        role,
        networks.join(', '),
        naming.may_name_members ? (naming.member_header ?? 'yes') : '',
      ]),
      'No programs. `berth service-members add` adds one.',
    )
  })
}

/** Adds a program to the organization, and prints its credentials. */
export async function addServiceMember(
  context: Context,
  name: string,
  { role, network, ...naming }: { role: 'viewer' | 'member'; network: string[] } & NamingOptions,
): Promise<void> {
  const client = await connectClient(context.env)
  const body = { name, role, allowed_networks: network, ...toNaming(naming) }
  printCredentials(
    context,
    client.url,
    await client.call('POST', '/v1/organization/service-members', { body }),
  )
}

/** Changes the networks of a program, or whether it may name members. */
export async function updateServiceMember(
  { env, output }: Context,
  id: number,
  { network, ...naming }: { network?: string[] } & NamingOptions,
): Promise<void> {
  const body = { ...(network && { allowed_networks: network }), ...toNaming(naming) }
  if (Object.keys(body).length === 0)
    throw usageError('Say what changes: --network, --may-name-members or --member-header.')
  const client = await connectClient(env)
  await findServiceMember(client, id)
  const path = { member_id: id }
  const member = await client.call('PATCH', '/v1/organization/service-members/{member_id}', { path, body })
  output.result(member, () => output.note(`Changed ${member.name}.`))
}

interface NamingOptions {
  mayNameMembers?: boolean
  memberHeader?: string
}

function toNaming({ mayNameMembers, memberHeader }: NamingOptions) {
  return {
    ...(mayNameMembers !== undefined && { may_name_members: mayNameMembers }),
    ...(memberHeader !== undefined && { member_header: memberHeader }),
  }
}

/** Gives a program a new password, and prints its credentials. */
export async function rotatePassword(
  context: Context,
  id: number,
  { now }: { now?: boolean },
): Promise<void> {
  const client = await connectClient(context.env)
  await findServiceMember(client, id)
  const issued = await client.call('POST', '/v1/organization/service-members/{member_id}/rotate', {
    path: { member_id: id },
    query: { now: now ?? false },
  })
  printCredentials(context, client.url, issued)
  if (!now) context.output.note('The old password works 24 hours more.')
}

/** Removes a program from the organization. Throws for a person, whom `members` lists too. */
export async function removeServiceMember(
  { env, output }: Context,
  id: number,
  { endDeployments }: { endDeployments?: boolean },
): Promise<void> {
  const client = await connectClient(env)
  const member = await findServiceMember(client, id)
  try {
    await client.call('DELETE', '/v1/organization/members/{member_id}', {
      path: { member_id: id },
      query: endDeployments ? { deployments: 'end' } : {},
    })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'deployments_active')) throw error
    throw new CommandError(`${member.name} has deployments. --end-deployments terminates them too.`)
  }
  output.result(member, () => output.note(`Removed ${member.name}.`))
}

async function findServiceMember(client: Client, id: number): Promise<ServiceMember> {
  const member = (await client.call('GET', '/v1/organization/service-members')).find((each) => each.id === id)
  if (member) return member
  throw new CommandError(`There is no service member ${id}. \`berth service-members\` lists them.`)
}

function printCredentials({ output }: Context, url: string, issued: IssuedServiceMember): void {
  output.result(issued, () => {
    output.line(`BERTH_URL=${url}`)
    output.line(`BERTH_EMAIL=${issued.email}`)
    output.line(`BERTH_PASSWORD=${issued.password}`)
  })
  output.note('The password is not shown again.')
}
