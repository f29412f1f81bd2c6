import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { App } from './app.ts'
import { readSessionToken } from './current-viewer.ts'

const dist = fileURLToPath(new URL('../../../console/dist/', import.meta.url))

/** What is not a page of the console even where nothing else answers. */
const otherPrefixes = ['/v1/', '/api/', '/assets/', '/docs/', '/redoc/', '/sandbox/']

/** Answers with the console if the request is a browser's for one of its pages; tells whether it did. */
export type SendConsole = (request: FastifyRequest, reply: FastifyReply) => boolean

interface ConsoleOptions {
  sessionCookie: Config['sessionCookie']
  /** Whether cards are entered in Stripe's own form within the page. */
  stripe: boolean
}

/**
 * Serves the built console's files; the page itself stands at every address that nothing else has, for its router reads
 * the address in the browser. Without a built console `/` leads to the API's description.
 */
export async function serveConsole(
  app: App,
  { sessionCookie, stripe }: ConsoleOptions,
): Promise<SendConsole> {
  if (!existsSync(`${dist}index.html`)) {
    app.log.warn('The web console is not built, so that / leads to /docs: run `npm run build`.')
    app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'))
    return () => false
  }
  await app.register(fastifyStatic, {
    root: `${dist}assets`,
    prefix: '/assets/',
    decorateReply: false,
    preCompressed: true,
    // Their names hold a hash of what is in them.
    immutable: true,
    maxAge: '1y',
    schemaHide: true,
  })
  const icon = readFileSync(`${dist}favicon.svg`)
  app.get('/favicon.svg', { schema: { hide: true } }, (_request, reply) =>
    reply.header('cache-control', 'public, max-age=86400').type('image/svg+xml').send(icon),
  )

  const send = (request: FastifyRequest, reply: FastifyReply) => {
    // A browser keeps a strict cookie back from whoever comes by a link from elsewhere.
    const mayHaveSession =
      sessionCookie.sameSite === 'strict' || readSessionToken(request, sessionCookie) !== null
    // Read anew each time: a build under a running server has files of other names.
    const page = readFileSync(`${dist}${mayHaveSession ? 'index' : 'visitor'}.html`, 'utf8')
    const { theme } = request.cookies
    const nonce = randomBytes(16).toString('base64')
    return (
      reply
        .header('content-security-policy', contentSecurityPolicy(nonce, stripe))
        .header('cache-control', 'no-cache')
        .header('vary', 'Cookie')
        .header('cross-origin-opener-policy', stripe ? 'same-origin-allow-popups' : 'same-origin')
        .header('permissions-policy', 'camera=(), geolocation=(), microphone=()')
        // The links in mails hold secrets in their addresses.
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
    if (!request.headers.accept?.includes('text/html')) return false
    if (otherPrefixes.some((prefix) => request.url.startsWith(prefix))) return false
    send(request, reply.status(200))
    return true
  }
}

/**
 * CSP Level 3: scripts and styles from here alone; the nonce is for the style element that an open dialog writes. Stripe's
 * hosts are those that its security guide names for Stripe.js and embedded Checkout.
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
