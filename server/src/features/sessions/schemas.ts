import { z } from 'zod'
import { roleIds } from '../../base/roles.ts'
import type { RoleName } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import { email, entityId, pathId, timestamp } from '../../http/schemas.ts'
import type { OwnSession } from './store.ts'

export const sessionBody = z
  .object({
    authenticated: z.literal(true).describe('Always true'),
    user: z
      .object({
        id: entityId.describe('Your id'),
        email: email.describe('Your email'),
        name: z.string().describe('Your name'),
        kind: z.enum(['person', 'service']).describe('`service` for a service member'),
        organization: z.string().describe('Name of your current organization'),
        role: z
          .object({
            id: entityId.describe('Number of the role'),
            name: z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]]).describe('Name of the role'),
          })
          .describe('Your role in the organization'),
        operator: z.boolean().describe('true if you may see the whole installation'),
        requires_profile_completion: z
          .boolean()
          .describe('true for a new SSO account until it names its organization'),
        requires_email_verification: z
          .boolean()
          .describe(
            'true until you open the emailed link, if this installation requires that: you can neither deploy nor invite until then',
          ),
        requires_second_factor_setup: z
          .boolean()
          .describe(
            'true if your organization requires a second factor and you have none: only personal routes work',
          ),
      })
      .describe('You'),
    session: z
      .object({
        expires_at: timestamp.describe('End of the session; use extends it'),
        auth_method: z.string().describe('`password`, or the name of the SSO provider'),
      })
      .describe('This session'),
  })
  .meta({ id: 'Session', description: 'Your session and your current organization' })

export function toSessionBody(viewer: Viewer): z.infer<typeof sessionBody> {
  return {
    authenticated: true,
    user: {
      id: viewer.userId,
      email: viewer.email,
      name: viewer.name,
      kind: viewer.allowedNetworks === null ? 'person' : 'service',
      organization: viewer.organizationName,
      role: { id: roleIds[viewer.role], name: viewer.role },
      operator: viewer.isOperator,
      requires_profile_completion: viewer.requiresProfileCompletion,
      requires_email_verification: viewer.requiresEmailVerification,
      requires_second_factor_setup: viewer.requiresSecondFactorSetup,
    },
    session: {
      expires_at: viewer.session.expiresAt.toISOString(),
      auth_method: viewer.session.authMethod,
    },
  }
}

export const sessionParams = z.object({ session_id: pathId.describe('Id of one of your sessions') })

export const ownSessionBody = z
  .object({
    id: entityId.describe('For ending the session'),
    kind: z
      .enum(['sign_in', 'script'])
      .describe('`sign_in` for one that a sign-in started, `script` for one that you created for a script'),
    name: z.string().nullable().describe('The name of a session for a script, otherwise null'),
    created_at: timestamp.describe('The sign-in'),
    expires_at: timestamp.describe('End of the session; use extends it'),
    last_seen_at: timestamp.describe('Exact to ten minutes'),
    address: z.string().nullable().describe('IP address of the latest use; null before the first use'),
    user_agent: z.string().nullable().describe('The browser or program of the latest use'),
    auth_method: z.string().describe('`password`, or the name of the SSO provider'),
    current: z.boolean().describe('Whether this request uses the session'),
  })
  .meta({ id: 'OwnSession', description: 'One of your sessions' })

export const ownSessionsBody = z.array(ownSessionBody).describe('Your active sessions, latest use first')

export function toOwnSessionBody(session: OwnSession, currentId: number): z.infer<typeof ownSessionBody> {
  const { id, created_at, expires_at, last_seen_at, address, user_agent, auth_method, script_name } = session
  return {
    id,
    kind: script_name === null ? 'sign_in' : 'script',
    name: script_name,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
    last_seen_at: last_seen_at.toISOString(),
    address,
    user_agent,
    auth_method,
    current: id === currentId,
  }
}
