import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import fastifyStatic from '@fastify/static'
import fastifySwaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** Serves the description at `/openapi.json`, Swagger UI at `/docs` and ReDoc at `/redoc`. */
export async function serveApiDocs(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
  await app.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    staticCSP: swaggerUiPolicy,
    theme: { title: 'Berth API' },
    // Without the top bar, which only opens other API descriptions.
    uiConfig: { url: '/openapi.json', layout: 'BaseLayout', deepLinking: true },
  })
  const bundle = createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js')
  await app.register(fastifyStatic, {
    root: dirname(bundle),
    prefix: '/redoc/',
    decorateReply: false,
    allowedPath: (path) => path === '/redoc.standalone.js',
    schemaHide: true,
  })
  app.get('/redoc', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-security-policy', redocPolicy).type('text/html; charset=utf-8').send(redocPage),
  )
}

const swaggerUiPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

const redocPolicy =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src blob:; frame-ancestors 'none'"

const redocPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Berth API</title>
    <style>body { margin: 0 }</style>
  </head>
  <body>
    <redoc spec-url="/openapi.json" disable-google-font="true" hide-hostname="true"></redoc>
    <script src="/redoc/redoc.standalone.js"></script>
  </body>
</html>
`
