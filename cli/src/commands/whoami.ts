import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { cleanLine } from '../base/text.ts'

/** Shows the person, the organization and the server. */
export async function whoami({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const session = await client.call('GET', '/v1/auth/session')
  const { user } = session
  output.result({ url: client.url, ...session }, () =>
    output.facts([
      ['Name', cleanLine(user.name)],
      ['Email', user.email],
      ['Organization', cleanLine(user.organization)],
      ['Role', user.role.name],
      ['Server', client.url],
      ['Session until', session.session.expires_at],
    ]),
  )
}
