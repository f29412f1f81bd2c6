import { randomUUID } from 'node:crypto'
import fastifyCookie from '@fastify/cookie'
import Fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Application } from './application.ts'
import { accountRoutes, passwordResetRoutes, publicAccountRoutes } from './features/accounts/routes.ts'
import { findAndCacheViewer, findCachedViewer } from './features/accounts/session-cache.ts'
import { findViewer } from './features/accounts/sessions.ts'
import { recordRefusal } from './features/audit/record-action.ts'
import { auditRoutes } from './features/audit/routes.ts'
import { billingRoutes, billingWebhookRoute } from './features/billing/routes.ts'
import { usageRoutes } from './features/billing/usage-routes.ts'
import { catalogRoutes } from './features/catalog/routes.ts'
import { deploymentRoutes } from './features/deployments/routes.ts'
import { inferenceRoutes } from './features/inference/routes.ts'
import { sendUnknownOpenAiRoute } from './features/inference/unknown-routes.ts'
import { invitationRoutes, publicInvitationRoutes } from './features/invitations/routes.ts'
import { installationRoutes } from './features/mail/routes.ts'
import { ownAccountRoutes } from './features/accounts/own-account-routes.ts'
import { secondFactorRoutes } from './features/accounts/second-factor-routes.ts'
import { ownDataRoutes } from './features/members/account-routes.ts'
import { memberRoutes } from './features/members/routes.ts'
import { organizationRoutes } from './features/organizations/routes.ts'
import { ssoRoutes } from './features/sso/routes.ts'
import { statisticsRoutes } from './features/statistics/routes.ts'
import type { App } from './http/app.ts'
import { serveConsole } from './http/console.ts'
import { rejectCrossSite } from './http/csrf.ts'
import { requireViewer } from './http/current-viewer.ts'
import { rejectDuplicateHost } from './http/duplicate-host.ts'
import { forbidCaching, requireHttps } from './http/response-headers.ts'
import { sendEntityTag } from './http/entity-tag.ts'
import { sendProblem, sendPublicError } from './http/errors.ts'
import { healthRoutes } from './http/health.ts'
import { parseJsonBodies } from './http/json-body.ts'
import { rejectUnknownHost } from './http/known-host.ts'
import { requireMinimumRate } from './http/minimum-rate.ts'
import { trackAllowedMethods } from './http/method-not-allowed.ts'
import { measureRequests } from './http/metrics.ts'
import { watchStorage } from './http/storage.ts'
import { limitNetworks } from './http/network-limits.ts'
import { describeApi, serveApiDocs } from './http/openapi.ts'
import { takeTurns } from './http/visitor-turns.ts'

const bodyLimit = 1024 * 1024
/** Account routes take a few short texts, some of them from callers without a session. */
const accountBodyLimit = 64 * 1024

/** Builds the HTTP server with all routes, without listening. */
export async function buildServer(application: Application): Promise<App> {
  const { config } = application
  const loggerInstance: FastifyBaseLogger = application.log
  const app: App = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    trustProxy: config.trustProxy,
    bodyLimit,
    // As long as a URL can be, so that an overlong id is an ordinary 404.
    routerOptions: { maxParamLength: 16_384 },
    keepAliveTimeout: 72_000,
    requestTimeout: 300_000,
    http: {
      headersTimeout: config.minimumRate.timeoutMilliseconds,
      connectionsCheckingInterval: Math.min(5_000, config.minimumRate.timeoutMilliseconds),
    },
    // During shutdown, still serve requests on open connections: the client can't know about the shutdown.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(sendProblem)
  const allowedMethods = trackAllowedMethods(app)
  const sendConsole = await serveConsole(app, {
    sessionCookie: config.sessionCookie,
    publicUrl: config.publicUrl,
    stripe: config.billing.stripe !== null,
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(request.url)
    if (sendUnknownOpenAiRoute(request, reply, allowed)) return
    if (allowed.length === 0 && sendConsole(request, reply)) return
    // If the method is allowed, a static file was not found.
    if (allowed.length === 0 || allowed.includes(request.method)) {
      const detail = 'Nothing exists at this address.'
      return sendPublicError({ status: 404, code: 'not_found', detail }, request, reply)
    }
    reply.header('allow', allowed.join(', '))
    const detail = `Method not allowed. This address accepts ${allowed.join(', ')}.`
    return sendPublicError({ status: 405, code: 'method_not_allowed', detail }, request, reply)
  })

  const shuttingDown = new AbortController()
  const draining = new AbortController()
  app.decorate('shuttingDown', shuttingDown)
  app.decorate('draining', draining.signal)
  app.addHook('preClose', async () => {
    shuttingDown.abort()
    draining.abort()
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Tell keep-alive clients to reconnect elsewhere.
    if (shuttingDown.signal.aborted) reply.header('connection', 'close')
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    done()
  })
  watchStorage(app, config.dataDirectory)
  if (config.publicUrl.protocol === 'https:') app.addHook('onRequest', requireHttps)
  requireMinimumRate(app, config.minimumRate)
  app.addHook('onRequest', rejectDuplicateHost)
  if (config.hosts !== null) app.addHook('onRequest', rejectUnknownHost(config.hosts))
  app.addHook(
    'onRequest',
    rejectCrossSite({ publicOrigin: config.publicUrl.origin, trustedOrigins: config.csrfTrustedOrigins }),
  )
  parseJsonBodies(app)
  await limitNetworks(app, config.networkLimits)
  await app.register(fastifyCookie)
  await describeApi(app, { cookieName: config.sessionCookie.name })
  await measureRequests(app, {
    exposed: config.metricsPort !== null ? 'nobody' : config.metricsPublic ? 'everybody' : 'this machine',
  })

  await app.register(async (scope: App) => {
    limitBodies(scope, accountBodyLimit)
    scope.addHook('onRequest', forbidCaching)
    await scope.register(async (visitors: App) => {
      takeTurns(visitors)
      publicAccountRoutes(visitors, application)
      passwordResetRoutes(visitors, application)
      publicInvitationRoutes(visitors, application)
    })
    ssoRoutes(scope, application)
    healthRoutes(scope, application)
    installationRoutes(scope, application)
  })
  await app.register(async (webhook: App) => billingWebhookRoute(webhook, application))
  await app.register(async (scope: App) => {
    scope.addHook(
      'onRequest',
      requireViewer(config.sessionCookie, {
        find: (token, origin) => findViewer(application, token, origin),
        findCached: (token) => findCachedViewer(application, token),
        findAndCache: (token, origin) => findAndCacheViewer(application, token, origin),
        recordRefusal: (viewer, operation) => recordRefusal(application.db, viewer, operation),
      }),
    )
    scope.addHook('onSend', sendEntityTag)
    await scope.register(async (account: App) => {
      limitBodies(account, accountBodyLimit)
      organizationRoutes(account, application)
      await account.register(async (own: App) => {
        own.addHook('onRequest', forbidCaching)
        accountRoutes(own, application)
        invitationRoutes(own, application)
        auditRoutes(own, application)
        memberRoutes(own, application)
        ownAccountRoutes(own, application)
        secondFactorRoutes(own, application)
        ownDataRoutes(own, application)
      })
    })
    catalogRoutes(scope, application)
    deploymentRoutes(scope, application)
    statisticsRoutes(scope, application)
    billingRoutes(scope, application)
    usageRoutes(scope, application)
    await scope.register(async (inference: App) => inferenceRoutes(inference, application))
  })
  const { paymentSandbox } = application
  if (paymentSandbox) await app.register(paymentSandbox.pages)
  await app.register(serveApiDocs)
  return app
}

/** Limits the bodies of all routes that are added to this scope later. */
function limitBodies(scope: App, bytes: number): void {
  scope.addHook('onRoute', (route) => {
    route.bodyLimit ??= bytes
  })
}
