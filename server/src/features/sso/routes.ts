import type { FastifyReply } from 'fastify'
import { ApplicationError } from '../../base/errors.ts'
import type { App } from '../../http/app.ts'
import { readSessionToken, setSessionCookie, toVisitor } from '../../http/current-viewer.ts'
import type { Services } from '../../services.ts'
import { hashToken } from '../../base/hash-token.ts'
import { answerErrors } from '../invitations/errors.ts'
import { requireOpenInvitation } from '../invitations/require-open-invitation.ts'
import { startSignIn, flowSeconds } from './start-sign-in.ts'
import type { SsoErrorCode } from './errors.ts'
import { finishSignIn } from './finish-sign-in.ts'
import { ssoCookieAttributes } from './cookies.ts'
import { forgetSignOut, mustAsk } from './sign-out-routes.ts'
import { requireProvider } from './require-provider.ts'
import { toReturnPath } from './return-path.ts'
import {
  callbackQuery,
  loginQuery,
  providerParams,
  providersBody,
  startBody,
  startedBody,
  toProvider,
  toProviderBody,
  toSignInPage,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'identityProvider' | 'jobs' | 'log' | 'secretKey'>

const tags = ['Accounts']
const flowCookie = 'sso_flow'
const browserRoute = { exposeHeadRoute: false } as const

export function ssoRoutes(app: App, deps: Deps): void {
  const { sessionCookie, sso } = deps.config
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
    () => ({ providers: sso === null ? [] : [toProviderBody(sso)] }),
  )

  app.get(
    '/v1/sso/login/:sso_provider',
    {
      ...browserRoute,
      config: { networkLimit: true },
      schema: {
        operationId: 'startSsoSignIn',
        summary: 'Sign in through the identity provider (opened by a browser)',
        tags,
        security: [],
        params: providerParams,
        querystring: loginQuery,
        responseHeaders: { Location: 'Where to go', 'Set-Cookie': 'A cookie for the callback' },
        response: { 302: toProvider },
        errors: ['not_found'],
      },
    },
    async (request, reply) => {
      const provider = requireProvider(deps, request.params.sso_provider)
      const returnTo = toReturnPath(request.query.return_to, deps.config.publicUrl)
      const pending = await startSignIn(deps, provider, {
        returnTo,
        invitationTokenHash: null,
        asks: mustAsk(request),
      })
      reply.header('cache-control', 'no-store')
      if (pending === null) return redirectToSignIn(reply, 'sso_unavailable')
      setFlowCookie(deps, reply, pending.flowToken)
      return reply.redirect(pending.authorizationUrl.href)
    },
  )

  app.get(
    '/v1/sso/callback/:sso_provider',
    {
      ...browserRoute,
      config: { networkLimit: true },
      schema: {
        operationId: 'finishSsoSignIn',
        summary: 'Finish a sign-in when the identity provider redirects back; sets the session cookie',
        tags,
        security: [],
        params: providerParams,
        querystring: callbackQuery,
        responseHeaders: { Location: 'Where to go', 'Set-Cookie': 'The session cookie' },
        response: { 302: toSignInPage },
        errors: ['not_found'],
      },
    },
    async (request, reply) => {
      const provider = requireProvider(deps, request.params.sso_provider)
      reply.header('cache-control', 'no-store')
      // The provider returns here after a sign-out too.
      if (!request.url.includes('?')) return reply.redirect('/sign-in')
      const callback = {
        flowToken: request.cookies[flowCookie] ?? null,
        state: request.query.state ?? null,
        query: request.url.slice(request.url.indexOf('?') + 1),
      }
      const result = await finishSignIn(deps, provider, toVisitor(request), callback, {
        authMethod: request.params.sso_provider,
        replaces: readSessionToken(request, sessionCookie),
      })
      if ('error' in result) return redirectToSignIn(reply, result.error)
      setSessionCookie(reply, sessionCookie, result.session.token, result.session.expiresAt)
      reply.clearCookie(flowCookie, ssoCookieAttributes(deps))
      forgetSignOut(deps, reply)
      return reply.redirect(result.returnTo)
    },
  )

  app.post(
    '/v1/invitations/sso/:sso_provider/start',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'startInvitationSso',
        summary: 'Accept an invitation by signing in through the identity provider',
        description:
          'The provider must say that the invited email is verified. The response sets a cookie that must be present in the browser that opens `authorization_url`.',
        tags: ['Invitations'],
        security: [],
        params: providerParams,
        body: startBody,
        responseHeaders: { 'Set-Cookie': 'A cookie for the callback' },
        response: { 200: startedBody },
        errors: [...answerErrors, 'invitation_replaced', 'sso_unavailable'],
      },
    },
    async (request, reply) => {
      const provider = requireProvider(deps, request.params.sso_provider)
      const invitationTokenHash = hashToken(request.body.token)
      await requireOpenInvitation(deps.db, invitationTokenHash, deps.clock())
      const pending = await startSignIn(deps, provider, {
        returnTo: '/',
        invitationTokenHash,
        asks: mustAsk(request),
      })
      if (pending === null) {
        const detail = 'The identity provider is unreachable. Try again in a minute.'
        throw new ApplicationError('sso_unavailable', detail, 60)
      }
      setFlowCookie(deps, reply, pending.flowToken)
      return { authorization_url: pending.authorizationUrl.href }
    },
  )
}

function setFlowCookie(deps: Deps, reply: FastifyReply, flowToken: string): void {
  reply.setCookie(flowCookie, flowToken, { ...ssoCookieAttributes(deps), maxAge: flowSeconds })
}

function redirectToSignIn(reply: FastifyReply, error: SsoErrorCode): FastifyReply {
  return reply.redirect(`/sign-in?error=${error}`)
}
