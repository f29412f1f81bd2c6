import { randomUUID } from 'node:crypto'
import dns from 'node:dns'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { Agent, createServer as createHttpServer, get } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { isIP } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { request } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createOidcProvider } from '../../src/adapters/identity-provider/oidc.ts'
import { createHuggingFaceHub } from '../../src/adapters/model-hub/hugging-face.ts'
import { createWeightStore } from '../../src/adapters/model-runtime/local/weights/weights.ts'
import { createS3Store } from '../../src/adapters/model-store/s3.ts'
import { createStripeProcessor } from '../../src/adapters/payment-processor/stripe/processor.ts'
import { findProxy, openProxyAgent, proxyAgentOptions } from '../../src/base/proxy.ts'
import type { ProxySettings } from '../../src/config/proxy.ts'
import { readConfig } from '../../src/config/config.ts'
import { readProxy } from '../../src/config/proxy.ts'
import { postMessage } from '../../src/features/alerts/post-message.ts'
import { openTraces } from '../../src/features/inference/counting/traces.ts'
import { examineTargets } from '../../src/features/operators/ask-targets.ts'
import { createCertificate } from '../support/certificate.ts'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startForwardProxy } from '../support/forward-proxy.ts'
import type { ForwardProxy } from '../support/forward-proxy.ts'
import { listen } from '../support/listen.ts'
import { startAnsweringEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import { makeSettings, makeVariant } from './local-runtime-support.ts'

/** The names that this machine can resolve; only the proxy knows the others. */
const addresses: Record<string, string> = {
  'hooks.example': '93.184.216.34',
  'inside.example': '10.1.2.3',
  localhost: '127.0.0.1',
}

/** What arrived behind the proxy: the name that TLS asked for or null, the `Host` header, and the request */
let received: { servername: string | null; host: string; request: string }[]
let proxy: ForwardProxy
let settings: ProxySettings
const closings: (() => unknown)[] = []

/** Answers as every server that Berth calls would, as far as the tests need it. */
function answer(incoming: IncomingMessage, response: ServerResponse): void {
  const { servername } = incoming.socket as TLSSocket
  const { host = '' } = incoming.headers
  const name = typeof servername === 'string' ? servername : null
  received.push({ servername: name, host, request: `${incoming.method} ${incoming.url}` })
  incoming.resume()
  const issuer = 'https://idp.test'
  const discovery = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    id_token_signing_alg_values_supported: ['RS256'],
  }
  const isDiscovery = incoming.url === '/.well-known/openid-configuration'
  response.writeHead(isDiscovery ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isDiscovery ? discovery : {}))
}

beforeAll(async () => {
  const { key, cert } = await createCertificate([
    ...['idp', 'alerts', 'hub', 'weights', 'minio', 'traces'].map((name) => `${name}.test`),
    'hooks.example',
    'api.stripe.com',
    '*.s3.eu-central-1.amazonaws.com',
  ])
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, cert])
  const https = createHttpsServer({ key, cert }, answer)
  const http = createHttpServer(answer)
  proxy = await startForwardProxy({ http: await listen(http), https: await listen(https) })
  const lookup = vi.spyOn(dns, 'lookup') as unknown as { mockImplementation(fake: unknown): void }
  lookup.mockImplementation(fakeLookup)
  syncBuiltinESMExports()
  closings.push(
    () => proxy.close(),
    ...[http, https].map((server) => () => server.close().closeAllConnections()),
    () => setDefaultCACertificates(trusted),
    () => {
      vi.restoreAllMocks()
      syncBuiltinESMExports()
    },
  )
})
afterAll(async () => {
  for (const close of closings) await close()
})
beforeEach(() => {
  received = []
  proxy.targets.length = 0
  settings = readProxy({ http: proxy.url, https: proxy.url, exceptions: 'direct.test' })
})

function fakeLookup(
  name: string,
  options: LookupOptions,
  callback: (error: Error | null, addresses: LookupAddress[] | string, family?: number) => void,
): void {
  const address = isIP(name) === 4 ? name : addresses[name]
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
  if (address === undefined) setImmediate(callback, error, [])
  else if (options.all === true) setImmediate(callback, null, [{ address, family: 4 }])
  else setImmediate(callback, null, address, 4)
}

const silent = { info() {}, warn() {} }
const clock = () => new Date()

function openProvider() {
  return createOidcProvider({
    issuerUrl: new URL('https://idp.test'),
    clientId: 'berth',
    clientSecret: 'secret',
    scopes: 'openid',
    emailClaims: ['email'],
    emailVerified: 'claim',
    groupsClaim: null,
    redirectUri: 'https://berth.test/v1/sso/callback/oidc',
    proxy: settings,
    logger: silent,
  })
}

const message = { id: 'msg_1', body: '{}' }
const secret = `whsec_${Buffer.alloc(24).toString('base64')}`
const post = (url: string, networks: readonly string[] | null) =>
  postMessage({ url: new URL(url), secret, networks }, message, { now: new Date(), proxy: settings })

function checkStore(endpoint: string | null) {
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, 'test')
  onTestFinished(() => void vi.unstubAllEnvs())
  const region = 'eu-central-1'
  return createS3Store({
    bucket: 'models',
    prefix: '',
    endpoint,
    region,
    proxy: settings,
    clock,
    logger: silent,
  })
}

async function trace(endpoint: string): Promise<void> {
  const traces = openTraces(new URL(endpoint), settings)
  const span = traces.begin({ path: '/v1/x', operation: 'chat' } as never, 'berth-tiny', undefined)
  span.end({
    brokenBy: null,
    usage: null,
    deploymentId: null,
    firstByteAt: 0,
    receivedAt: 0,
    endedAt: 1,
  } as never)
  await traces.close()
}

/** The connections that Berth opens to other machines: what it does, what the proxy and the target see. */
const connections: [string, () => unknown, string, { host: string; request: string }][] = [
  [
    'the identity provider',
    () => openProvider().begin({ asks: false }),
    'CONNECT idp.test:443',
    { host: 'idp.test', request: 'GET /.well-known/openid-configuration' },
  ],
  [
    'the keys of logout tokens',
    () => openProvider().verifyLogout('eyJhbGciOiJSUzI1NiJ9.e30.AAAA'),
    'CONNECT idp.test:443',
    { host: 'idp.test', request: 'GET /keys' },
  ],
  [
    'the payment processor',
    () =>
      createStripeProcessor({
        name: 'stripe',
        secretKey: 'sk_test_1',
        publishableKey: 'pk_test_1',
        webhookSecret: secret,
        installation: 'test',
        transport: settings,
      }).listPublishedKeys(),
    'CONNECT api.stripe.com:443',
    { host: 'api.stripe.com', request: expect.stringContaining('GET /v1/') },
  ],
  [
    'the operator’s receiver of alerts',
    () => post('https://alerts.test/berth', null),
    'CONNECT alerts.test:443',
    { host: 'alerts.test', request: 'POST /berth' },
  ],
  [
    'the operator’s receiver over http',
    () => post('http://alerts.test:8000/berth', null),
    'POST http://alerts.test:8000',
    { host: 'alerts.test:8000', request: 'POST /berth' },
  ],
  [
    'an organization’s receiver',
    () => post('https://hooks.example/berth', []),
    'CONNECT 93.184.216.34:443',
    { host: 'hooks.example', request: 'POST /berth' },
  ],
  [
    'the model hub',
    () =>
      createHuggingFaceHub({ endpoint: 'https://hub.test', proxy: settings })
        .open(null)
        .describe('a/b', 'main'),
    'CONNECT hub.test:443',
    { host: 'hub.test', request: 'GET /api/models/a/b/revision/main?blobs=true' },
  ],
  [
    'downloads of weights',
    async () => {
      const weights = { kind: 'url', url: 'https://weights.test/model.gguf' } as const
      const store = createWeightStore(makeSettings('/tmp/unused', { proxy: settings }), async () => [])
      onTestFinished(() => store.close())
      await store.ensure(randomUUID(), makeVariant(weights), null)
      await vi.waitFor(() => expect(received).not.toEqual([]), { timeout: 60_000 })
    },
    'CONNECT weights.test:443',
    { host: 'weights.test', request: expect.stringContaining('/model.gguf') },
  ],
  [
    'the bucket of a store',
    () => checkStore('https://minio.test').check(),
    'CONNECT minio.test:443',
    { host: 'minio.test', request: expect.stringContaining('/models/') },
  ],
  [
    'the bucket of a store over http',
    () => checkStore('http://minio.test:9000').check(),
    'PUT http://minio.test:9000',
    { host: 'minio.test:9000', request: expect.stringContaining('PUT /models/') },
  ],
  [
    'Amazon’s bucket',
    () => checkStore(null).check(),
    'CONNECT models.s3.eu-central-1.amazonaws.com:443',
    { host: 'models.s3.eu-central-1.amazonaws.com', request: expect.stringContaining('PUT /') },
  ],
  [
    'the collector of traces',
    () => trace('https://traces.test'),
    'CONNECT traces.test:443',
    { host: 'traces.test', request: 'POST /v1/traces' },
  ],
  [
    'the collector of traces over http',
    () => trace('http://traces.test:4318'),
    'POST http://traces.test:4318',
    { host: 'traces.test:4318', request: 'POST /v1/traces' },
  ],
]

test.each(connections)('%s is reached through the proxy', async (_what, ask, target, seen) => {
  await Promise.resolve(ask()).catch(() => {})
  expect(proxy.targets).toContain(target)
  expect(received).toContainEqual(expect.objectContaining(seen))
})

describe('webhooks of organizations', () => {
  test('the proxy gets the address that was checked, and the receiver proves the name', async () => {
    await post('https://hooks.example/berth', [])
    expect(proxy.targets).toEqual(['CONNECT 93.184.216.34:443'])
    expect(received[0]).toMatchObject({ servername: 'hooks.example' })
  })

  test.each([
    ['a private address', 'https://inside.example/', 'rejected'],
    ['a literal private address', 'https://10.1.2.3/', 'rejected'],
    ['the metadata service', 'https://169.254.169.254/', 'rejected'],
    ['a name that only the proxy knows', 'https://unknown.test/', 'deferred'],
  ])('%s is not asked for', async (_what, url, outcome) => {
    expect(await post(url, [])).toMatchObject({ outcome })
    expect(proxy.targets).toEqual([])
  })
})

test.each([
  ['http://localhost/', 'localhost'],
  ['http://127.0.0.1/', ''],
  ['http://[::1]/', ''],
  ['http://direct.test/', 'direct.test'],
  ['http://sub.direct.test/', 'DIRECT.test, other.test'],
  ['http://sub.direct.test/', '.direct.test'],
  ['http://sub.direct.test/', '*.direct.test'],
  ['http://direct.test:81/', 'direct.test:81'],
  ['http://10.1.2.3/', '10.1.2.3'],
  ['http://any.test/', '*'],
  ['http://direct.test:82/', 'direct.test:81'],
  ['http://indirect.test/', 'direct.test'],
  ['http://10.1.2.30/', '10.1.2.3'],
  ['http://any.test/', ''],
])('%s with NO_PROXY=%s: undici, Node and Berth decide alike', async (url, exceptions) => {
  const own = readProxy({ http: proxy.url, exceptions })
  const agent = openProxyAgent(own, { connect: { timeout: 200 } })
  const nodeAgent = new Agent(proxyAgentOptions(own))
  onTestFinished(async () => {
    nodeAgent.destroy()
    await agent.destroy()
  })
  const asked = async (send: () => Promise<unknown>) => {
    proxy.targets.length = 0
    await send().catch(() => {})
    return proxy.targets.length > 0
  }
  const isProxied = findProxy(own, new URL(url)) !== null
  expect(await asked(() => request(url, { dispatcher: agent }))).toBe(isProxied)
  const sendByNode = () =>
    new Promise((resolve) => {
      get(url, { agent: nodeAgent, timeout: 200 }, (response) => response.resume().on('end', resolve))
        .on('timeout', function (this: { destroy(): void }) {
          this.destroy()
        })
        .on('error', resolve)
    })
  expect(await asked(sendByNode)).toBe(isProxied)
})

test('variables in small letters hold too, and HTTP_PROXY for https without HTTPS_PROXY', () => {
  const read = (env: Record<string, string>) => readConfig({ PORT: '0', ...env }).proxy
  const [one, other] = ['http://one.test:1', 'http://other.test:2']
  expect(read({ https_proxy: one, no_proxy: 'a.test' })).toMatchObject({
    http: null,
    https: one,
    exceptions: expect.stringContaining('a.test'),
  })
  expect(read({ HTTPS_PROXY: one, https_proxy: other })).toMatchObject({ https: one })
  expect(read({ HTTP_PROXY: one })).toMatchObject({ http: one, https: one })
  expect(() => read({ https_proxy: 'socks5://one.test' })).toThrow('HTTPS_PROXY: must be an address')
})

test('doctor asks each target through the proxy, and says what it can’t reach', async () => {
  const env = {
    PORT: '0',
    HTTP_PROXY: proxy.url,
    NO_PROXY: 'traces.test',
    HF_ENDPOINT: 'https://hub.test',
    MODEL_STORE_URL: 's3://models?endpoint=http://minio.test:9000',
    ALERT_WEBHOOK_URL: 'https://alerts.test/berth',
    ALERT_WEBHOOK_SECRET: secret,
    OIDC_ISSUER_URL: 'https://idp.test',
    OIDC_CLIENT_ID: 'berth',
    OIDC_CLIENT_SECRET: 'secret',
    BILLING_PROCESSOR: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_1',
    STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
    STRIPE_WEBHOOK_SECRET: 'whsec_1',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://traces.test:4318',
  }
  const findings = await examineTargets(readConfig(env))
  const through = `through the proxy ${new URL(proxy.url).host}`
  expect(findings).toEqual([
    { subject: 'identity provider', state: `idp.test answers ${through} (404)`, remedy: null },
    { subject: 'payment processor', state: `api.stripe.com answers ${through} (404)`, remedy: null },
    { subject: 'model hub', state: `hub.test answers ${through} (404)`, remedy: null },
    { subject: 'model store', state: `minio.test:9000 answers ${through} (404)`, remedy: null },
    { subject: 'receiver of alerts', state: `alerts.test answers ${through} (404)`, remedy: null },
    {
      subject: 'traces',
      state: 'traces.test:4318 can’t be reached directly (ENOTFOUND)',
      remedy: 'Check the address, the firewall, HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
    },
  ])
})

test('engines are never reached through a proxy', async () => {
  const runtime = createScriptedRuntime()
  const engine = await startAnsweringEngine(runtime)
  onTestFinished(() => engine.close())
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NO_PROXY: 'none.test' }
  const server = await startTestServer({ runtime, settings: env })
  onTestFinished(() => server.close())
  const client = await registerClient(server.url)
  const { id } = await deploy(client)
  const body = { model: id, messages: [{ role: 'user', content: 'Hello' }] }
  expect((await client.post('/v1/chat/completions', body)).status).toBe(200)
  expect(proxy.targets).toEqual([])
})
