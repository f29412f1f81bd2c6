import { randomUUID } from 'node:crypto'
import fastifyCookie from '@fastify/cookie'
import Fastify, { LogController } from 'fastify'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { ApplicationError, NotFoundError } from '../base/errors.ts'
import type { Application } from '../wiring/application.ts'
import type { Config } from '../config/config.ts'
import { recordRefusal } from '../features/audit/record-action.ts'
import { auditRoutes } from '../features/audit/routes.ts'
import { billingRoutes, billingWebhookRoute } from '../features/billing/routes.ts'
import { proofRoutes } from '../features/billing/proof-routes.ts'
import { usageRoutes } from '../features/billing/usage-routes.ts'
import { budgetRoutes } from '../features/billing/budgets/routes.ts'
import { catalogRoutes } from '../features/catalog/routes.ts'
import { followRoutes } from '../features/deployments/follow-routes.ts'
import { newsRoutes } from '../features/deployments/news-routes.ts'
import { deploymentRoutes } from '../features/deployments/routes.ts'
import { inferenceRoutes } from '../features/inference/routes.ts'
import { sendUnknownInferenceRoute } from '../features/inference/unknown-routes.ts'
import { ownInvitationRoutes, publicInvitationRoutes } from '../features/invitations/answer-routes.ts'
import { repeatCreations } from '../features/idempotency/creating-routes.ts'
import { invitationRoutes } from '../features/invitations/routes.ts'
import { installationRoutes } from '../features/installation/routes.ts'
import { endpointRoutes } from '../features/endpoints/routes.ts'
import { ownModelRoutes } from '../features/own-models/routes.ts'
import { modelFileRoutes } from '../features/own-models/uploads/file-routes.ts'
import { uploadRoutes } from '../features/own-models/uploads/routes.ts'
import { ownDataRoutes } from '../features/own-account/data-routes.ts'
import { operatorRoutes } from '../features/operators/routes.ts'
import { measureFleet } from '../features/operators/fleet-metrics.ts'
import { measureGpus } from '../features/operators/gpu-metrics.ts'
import { measureOperations } from '../features/operators/operations-metrics.ts'
import { webhookRoutes } from '../features/alerts/routes.ts'
import { memberRoutes } from '../features/members/routes.ts'
import { organizationRoutes } from '../features/organizations/routes.ts'
import { scriptSessionRoutes } from '../features/own-account/script-session-routes.ts'
import { secondFactorRoutes } from '../features/second-factors/routes.ts'
import { serviceMemberRoutes } from '../features/service-members/routes.ts'
import { teamRoutes } from '../features/teams/routes.ts'
import { findViewer } from '../features/sessions/find-viewer.ts'
import { profileRoutes } from '../features/own-account/profile-routes.ts'
import { currentSessionRoute, ownSessionRoutes } from '../features/sessions/routes.ts'
import { findAndCacheViewer, findCachedViewer } from '../features/sessions/session-cache.ts'
import { emailVerificationRoutes } from '../features/sign-in/email-verification-routes.ts'
import { changePasswordRoute, passwordResetRoutes } from '../features/sign-in/password-routes.ts'
import { signInRoutes } from '../features/sign-in/routes.ts'
import { domainRoutes } from '../features/domains/routes.ts'
import { identityRoutes } from '../features/sso/identity-routes.ts'
import { backChannelLogoutRoute } from '../features/sso/logout-routes.ts'
import { ssoRoutes } from '../features/sso/routes.ts'
import { signOutRoute } from '../features/sso/sign-out-routes.ts'
import { readDefaults } from '../features/placement/plan.ts'
import { placementRoutes } from '../features/placement/routes.ts'
import { weightRoutes } from '../features/weights/routes.ts'
import { requestRoutes } from '../features/statistics/request-routes.ts'
import { benchmarkRoutes } from '../features/benchmarks/routes.ts'
import { statisticsRoutes } from '../features/statistics/routes.ts'
import type { App } from '../http/app.ts'
import { serveConsole } from '../http/console.ts'
import { allowOrigins } from '../http/cross-origin.ts'
import { readSessionToken, requireViewer } from '../http/current-viewer.ts'
import { forbidCaching, httpsOnly, requireHttps } from '../http/response-headers.ts'
import { serveDownloads } from '../http/downloads.ts'
import { sendEntityTag } from '../http/entity-tag.ts'
import { sendProblem } from '../http/errors.ts'
import { answerClientError, parsedHeaderBytes } from '../http/answer-client-error.ts'
import { answerAtEnd } from '../http/answer-at-end.ts'
import { openFastPath } from '../http/fast-path.ts'
import type { Guard } from '../http/guards.ts'
import {
  refuseCrossSite,
  refuseDuplicateHost,
  refuseLongHeaders,
  refuseUnknownHosts,
  rejectRefused,
} from '../http/guards.ts'
import { healthRoutes } from '../http/health.ts'
import { parseJsonBodies } from '../http/json-body.ts'
import { requireMinimumRate } from '../http/minimum-rate.ts'
import { trackAllowedMethods } from '../http/method-not-allowed.ts'
import { measureRequests } from '../http/metrics.ts'
import { watchStorage } from '../http/storage.ts'
import { limitNetworks } from '../http/network-limits.ts'
import { serveApiDocs } from '../http/openapi/api-docs.ts'
import { describeApi } from '../http/openapi/describe-api.ts'
import { takeTurns } from '../http/visitor-turns.ts'

const bodyLimit = 1024 * 1024
/** Account routes take a few short texts, some of them from callers without a session. */
const accountBodyLimit = 64 * 1024

/**
 * Builds the HTTP server with all routes, without listening. A new route joins one of these scopes:
 *
 * | scope       | callers                    | body limit             | hooks besides those of `addHooks`              |
 * | ----------- | -------------------------- | ---------------------- | ---------------------------------------------- |
 * | `visitors`  | without a session          | 64 KiB                 | no caching; requests of a visitor take turns   |
 * | `open`      | without a session          | 64 KiB                 | no caching                                     |
 * | `webhook`   | the payment processor      | its route's            | its route checks the signature of the raw body |
 * | `logout`    | the identity provider      | 64 KiB                 | its route checks the signature of the token    |
 * | `engines`   | engines                    | 1 MiB                  | its routes check the key of a deployment       |
 * | `own`       | signed in                  | 64 KiB                 | session, entity tag, no caching                |
 * | `account`   | signed in                  | 64 KiB                 | session, entity tag                            |
 * | `signedIn`  | signed in                  | 1 MiB                  | session, entity tag                            |
 * | `uploads`   | signed in, tus clients     | none                   | session; the routes read the bodies            |
 * | `inference` | signed in, OpenAI clients  | `INFERENCE_BODY_LIMIT` | session; raw bodies, errors in OpenAI's shape  |
 */
export async function buildServer(application: Application): Promise<App> {
  const { config } = application
  const app = createHttpServer(application)
  const allowedMethods = trackAllowedMethods(app)
  const sendConsole = await serveConsole(app, {
    sessionCookie: config.sessionCookie,
    publicUrl: config.publicUrl,
    stripe: config.billing.stripe !== null,
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(request.url)
    if (sendUnknownInferenceRoute(request, reply, allowed)) return
    if (allowed.length === 0 && sendConsole(request, reply)) return
    return sendUnknownRoute(request, reply, allowed)
  })
  const guards = [
    refuseDuplicateHost,
    refuseLongHeaders,
    refuseUnknownHosts(config.hosts),
    refuseCrossSite({ publicOrigin: config.publicUrl.origin, trustedOrigins: config.csrfTrustedOrigins }),
  ]
  const watchRate = await addHooks(app, config, guards)
  measureOperations(app.metrics, application)
  measureFleet(app.metrics, application)
  measureGpus(app.metrics, application)
  openFastPath(app, {
    headers: config.publicUrl.protocol === 'https:' ? { ...everyResponse, ...httpsOnly } : everyResponse,
    guards,
    findViewer(cookies) {
      const token = readSessionToken({ cookies: app.parseCookie(cookies) }, config.sessionCookie)
      return token === null ? null : findCachedViewer(application, token)
    },
    findAddress: ({ headers, socket }) =>
      config.trustProxy !== false && headers['x-forwarded-for'] !== undefined
        ? null
        : (socket.remoteAddress ?? null),
    watchRate,
  })
  await app.register(async (open: App) => addPublicRoutes(open, application))
  await app.register(async (webhook: App) => billingWebhookRoute(webhook, application))
  await app.register(async (logout: App) => backChannelLogoutRoute(logout, application))
  await app.register(async (engines: App) => modelFileRoutes(engines, application))
  await app.register(async (signedIn: App) => addProtectedRoutes(signedIn, application))
  const { paymentSandbox } = application
  if (paymentSandbox) await app.register(paymentSandbox.pages)
  await app.register(serveApiDocs)
  await serveDownloads(app)
  return app
}

/** Creates an HTTP server without routes, whose log and errors are those of Berth. */
export function createHttpServer({ config, log }: Application): App {
  const loggerInstance: FastifyBaseLogger = log
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
    // `requireMinimumRate` limits the time of a body.
    requestTimeout: 0,
    clientErrorHandler: answerClientError,
    http: {
      maxHeaderSize: parsedHeaderBytes,
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
  return app
}

/** Responds to a URL that no route serves, or not with this method. */
function sendUnknownRoute(request: FastifyRequest, reply: FastifyReply, allowed: readonly string[]) {
  // If the method is allowed, a static file was not found.
  if (allowed.length === 0 || allowed.includes(request.method)) {
    return sendProblem(new NotFoundError('Nothing exists at this address.'), request, reply)
  }
  reply.header('allow', allowed.join(', '))
  const message = `Method not allowed. This address accepts ${allowed.join(', ')}.`
  return sendProblem(new ApplicationError('method_not_allowed', message), request, reply)
}

/** Adds the hooks of every route. They run in this order. Returns the watch of a connection's rate. */
async function addHooks(app: App, config: Config, guards: readonly Guard[]) {
  announceShutdown(app)
  answerAtEnd(app)
  // Before the hooks that refuse requests, so that pages of these origins can read the reason.
  await allowOrigins(app, config.csrfTrustedOrigins)
  watchStorage(app, config.dataDirectory)
  if (config.publicUrl.protocol === 'https:') app.addHook('onRequest', requireHttps)
  const watchRate = requireMinimumRate(app, config.minimumRate)
  app.addHook('onRequest', rejectRefused(guards))
  parseJsonBodies(app)
  await limitNetworks(app, config)
  await app.register(fastifyCookie)
  await describeApi(app, { cookieName: config.sessionCookie.name })
  await measureRequests(app, { exposed: config.metricsPort === null ? 'this machine' : 'nobody' })
  return watchRate
}

const everyResponse = { 'x-content-type-options': 'nosniff' }

/** Adds the signals of a shutdown, and the headers of every response. */
export function announceShutdown(app: App): void {
  const shuttingDown = new AbortController()
  const draining = new AbortController()
  const ending = new AbortController()
  app.decorate('shuttingDown', shuttingDown)
  app.decorate('draining', draining.signal)
  app.decorate('ending', ending)
  app.addHook('preClose', async () => {
    shuttingDown.abort()
    draining.abort()
  })
  app.addHook('onRequest', (request, reply, done) => {
    // Tell keep-alive clients to reconnect elsewhere.
    if (shuttingDown.signal.aborted) reply.header('connection', 'close')
    reply.header('x-request-id', request.id)
    reply.headers(everyResponse)
    done()
  })
}

async function addPublicRoutes(open: App, application: Application): Promise<void> {
  limitBodies(open, accountBodyLimit)
  open.addHook('onRequest', forbidCaching)
  await open.register(async (visitors: App) => {
    takeTurns(visitors)
    signInRoutes(visitors, application)
    passwordResetRoutes(visitors, application)
    publicInvitationRoutes(visitors, application)
  })
  ssoRoutes(open, application)
  healthRoutes(open, application)
  installationRoutes(open, application)
}

async function addProtectedRoutes(signedIn: App, application: Application): Promise<void> {
  signedIn.addHook(
    'onRequest',
    requireViewer(application.config, {
      find: (token, origin) => findViewer(application, token, origin),
      findCached: (token) => findCachedViewer(application, token),
      findAndCache: (token, origin) => findAndCacheViewer(application, token, origin),
      recordRefusal: (viewer, operation) =>
        recordRefusal(application.db, viewer, { type: 'route', id: operation }),
    }),
  )
  signedIn.addHook('onSend', sendEntityTag)
  repeatCreations(signedIn, application)
  await signedIn.register(async (account: App) => {
    limitBodies(account, accountBodyLimit)
    organizationRoutes(account, application)
    webhookRoutes(account, application)
    await account.register(async (own: App) => {
      own.addHook('onRequest', forbidCaching)
      currentSessionRoute(own)
      profileRoutes(own, application)
      emailVerificationRoutes(own, application)
      signOutRoute(own, application)
      invitationRoutes(own, application)
      ownInvitationRoutes(own, application)
      auditRoutes(own, application)
      memberRoutes(own, application)
      serviceMemberRoutes(own, application)
      teamRoutes(own, application)
      changePasswordRoute(own, application)
      ownSessionRoutes(own, application)
      scriptSessionRoutes(own, application)
      secondFactorRoutes(own, application)
      identityRoutes(own, application)
      domainRoutes(own, application)
      ownDataRoutes(own, application)
      operatorRoutes(own, application)
    })
  })
  catalogRoutes(signedIn, { ...application, readDefaults: () => readDefaults(application) })
  ownModelRoutes(signedIn, application)
  endpointRoutes(signedIn, application)
  placementRoutes(signedIn, application)
  weightRoutes(signedIn, application)
  deploymentRoutes(signedIn, application)
  followRoutes(signedIn, application)
  newsRoutes(signedIn, application)
  statisticsRoutes(signedIn, application)
  requestRoutes(signedIn, application)
  benchmarkRoutes(signedIn, application)
  billingRoutes(signedIn, application)
  usageRoutes(signedIn, application)
  proofRoutes(signedIn, application)
  budgetRoutes(signedIn, application)
  await signedIn.register(async (uploads: App) => uploadRoutes(uploads, application))
  await signedIn.register(async (inference: App) => inferenceRoutes(inference, application))
}

/** Limits the bodies of all routes that are added to this scope later. */
function limitBodies(scope: App, bytes: number): void {
  scope.addHook('onRoute', (route) => {
    route.bodyLimit ??= bytes
  })
}
