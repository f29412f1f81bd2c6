import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import type { App } from './app.ts'
import { readSessionToken } from './current-viewer.ts'
import { differOnlyInLoopbackName } from '../base/loopback.ts'
import { varyBy } from './response-headers.ts'

const dist = fileURLToPath(new URL('../../../console/dist/', import.meta.url))

/** Prefixes that never lead to a page of the console. */
const otherPrefixes = ['/v1/', '/api/', '/assets/', '/docs/', '/downloads/', '/redoc/', '/sandbox/']

/** The pages that emails link to. Scanners of mail ask for them without naming HTML. */
const mailedPages = /^\/(?:reset-password|verify-email|invitations|deployments|billing|usage)(?:[/?]|$)/

/** Sends the console if a browser requests one of its pages. Returns true if it did. */
export type SendConsole = (request: FastifyRequest, reply: FastifyReply) => boolean

interface ConsoleOptions {
  sessionCookie: Config['sessionCookie']
  publicUrl: URL
  /** True if pages embed Stripe's card form */
  stripe: boolean
}

/**
 * Serves the files of the built console. The console's page is served at every unknown path, because its
 * router runs in the browser. If the console is not built, `/` redirects to the API documentation.
 */
export async function serveConsole(
  app: App,
  { sessionCookie, publicUrl, stripe }: ConsoleOptions,
): Promise<SendConsole> {
  if (!existsSync(`${dist}index.html`)) {
    app.log.warn('The web console is not built, so / redirects to /docs. Run `npm run build`.')
    app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'))
    return () => false
  }
  await app.register(fastifyStatic, {
    root: `${dist}assets`,
    prefix: '/assets/',
    decorateReply: false,
    preCompressed: true,
    // File names contain a hash of the content.
    immutable: true,
    maxAge: '1y',
    schemaHide: true,
  })
  const icon = readFileSync(`${dist}favicon.svg`)
  app.get('/favicon.svg', { schema: { hide: true } }, (_request, reply) =>
    reply.header('cache-control', 'public, max-age=86400').type('image/svg+xml').send(icon),
  )

  const send = (request: FastifyRequest, reply: FastifyReply) => {
    // A session of the other name would be lost on the way back from the payment or identity provider.
    const requested = URL.parse(`${request.protocol}://${request.host}`)
    if (requested !== null && differOnlyInLoopbackName(requested, publicUrl)) {
      return reply.header('cache-control', 'no-store').redirect(publicUrl.origin + request.url, 302)
    }
    // With SameSite=Strict, a browser omits the cookie when a link on another site leads here.
    const mayHaveSession =
      sessionCookie.sameSite === 'strict' || readSessionToken(request, sessionCookie) !== null
    // Not cached: a new build changes the file names while the server runs.
    const page = readFileSync(dist + (mayHaveSession ? findFirstView(request.url) : 'visitor.html'), 'utf8')
    const { theme } = request.cookies
    const nonce = randomBytes(16).toString('base64')
    varyBy(reply, 'Cookie')
    return (
      reply
        .header('content-security-policy', contentSecurityPolicy(nonce, stripe))
        .header('cache-control', 'no-cache')
        .header('cross-origin-opener-policy', stripe ? 'same-origin-allow-popups' : 'same-origin')
        .header('permissions-policy', 'camera=(), geolocation=(), microphone=()')
        // Links in emails contain secrets.
        .header('referrer-policy', 'no-referrer')
        .type('text/html; charset=utf-8')
        .send(
          page
            .replaceAll('__CSP_NONCE__', nonce)
            .replace('__THEME__', theme === 'light' || theme === 'dark' ? theme : 'system'),
        )
    )
  }
  app.get('/', { schema: { hide: true } }, (request, reply) => send(request, reply))
  return (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    const { accept = '*/*' } = request.headers
    if (!accept.includes('text/html') && !(accept.includes('*/*') && mailedPages.test(request.url)))
      return false
    if (otherPrefixes.some((prefix) => request.url.startsWith(prefix))) return false
    send(request, reply.status(200))
    return true
  }
}

/** The file with the static frame and the preloads of a page; console/first-views.ts writes these files. */
function findFirstView(url: string): string {
  const match = /^\/([a-z]+)?(\/[^/?]+)?\/?(?:\?|$)/.exec(url)
  if (match === null) return 'index.html'
  const [, name = 'deployments', item] = match
  const file = `first-views/${name}${item === undefined ? '' : '-item'}.html`
  return existsSync(dist + file) ? file : 'index.html'
}

/**
 * CSP Level 3: scripts and styles only from this server. The nonce is for the style element that an open
 * dialog adds. Stripe's hosts are those in its security guide for Stripe.js and embedded Checkout.
 */
function contentSecurityPolicy(nonce: string, stripe: boolean): string {
  const stripeSource = (...names: string[]) =>
    stripe ? names.map((name) => ` https://${name}.stripe.com`).join('') : ''
  return [
    "default-src 'none'",
    `script-src 'self'${stripeSource('js', '*.js', 'checkout')}`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:${stripeSource('*')}`,
    "font-src 'self'",
    `connect-src 'self'${stripeSource('api', 'checkout')}`,
    ...(stripe ? [`frame-src${stripeSource('js', '*.js', 'hooks', 'checkout')}`] : []),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
