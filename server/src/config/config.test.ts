import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ConfigError, readConfig, settingNames } from './config.ts'
import { listWarnings } from './warnings.ts'

function problemsOf(settings: Record<string, string>): string[] {
  try {
    readConfig(settings)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.replace(/^ {2}- /, ''))
  }
  return []
}

const notNumbers = ['-1', '1.5', '1e3', '0x10', 'many', '12abc', '9'.repeat(20)]
const notDurations = ['-1s', '1.5h', '1w', 'an hour', '9'.repeat(20) + 'd']
const notSizes = ['10G', '10GB', '1.5GiB', '-1GiB', 'large', '9'.repeat(20) + 'TiB']

const badValues: Record<string, string[]> = {
  BILLING_PROCESSOR: ['paypal', 'none'],
  STRIPE_SECRET_KEY: ['pk_test_51abc', 'sk_51abc', 'secret'],
  STRIPE_PUBLISHABLE_KEY: ['sk_test_51abc', 'pk_51abc'],
  STRIPE_WEBHOOK_SECRET: ['sk_test_51abc', 'secret'],
  AUDIT_RETENTION: [...notDurations, '400', '0d'],
  REQUEST_LOG_RETENTION: [...notDurations, '7', '0d', 'on'],
  STATISTICS_RETENTION: [...notDurations, '90', '0d'],
  ROLE: ['server', 'all,api'],
  PORT: [...notNumbers, '65536'],
  PUBLIC_URL: [
    'berth.example.com',
    'ftp://berth.example.com',
    'https://',
    'https://a@b.example',
    'https://a.b/?c',
  ],
  DATABASE_URL: ['mysql://u:hidden@h/d', 'hidden'],
  DATABASE_POOL_SIZE: [...notNumbers, '1', '501'],
  API_PROCESSES: [...notNumbers, '0', '1025', 'cores'],
  DRAIN_DELAY: [...notDurations, '5', '601s'],
  RUNTIME: ['cloud', 'local,cloud', 'local,kubernetes,local'],
  LOG_LEVEL: ['loud'],
  METRICS_PORT: [...notNumbers, '65536', '8080'],
  TRUST_PROXY: [
    'true',
    'proxy.example.com',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '10.0.0.1, x',
    '::1/129',
    '1.2.3.4/8/8',
  ],
  SESSION_COOKIE_NAME: ['my cookie', 'a;b', 'a=b', 'sessión', '__Host-session', '__Secure-session'],
  SESSION_COOKIE_SECURE: ['maybe', '2'],
  SESSION_COOKIE_SAMESITE: ['loose', 'none'],
  CSRF_TRUSTED_ORIGINS: [
    '*',
    'https://*.example.com',
    'null',
    'https://a.example/path',
    'https://a.example, b',
  ],
  INFERENCE_MEDIA_DOMAINS: ['https://a.example', 'a.example:8080', '*.example.com'],
  INFERENCE_BODY_LIMIT: [...notSizes, '1023', '513MiB'],
  INFERENCE_FIRST_BYTE_TIMEOUT: [...notDurations, '300', '0s'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['localhost:4318', 'grpc://localhost:4317'],
  INFERENCE_MAX_IN_FLIGHT_PER_USER: [...notNumbers, '0'],
  INFERENCE_ROUTING: ['random'],
  WAKE_PATIENCE: [...notDurations, '86401', '2d'],
  DEFAULT_IDLE_MINUTES: [...notNumbers, '0', '10081'],
  SECRET_KEY: ['hidden', 'x'.repeat(31)],
  PREVIOUS_SECRET_KEY: ['hidden', 'x'.repeat(31)],
  ALERT_WEBHOOK_URL: [
    'alerts.example.com',
    'ftp://alerts.example.com',
    'https://ada:hush@alerts.example.com',
  ],
  ALERT_WEBHOOK_SECRET: ['hush', 'whsec_', 'whsec_c2hvcnQ=', `whsec_${'x'.repeat(100)}`, 'whsec_not base64'],
  WEBHOOK_NETWORKS: ['10.0.0.1', 'example.com', '10.0.0.0/99'],
  ENDPOINT_NETWORKS: ['10.0.0.1', 'example.com', '10.0.0.0/99'],
  MAIL_URL: ['mail.example.com', 'hidden', 'https://hidden.example.com', 'smtp://'],
  MAIL_FROM: ['nobody', 'a@b@c', 'A <a@b>\nBcc: c@d'],
  HF_ENDPOINT: ['huggingface.co', 'file:///etc'],
  ENGINE_MAX_CONTEXT: [...notNumbers, '255'],
  ENGINE_MAX_SEQUENCES: [...notNumbers, '0', '4097'],
  LOCAL_MEMORY_LIMIT: [...notSizes, '1073741824', '1MiB'],
  LOCAL_CPU_MAX_BILLIONS: ['0', '0.000', '-1', '1.2345', '1e3', 'many', '100001'],
  GPU_SHARES: [...notNumbers, '0', '17'],
  LLAMA_SERVER_COMMAND: ['"/opt/llama server"', 'llama-server; rm', 'a\tb'],
  VLLM_COMMAND: ["'vllm'", '$HOME/vllm'],
  WEIGHTS_LIMIT: [...notSizes, '1073741824', '1KiB'],
  UPLOAD_QUOTA: [...notSizes, '1073741824', '1KiB', 'on'],
  MODEL_STORE_URL: [
    'models',
    'https://models.example.com',
    's3://',
    's3://Models',
    's3://key:secret@models',
    's3://models/../a',
    's3://models?endpoint=minio',
    's3://models?endpoint=https://key:secret@minio.example.com',
    's3://models?secret=hush',
    's3://models?region=a b',
  ],
  ENGINE_SERVER_URL: ['berth.berth.svc', 'ftp://berth.svc', 'http://berth.svc?a'],
  XINFERENCE_URLS: [
    '10.0.0.5:9997',
    'ftp://a.example',
    'http://a.example/path',
    'http://a.example, b',
    'http://hidden@a.example',
    'http://a:hidden@a.example/path',
  ],
  KUBERNETES_NAMESPACE: ['Berth', 'a.b', '-a', 'x'.repeat(64)],
  KUBERNETES_INSTANCE_TYPES: [','],
  KUBERNETES_VLLM_IMAGE: ['vllm', 'vllm/vllm-openai', 'a b:c', 'a@sha256:12'],
  KUBERNETES_LLAMACPP_IMAGE: ['llama.cpp', 'ghcr.io/x/y:'],
  KUBERNETES_MODEL_CACHE: ['emptydir:', 'emptydir:many', 'emptydir:200', 'My Claim', '../etc', 'claim:1GiB'],
  KUBERNETES_ENGINE_ADDRESS: [
    'http://engine:8000',
    '{service}:8000',
    'http://{service}/',
    'http://{service}?a',
  ],
  KUBERNETES_PRIVATE_NETWORKS: ['10.0.0.1', '10.0.0.0/33', 'mirror.internal'],
  HTTP_PROXY: ['hidden', 'socks5://hidden:1'],
  HTTPS_PROXY: ['hidden', 'socks5://hidden:1'],
  SSO_PROVIDER: ['My Provider', '-', 'password', 'x'.repeat(64)],
  SSO_DISPLAY_NAME: ['x'.repeat(256)],
  OIDC_ISSUER_URL: ['login.example.com', 'http://login.example.com'],
  OIDC_EMAIL_CLAIM: [',', ' , '],
  OIDC_EMAIL_VERIFIED: ['yes', 'claim,trusted'],
  OIDC_GROUPS_CLAIM: ['name', 'preferred_username'],
  OIDC_ROLE_GROUPS: ['berth-admins', 'owner:berth', 'admin:'],
  OIDC_SCOPES: ['email profile'],
  BILLING: ['yes', 'sandbox'],
  BILLING_TRIAL: ['true', 'maybe'],
  BILLING_TRIAL_CREDIT: ['-1', '1e3', '1,50', '.5', '$10', '9'.repeat(10)],
  BILLING_TRIAL_GRACE: [...notDurations, '1'],
  ORGANIZATION_DOMAINS: [
    'corp.example',
    'corp.example:Research',
    'corp.example:Research:super_admin',
    'corp: :member',
    'corp.example: :member',
    'corp.example:Research:member,Corp.example:Lab:viewer',
  ],
  REGISTRATION: ['closed', 'domains', 'domains:', 'domains:example', 'domains:example.com,@example.org'],
  EMAIL_CONFIRMATION: ['on', 'optional', 'required'],
  PASSWORD_BLOCKLIST: ['true', 'maybe'],
  ALLOWED_HOSTS: ['https://berth.internal', 'berth.internal:8080', '*.example.com'],
  SSO_ONLY: ['only'],
  SSO_SESSION_LIFETIME: ['12', 'forever'],
  BILLING_TRIAL_MAX_ACTIVE: [...notNumbers, '1000001'],
  BILLING_POSTPAID_MAX_ACTIVE: [...notNumbers, '1000001'],
}

/** Settings that accept any text. */
const freeTexts = [
  'HOST',
  'DATA_DIR',
  'CATALOG_FILE',
  'PRICES_FILE',
  'INSTANCE_TYPES_FILE',
  'ENDPOINT_CA_FILE',
  'HF_TOKEN',
  'NO_PROXY',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'KUBECONFIG',
]

describe('bad values', () => {
  test.each(settingNames.filter((name) => !freeTexts.includes(name)))(
    '%s: each value is rejected with the name of the setting',
    (name) => {
      const values = badValues[name] ?? []
      expect(values, 'has values in the table').not.toEqual([])
      for (const value of values) {
        const problems = problemsOf({ [name]: value })
        expect(problems, value).toHaveLength(1)
        expect(problems[0]).toMatch(new RegExp(`^${name}: .+`))
      }
    },
  )

  test.each([
    'DATABASE_URL',
    'SECRET_KEY',
    'PREVIOUS_SECRET_KEY',
    'MAIL_URL',
    'XINFERENCE_URLS',
    'HTTP_PROXY',
    'HTTPS_PROXY',
  ])('%s: the message does not contain the secret', (name) => {
    for (const value of badValues[name] ?? []) {
      expect(problemsOf({ [name]: value }).join()).not.toContain('hidden')
    }
  })

  test('a message shows the invalid value', () => {
    expect(problemsOf({ PORT: '80a' })).toEqual(['PORT: must be a whole number from 0 to 65535 (got "80a")'])
  })

  test('all problems are listed at once', () => {
    const settings = Object.fromEntries(
      Object.entries(badValues).map(([name, [value = '']]) => [name, value] as const),
    )
    const names = problemsOf(settings).map((problem) => problem.split(':', 1)[0])
    expect(new Set(names)).toEqual(new Set(Object.keys(badValues)))
  })
})

test('defaults', () => {
  const config = readConfig({})
  expect(config).toMatchObject({
    role: 'all',
    host: '127.0.0.1',
    port: 8080,
    databaseUrl: null,
    runtimes: ['local'],
    logLevel: 'info',
    metricsPort: null,
    trustProxy: false,
    sessionCookie: { name: 'berth_session', secure: false, sameSite: 'lax' },
    csrfTrustedOrigins: [],
    inferenceBodyLimit: 33_554_432,
    secretKey: null,
    sso: null,
    billing: {
      currency: 'usd',
      isOn: true,
      trial: true,
      trialCredit: '10.00',
      trialMaxActive: 10,
      postpaidMaxActive: 20,
    },
  })
  expect(config.publicUrl.href).toBe('http://localhost:8080/')
  expect(config.dataDirectory).toBe(resolve('data'))
})

test('an empty value counts as unset, for every setting', () => {
  expect(readConfig(Object.fromEntries(settingNames.map((name) => [name, ' '])))).toEqual(readConfig({}))
})

test('unknown variables are ignored', () => {
  expect(readConfig({ PATH: '/bin', SESSION_COOKIE: 'x' })).toEqual(readConfig({}))
})

test('PUBLIC_URL follows PORT', () => {
  expect(readConfig({ PORT: '9000' }).publicUrl.href).toBe('http://localhost:9000/')
})

test('SESSION_COOKIE_SECURE defaults to the scheme of PUBLIC_URL and overrides it', () => {
  const secureOf = (settings: Record<string, string>) => readConfig(settings).sessionCookie.secure
  expect(secureOf({ PUBLIC_URL: 'https://berth.example.com' })).toBe(true)
  expect(secureOf({ PUBLIC_URL: 'http://berth.example.com' })).toBe(false)
  expect(secureOf({ PUBLIC_URL: 'https://berth.example.com', SESSION_COOKIE_SECURE: 'No' })).toBe(false)
  expect(secureOf({ SESSION_COOKIE_SECURE: 'TRUE' })).toBe(true)
})

test('SESSION_COOKIE_SAMESITE is case-insensitive; none requires Secure', () => {
  expect(readConfig({ SESSION_COOKIE_SAMESITE: 'Strict' }).sessionCookie.sameSite).toBe('strict')
  const https = { PUBLIC_URL: 'https://berth.example.com', SESSION_COOKIE_SAMESITE: 'None' }
  expect(readConfig(https).sessionCookie).toMatchObject({ sameSite: 'none', secure: true })
  expect(problemsOf({ SESSION_COOKIE_SAMESITE: 'None' })[0]).toMatch(/SESSION_COOKIE_SECURE=true/)
})

test('lists are separated by commas; spaces and empty entries are ignored', () => {
  const config = readConfig({
    CSRF_TRUSTED_ORIGINS: ' https://A.example:443/ ,, http://localhost:5173',
    TRUST_PROXY: 'loopback, 10.0.0.0/8,fd00::/8',
  })
  expect(config.csrfTrustedOrigins).toEqual(['https://a.example', 'http://localhost:5173'])
  expect(config.trustProxy).toEqual(['loopback', '10.0.0.0/8', 'fd00::/8'])
})

test('with an https PUBLIC_URL, missing TRUST_PROXY, MAIL_URL and BILLING_PROCESSOR cause warnings', () => {
  const warned = (settings: Record<string, string>) =>
    listWarnings(
      readConfig({ DATABASE_URL: 'postgres://localhost/berth', SECRET_KEY: 'x'.repeat(32), ...settings }),
    ).map((warning) => warning.split(' ')[0])
  const https = { PUBLIC_URL: 'https://berth.example.com' }
  expect(warned({})).toEqual([])
  expect(warned(https)).toEqual(['TRUST_PROXY', 'MAIL_URL', 'BILLING_PROCESSOR', 'REGISTRATION'])
  expect(warned({ ...https, ROLE: 'api' })).toEqual(['TRUST_PROXY', 'BILLING_PROCESSOR', 'REGISTRATION'])
  expect(warned({ ...https, ROLE: 'worker' })).toEqual(['MAIL_URL'])
  expect(warned({ ...https, ROLE: 'migrate' })).toEqual([])
  expect(warned({ ...https, ROLE: 'api', REGISTRATION: 'domains:example.com' })).toContain('REGISTRATION')
  const complete = {
    TRUST_PROXY: '10.0.0.1',
    MAIL_URL: 'smtp://mail.example.com',
    BILLING_PROCESSOR: 'stripe',
  }
  const stripe = {
    STRIPE_SECRET_KEY: 'sk_test_1',
    STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
    STRIPE_WEBHOOK_SECRET: 'whsec_1',
  }
  for (const REGISTRATION of ['open', 'domains:example.com']) {
    const settings = { ...https, ...complete, ...stripe, REGISTRATION }
    expect(warned(settings)).toEqual(['REGISTRATION'])
    expect(warned({ ...settings, EMAIL_CONFIRMATION: 'required' })).toEqual([])
  }
  expect(warned({ ...https, ...complete, ...stripe, REGISTRATION: 'invited' })).toEqual([])
})

test('MODEL_STORE_URL names a bucket, a prefix, an endpoint and a region', () => {
  const storeOf = (MODEL_STORE_URL: string) => readConfig({ MODEL_STORE_URL }).uploads.store
  expect(storeOf('s3://models')).toEqual({ bucket: 'models', prefix: '', endpoint: null, region: null })
  expect(storeOf('s3://models/a/b/?endpoint=http://10.0.0.5:9000&region=eu-1')).toEqual({
    bucket: 'models',
    prefix: 'a/b/',
    endpoint: 'http://10.0.0.5:9000',
    region: 'eu-1',
  })
  expect(readConfig({}).uploads.store).toBeNull()
  expect(problemsOf({ MODEL_STORE_URL: 's3://key:hush@models' }).join()).not.toContain('hush')
})

test('a role that shares its database requires DATABASE_URL', () => {
  for (const ROLE of ['api', 'worker', 'migrate']) {
    expect(problemsOf({ ROLE, SECRET_KEY: 'x'.repeat(32) })).toEqual([
      expect.stringMatching(/^DATABASE_URL: /),
    ])
    const settings = { ROLE, SECRET_KEY: 'x'.repeat(32), DATABASE_URL: 'postgres://localhost/berth' }
    expect(readConfig(settings).role).toBe(ROLE)
  }
})

test('RUNTIME=xinference requires supervisors, each with its user and password if it has some', () => {
  expect(problemsOf({ RUNTIME: 'xinference' })).toEqual([expect.stringMatching(/^XINFERENCE_URLS: /)])
  const XINFERENCE_URLS =
    'http://10.0.0.5:9997/, http://10.0.0.5:9997,https://berth:open%20sesame@x.example, http://a:%zz@y.example'
  expect(readConfig({ RUNTIME: 'xinference', XINFERENCE_URLS }).xinference.supervisors).toEqual([
    { origin: 'http://10.0.0.5:9997', credentials: null },
    { origin: 'https://x.example', credentials: { username: 'berth', password: 'open sesame' } },
    { origin: 'http://y.example', credentials: { username: 'a', password: '%zz' } },
  ])
  expect(readConfig({ XINFERENCE_URLS }).xinference.supervisors).toEqual([])
})

test('RUNTIME takes several runtimes, each with its settings', () => {
  const config = readConfig({ RUNTIME: 'kubernetes, LOCAL' })
  expect(config).toMatchObject({ runtimes: ['kubernetes', 'local'], xinference: { supervisors: [] } })
  expect(config.kubernetes).not.toBeNull()
  expect(problemsOf({ RUNTIME: 'local,local' })).toEqual([
    expect.stringMatching(/must name each runtime once/),
  ])
  expect(problemsOf({ RUNTIME: ',' })).toEqual([
    expect.stringMatching(/^RUNTIME: must be one or more of local/),
  ])
})

test('RUNTIME=kubernetes has a default for everything', () => {
  expect(readConfig({ RUNTIME: 'kubernetes' }).kubernetes).toMatchObject({
    namespace: 'berth',
    kubeconfig: null,
    instanceTypes: null,
    gpusPerNode: 8,
    modelCache: { kind: 'empty_dir', sizeLimit: null },
    engineAddress: 'http://{service}.{namespace}.svc:8000',
    capacityWaitMs: 120_000,
  })
  expect(readConfig({ KUBECONFIG: 'a' }).kubernetes).toBeNull()
})

test.each([
  ['emptydir:200GiB', { kind: 'empty_dir', sizeLimit: String(200 * 2 ** 30) }],
  ['model-weights', { kind: 'claim', name: 'model-weights' }],
])('KUBERNETES_MODEL_CACHE=%s', (KUBERNETES_MODEL_CACHE, modelCache) => {
  const { kubernetes } = readConfig({ RUNTIME: 'kubernetes', KUBERNETES_MODEL_CACHE })
  expect(kubernetes?.modelCache).toEqual(modelCache)
})

test('BILLING_PROCESSOR=stripe requires all three Stripe keys, of the same mode', () => {
  const all = {
    STRIPE_SECRET_KEY: 'sk_test_51abc',
    STRIPE_PUBLISHABLE_KEY: 'pk_test_51abc',
    STRIPE_WEBHOOK_SECRET: 'whsec_abc',
  }
  const stripe = { BILLING_PROCESSOR: 'stripe' }
  expect(readConfig({ ...stripe, ...all }).billing.stripe).toEqual({
    secretKey: 'sk_test_51abc',
    publishableKey: 'pk_test_51abc',
    webhookSecret: 'whsec_abc',
  })
  expect(readConfig(all).billing.stripe).toBeNull()
  expect(problemsOf(stripe).map((problem) => problem.split(':')[0])).toEqual(Object.keys(all))
  for (const name of Object.keys(all)) {
    expect(problemsOf({ ...stripe, ...all, [name]: '' })).toEqual([expect.stringMatching(`^${name}: `)])
    // A wrong secret is not shown.
    const problems = problemsOf({ ...stripe, ...all, [name]: 'wrong-value' })
    expect(problems).toEqual([expect.stringMatching(`^${name}: must `)])
    if (name !== 'STRIPE_PUBLISHABLE_KEY') expect(problems.join('')).not.toContain('wrong-value')
  }
  expect(problemsOf({ ...stripe, ...all, STRIPE_PUBLISHABLE_KEY: 'pk_live_51abc' })).toEqual([
    expect.stringContaining('of the same mode as STRIPE_SECRET_KEY'),
  ])
})

test('durations and sizes have units; a plain number names the right form', () => {
  const read = (settings: Record<string, string>) => readConfig(settings).auditRetentionMilliseconds
  expect(['90d', ' 2160h ', '129600M'].map((AUDIT_RETENTION) => read({ AUDIT_RETENTION }))).toEqual(
    Array(3).fill(90 * 24 * 3_600_000),
  )
  expect(problemsOf({ AUDIT_RETENTION: '90' })).toEqual([
    'AUDIT_RETENTION: must be a duration such as 30s, 5m, 8h or 7d, from 1d to 36500d (got "90")',
  ])
  expect(
    ['2GiB', '2048 MiB', '2gib'].map((limit) => readConfig({ LOCAL_MEMORY_LIMIT: limit }).localEngine),
  ).toEqual(Array(3).fill(expect.objectContaining({ memoryLimitBytes: 2 ** 31 })))
  expect(problemsOf({ UPLOAD_QUOTA: '1000000000' })).toEqual([
    'UPLOAD_QUOTA: must be a size such as 512MiB or 2GiB, from 1MiB to 1024TiB, or off (got "1000000000")',
  ])
})

test('WAKE_PATIENCE may be a number of seconds, and INFERENCE_BODY_LIMIT a number of bytes', () => {
  for (const WAKE_PATIENCE of ['600', '600s', '600 s', '10m']) {
    expect(readConfig({ WAKE_PATIENCE }).inference.wakeMilliseconds).toBe(600_000)
  }
  for (const INFERENCE_BODY_LIMIT of ['1048576', '1MiB', '1024KiB']) {
    expect(readConfig({ INFERENCE_BODY_LIMIT }).inferenceBodyLimit).toBe(2 ** 20)
  }
})

test('the memory for request bodies follows INFERENCE_BODY_LIMIT', () => {
  const bodiesOf = (INFERENCE_BODY_LIMIT: string) => readConfig({ INFERENCE_BODY_LIMIT }).inference.bodies
  expect(bodiesOf('1MiB')).toEqual({ perUser: 2 ** 28, perProcess: 2 ** 29 })
  expect(bodiesOf('64MiB')).toEqual({ perUser: 2 ** 29, perProcess: 2 ** 30 })
})

test('the currency is that of the instance type file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const INSTANCE_TYPES_FILE = join(folder, 'types.yaml')
  const currencyOf = (content: string) => {
    writeFileSync(INSTANCE_TYPES_FILE, content)
    return readConfig({ INSTANCE_TYPES_FILE }).billing.currency
  }
  expect(currencyOf('# Ours\ncurrency: "eur" # not usd\ngpus: []\n')).toBe('eur')
  expect(() => currencyOf('gpus: []\n')).toThrow(/INSTANCE_TYPES_FILE: .* needs a line with a currency/)
  expect(problemsOf({ INSTANCE_TYPES_FILE: '/nowhere/types.yaml' })).toEqual([
    expect.stringMatching(/^INSTANCE_TYPES_FILE: .*ENOENT/),
  ])
})

test('the certificates of endpoints are read at the start', () => {
  for (const ENDPOINT_CA_FILE of ['/nowhere/ca.pem', import.meta.filename]) {
    expect(problemsOf({ ENDPOINT_CA_FILE })).toEqual([
      expect.stringMatching(/^ENDPOINT_CA_FILE: must be a file of certificates in PEM \(/),
    ])
  }
})

test('.env.example lists exactly the settings, each commented out below its description', () => {
  const lines = readFileSync(resolve(import.meta.dirname, '../../../.env.example'), 'utf8').split('\n')
  const settings = lines.flatMap((line, index) => {
    const name = /^#([A-Z_]+)=/.exec(line)?.[1]
    if (name !== undefined) expect(lines[index - 1], name).toMatch(/^# \S/)
    return name === undefined ? [] : [name]
  })
  expect(settings.toSorted()).toEqual(settingNames.toSorted())
  expect(settings.length).toBeLessThanOrEqual(92)
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([])
})

test('.env.example: the values shown are the defaults', () => {
  const text = readFileSync(resolve(import.meta.dirname, '../../../.env.example'), 'utf8')
  const shown = Object.fromEntries(
    [...text.matchAll(/^#([A-Z_]+)=(.*)$/gm)].map((match) => [match[1], match[2]]),
  )
  expect(readConfig(shown)).toEqual(readConfig({}))
})
