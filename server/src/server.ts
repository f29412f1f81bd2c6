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
import { billingRoutes, billingWebhookRoute } from './features/billing/routes.ts'
import { usageRoutes } from './features/billing/usage-routes.ts'
import { catalogRoutes } from './features/catalog/routes.ts'
import { deploymentRoutes } from './features/deployments/routes.ts'
import { inferenceRoutes } from './features/inference/routes.ts'
import { invitationRoutes, publicInvitationRoutes } from './features/invitations/routes.ts'
import { organizationRoutes } from './features/organizations/routes.ts'
import { ssoRoutes } from './features/sso/routes.ts'
import { statisticsRoutes } from './features/statistics/routes.ts'
import type { App } from './http/app.ts'
import { serveConsole } from './http/console.ts'
import { refuseCrossSite } from './http/csrf.ts'
import { requireViewer } from './http/current-viewer.ts'
import { refuseDoubledHost } from './http/doubled-host.ts'
import { sendProblem, sendPublicError } from './http/errors.ts'
import { healthRoutes } from './http/health.ts'
import { parseJsonBodies } from './http/json-body.ts'
import { trackAllowedMethods } from './http/method-not-allowed.ts'
import { measureRequests } from './http/metrics.ts'
import { describeApi, serveApiDocs } from './http/openapi.ts'

const bodyLimit = 1024 * 1024

/** The HTTP server with every route, public and protected; it does not listen yet. */
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
    // As long as an address can be at all: an id that is too long to be one is a 404 like any other.
    routerOptions: { maxParamLength: 16_384 },
    keepAliveTimeout: 72_000,
    requestTimeout: 300_000,
    // What comes over an open connection while the server shuts down is still served: it was sent before anybody could know.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(sendProblem)
  const allowedMethods = trackAllowedMethods(app)
  const sendConsole = await serveConsole(app, {
    sessionCookie: config.sessionCookie,
    stripe: config.billing.stripe !== null,
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(request.url)
    if (allowed.length === 0 && sendConsole(request, reply)) return
    // A method that the address has: its route did not find the file it was asked for.
    if (allowed.length === 0 || allowed.includes(request.method)) {
      const detail = 'There is nothing at this address.'
      return sendPublicError({ status: 404, code: 'not_found', detail }, request, reply)
    }
    reply.header('allow', allowed.join(', '))
    const detail = `This address knows ${allowed.join(', ')}.`
    return sendPublicError({ status: 405, code: 'method_not_allowed', detail }, request, reply)
  })

  const leaving = new AbortController()
  const draining = new AbortController()
  app.decorate('leaving', leaving)
  app.decorate('draining', draining.signal)
  app.addHook('preClose', async () => {
    leaving.abort()
    draining.abort()
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Callers that keep connections open take the next request elsewhere.
    if (leaving.signal.aborted) reply.header('connection', 'close')
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    done()
  })
  app.addHook('onRequest', refuseDoubledHost)
  app.addHook(
    'onRequest',
    refuseCrossSite({ publicOrigin: config.publicUrl.origin, trustedOrigins: config.csrfTrustedOrigins }),
  )
  parseJsonBodies(app)
  await app.register(fastifyCookie)
  await describeApi(app, { cookieName: config.sessionCookie.name })
  await measureRequests(app, { exposed: config.metricsPort === null })

  await app.register(async (scope: App) => {
    publicAccountRoutes(scope, application)
    passwordResetRoutes(scope, application)
    publicInvitationRoutes(scope, application)
    ssoRoutes(scope, application)
    healthRoutes(scope, application)
    await scope.register(async (webhook: App) => billingWebhookRoute(webhook, application))
  })
  await app.register(async (scope: App) => {
    scope.addHook(
      'onRequest',
      requireViewer(config.sessionCookie, {
        find: (token) => findViewer(application, token),
        findCached: (token) => findCachedViewer(application, token),
        findAndCache: (token) => findAndCacheViewer(application, token),
      }),
    )
    accountRoutes(scope, application)
    catalogRoutes(scope, application)
    deploymentRoutes(scope, application)
    statisticsRoutes(scope, application)
    organizationRoutes(scope, application)
    invitationRoutes(scope, application)
    billingRoutes(scope, application)
    usageRoutes(scope, application)
    await scope.register(async (inference: App) => inferenceRoutes(inference, application))
  })
  const { paymentSandbox } = application
  if (paymentSandbox) await app.register(paymentSandbox.pages)
  await app.register(serveApiDocs)
  return app
}
