import type { FastifyReply } from 'fastify'
import { ApplicationError, NotFoundError } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { readSessionToken, setSessionCookie, toVisitor } from '../../http/current-viewer.ts'
import { bodyProblems, problems } from '../../http/openapi.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import type { Services } from '../../services.ts'
import { hashToken } from '../accounts/link-token.ts'
import { startSession } from '../accounts/sessions.ts'
import { requireOpenInvitation } from '../invitations/require-open-invitation.ts'
import { beginSignIn, flowSeconds } from './begin-sign-in.ts'
import type { SsoErrorCode } from './errors.ts'
import { finishSignIn } from './finish-sign-in.ts'
import { toReturnPath } from './return-path.ts'
import {
  callbackQuery,
  loginQuery,
  providerParams,
  providersBody,
  startBody,
  startedBody,
  toProvider,
  toSignInPage,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'identityProvider' | 'jobs' | 'log'>

const tags = ['Accounts']
const flowCookie = 'sso_flow'
const browserRoute = { exposeHeadRoute: false } as const

export function ssoRoutes(app: App, deps: Deps): void {
  const { config, db, clock, identityProvider } = deps
  const { sessionCookie, publicUrl, sso } = config
  // Lax even if the session cookie is Strict: the browser must send it when the provider redirects back.
  const flowCookieAttributes = {
    path: '/v1/sso',
    httpOnly: true,
    secure: sessionCookie.secure,
    sameSite: 'lax',
  } as const

  function requireProvider(name: string): IdentityProvider {
    if (identityProvider === null || name !== sso?.provider) {
      throw new NotFoundError(
        'Sign-in provider not found. GET /v1/sso/providers lists the configured providers.',
      )
    }
    return identityProvider
  }

  function setFlowCookie(reply: FastifyReply, flowToken: string): void {
    reply.setCookie(flowCookie, flowToken, { ...flowCookieAttributes, maxAge: flowSeconds })
  }

  function redirectToSignIn(reply: FastifyReply, error: SsoErrorCode): FastifyReply {
    return reply.redirect(`/sign-in?error=${error}`)
  }

  app.get(
    '/v1/sso/providers',
    {
      schema: {
        operationId: 'listSsoProviders',
        summary: 'List the identity providers; empty when SSO is not configured',
        tags,
        security: [],
        response: { 200: providersBody },
      },
    },
    () => ({
      providers:
        sso === null
          ? []
          : [
              {
                name: sso.provider,
                display_name: sso.displayName,
                configured: true,
                login_url: `/v1/sso/login/${sso.provider}`,
              },
            ],
    }),
  )

  app.get(
    '/v1/sso/login/:sso_provider',
    {
      ...browserRoute,
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'beginSsoSignIn',
        summary: 'Sign in through the identity provider (opened by a browser)',
        tags,
        security: [],
        params: providerParams,
        querystring: loginQuery,
        response: { 302: toProvider, ...problems(404, 429) },
      },
    },
    async (request, reply) => {
      const provider = requireProvider(request.params.sso_provider)
      const returnTo = toReturnPath(request.query.return_to, publicUrl)
      const pending = await beginSignIn(deps, provider, { returnTo, invitationTokenHash: null })
      reply.header('cache-control', 'no-store')
      if (pending === null) return redirectToSignIn(reply, 'sso_unavailable')
      setFlowCookie(reply, pending.flowToken)
      return reply.redirect(pending.authorizationUrl.href)
    },
  )

  app.get(
    '/v1/sso/callback/:sso_provider',
    {
      ...browserRoute,
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'finishSsoSignIn',
        summary: 'Finish a sign-in when the identity provider redirects back; sets the session cookie',
        tags,
        security: [],
        params: providerParams,
        querystring: callbackQuery,
        response: { 302: toSignInPage, ...problems(404, 429) },
      },
    },
    async (request, reply) => {
      const provider = requireProvider(request.params.sso_provider)
      const visitor = toVisitor(request)
      const result = await finishSignIn(deps, provider, visitor, {
        flowToken: request.cookies[flowCookie] ?? null,
        state: request.query.state ?? null,
        query: request.url.slice(request.url.indexOf('?') + 1),
      })
      reply.header('cache-control', 'no-store')
      if ('error' in result) return redirectToSignIn(reply, result.error)
      const { token, expiresAt } = await startSession(deps, visitor, {
        userId: result.userId,
        authMethod: request.params.sso_provider,
        replaces: readSessionToken(request, sessionCookie),
        endsAt: result.endsAt,
      })
      setSessionCookie(reply, sessionCookie, token, expiresAt)
      reply.clearCookie(flowCookie, flowCookieAttributes)
      return reply.redirect(result.returnTo)
    },
  )

  app.post(
    '/v1/invitations/sso/:sso_provider/start',
    {
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'startInvitationSso',
        summary: 'Accept an invitation by signing in through the identity provider',
        description:
          'The provider must confirm the invited email as verified. The response sets a cookie that must be present in the browser that opens `authorization_url`.',
        tags: ['Invitations'],
        security: [],
        params: providerParams,
        body: startBody,
        response: { 200: startedBody, ...bodyProblems, ...problems(403, 404, 409, 410, 503, 429) },
      },
    },
    async (request, reply) => {
      const provider = requireProvider(request.params.sso_provider)
      const invitationTokenHash = hashToken(request.body.token)
      await requireOpenInvitation(db, invitationTokenHash, clock())
      const pending = await beginSignIn(deps, provider, { returnTo: '/', invitationTokenHash })
      if (pending === null) {
        const detail = 'The identity provider is unreachable. Try again in a minute.'
        throw new ApplicationError('unavailable', 'sso_unavailable', detail, 60)
      }
      setFlowCookie(reply, pending.flowToken)
      return { authorization_url: pending.authorizationUrl.href }
    },
  )
}
