import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { z } from 'zod'

export type Role = 'all' | 'api' | 'worker' | 'migrate'

/** Every setting of the server, checked; what is off is null. */
export interface Config {
  role: Role
  host: string
  port: number
  /** The address that people reach the server at; its origin is trusted, links in mails begin with it */
  publicUrl: URL
  /** Absolute path of the folder that holds everything the server writes */
  dataDirectory: string
  /** null: an embedded PostgreSQL under `dataDirectory` */
  databaseUrl: string | null
  databasePoolSize: number
  /** How many processes share `port`; more than one with ROLE=api alone */
  apiProcesses: number
  /** Seconds for which a server that is to end still takes requests, while `/readyz` says that it leaves */
  drainDelaySeconds: number
  runtime: 'local' | 'xinference' | 'kubernetes'
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** null: `/metrics` is served on `port` with everything else */
  metricsPort: number | null
  /** Addresses of reverse proxies whose `X-Forwarded-*` headers are believed; false: none */
  trustProxy: string[] | false
  sessionCookie: { name: string; secure: boolean; sameSite: 'strict' | 'lax' | 'none' }
  csrfTrustedOrigins: string[]
  /** Bytes of a request body on the inference routes */
  inferenceBodyLimit: number
  inference: {
    /** Milliseconds: until a connection to an engine stands, then until its answer begins, then between two pieces of it */
    timeouts: { connect: number; firstByte: number; idle: number }
    /** Requests under way at most; more wait, `queued` for one deployment, and are refused after `queueMilliseconds` */
    limits: { perUser: number; perDeployment: number; queued: number; queueMilliseconds: number }
  }
  /** null: made once and kept in `dataDirectory`; engine keys are derived from it */
  secretKey: string | null
  /** Absolute path of the catalog of models */
  catalogFile: string
  /** Absolute path of the file of prices */
  pricesFile: string
  /** Absolute path of the file of instance types */
  instanceTypesFile: string
  huggingFace: { endpoint: string; token: string | null }
  /** `url` null: mails are written to files in `dataDirectory` */
  mail: { url: string | null; from: { name: string; address: string } }
  localEngine: {
    /** Tokens of context for each request to an LLM, at most */
    contextTokens: number
    /** Requests that one engine works on at a time */
    parallelSequences: number
    /** Engines that are expected to be busy at a time: they share the cores */
    expectedEngines: number
    /** Bytes that all engines together may take; null: what the host or its container has */
    memoryLimitBytes: number | null
  }
  /** null: `runtime` is another */
  xinference: XinferenceConfig | null
  /** null: `runtime` is another */
  kubernetes: KubernetesConfig | null
  /** Proxies for downloads; null: none */
  proxy: { http: string | null; https: string | null; exceptions: string | null }
  /** null: nobody signs in through a provider */
  sso: SsoConfig | null
  billing: BillingConfig
}

/** What an organization may use before it pays by subscription, and then. */
export interface BillingConfig {
  /** null: the embedded sandbox, which charges nobody */
  stripe: { secretKey: string; publishableKey: string; webhookSecret: string } | null
  /** Lower-case code of the one currency of all prices and accounts */
  currency: string
  /** false: nothing is deployed without a subscription */
  trial: boolean
  /** What a trial may use, a decimal string in the main unit of the currency */
  trialCredit: string
  /** Deployments at a time in a trial */
  trialMaxActive: number
  /** Deployments at a time with a subscription */
  postpaidMaxActive: number
}

/** The Kubernetes cluster that models are deployed on. */
export interface KubernetesConfig {
  namespace: string
  /** Path of a kubeconfig file; null: the service account of the pod that this runs in */
  kubeconfig: string | null
  /** null: that of the instance type */
  region: string | null
  /** Names of the instance types that the cluster has nodes for; null: all of the file */
  instanceTypes: string[] | null
  gpusPerNode: number
  images: { vllm: string; llamaCpp: string }
  modelCache: { kind: 'claim'; name: string } | { kind: 'empty_dir'; sizeLimit: string | null }
  /** `{service}` and `{namespace}` stand for those of an engine's Service */
  engineAddress: string
  /** Milliseconds that a pod may wait for a node before another instance type is tried */
  capacityWaitMs: number
}

/** The Xinference clusters that models are deployed on. */
export interface XinferenceConfig {
  /** Origins of the supervisors */
  supervisors: string[]
  /** null: they ask for no sign-in */
  credentials: { username: string; password: string } | null
}

/** An OpenID Connect provider through which people may sign in. */
export interface SsoConfig {
  /** A slug: part of the routes' addresses and the `auth_method` of the sessions */
  provider: string
  /** What the sign-in page calls it */
  displayName: string
  /** The issuer as its discovery document names it; plain http on loopback alone */
  issuerUrl: URL
  clientId: string
  clientSecret: string
  /** Divided by spaces; `openid` is among them */
  scopes: string
}

/** What is wrong with the settings, one line for each, every line with the variable and the remedy. */
export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(`The settings can't be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

const shippedCatalog = resolve(import.meta.dirname, '../../catalog/models.yaml')
const shippedPrices = resolve(import.meta.dirname, '../../catalog/prices.yaml')
const shippedInstanceTypes = resolve(import.meta.dirname, '../../catalog/instance-types.yaml')

const optionalText = z.string().trim().min(1).optional()

function wholeNumber(minimum: number, maximum: number) {
  const message = `give a whole number from ${minimum} to ${maximum}`
  return z
    .string()
    .trim()
    .regex(/^\d{1,16}$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.int(message).min(minimum, message).max(maximum, message))
}

function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(values, `give one of ${values.join(', ')}`))
}

const flag = oneOf(['true', 'false', '1', '0', 'yes', 'no']).transform((word) =>
  ['true', '1', 'yes'].includes(word),
)

const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

function webAddress(example: string) {
  const message = `give an http or https address such as ${example}`
  return z
    .url({ protocol: /^https?$/, error: message })
    .transform((text) => new URL(text))
    .refine(
      (url) => url.username === '' && url.password === '' && url.search === '' && url.hash === '',
      message,
    )
}

const proxyAddress = z.url({
  protocol: /^https?$/,
  error: 'give an address such as http://proxy.example.com:3128',
})

const loopbackHost = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** `ada@example.com` or `Ada <ada@example.com>`, on one line. */
const mailbox = z
  .string()
  .trim()
  .regex(
    /^(?:[^<>@\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u,
    'give an address such as Berth <berth@example.com>',
  )
  .transform((text) => {
    const [, name = '', address = text] = /^"?(.*?)"?\s*<(.+)>$/.exec(text) ?? []
    return { name, address }
  })

/** An address or a network as `proxy-addr` takes it. */
function isProxyAddress(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (prefix === undefined) return true
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

const proxyAddresses = commaList.refine(
  (addresses) => addresses.every(isProxyAddress),
  'give addresses or networks divided by commas such as 10.0.0.1, 192.168.0.0/16, loopback',
)

const origin = webAddress('https://console.example.com')
  .refine(
    ({ pathname, hostname }) => pathname === '/' && !hostname.includes('*'),
    'give whole origins such as https://console.example.com, without a path or *',
  )
  .transform((url) => url.origin)

const supervisor = webAddress('http://10.0.0.5:9997')
  .refine(({ pathname }) => pathname === '/', 'give addresses without a path such as http://10.0.0.5:9997')
  .transform((url) => url.origin)

const containerImage = z
  .string()
  .trim()
  .regex(
    /^[a-z0-9][-\w./:]*(:[\w][-\w.]{0,127}|@sha256:[0-9a-f]{64})$/i,
    'give an image with its tag or digest such as vllm/vllm-openai:v0.14.0',
  )

const bodyLimits = { fallback: 32 * 1024 * 1024, smallest: 1024, largest: 512 * 1024 * 1024 }

const environment = z.object({
  ROLE: oneOf(['all', 'api', 'worker', 'migrate']).default('all'),
  HOST: z.string().trim().min(1, 'give an address to listen on such as 127.0.0.1 or ::').default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(8080),
  PUBLIC_URL: webAddress('https://berth.example.com').optional(),
  DATA_DIR: z.string().min(1, 'give a folder').default('./data'),
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'give an address such as postgres://user:password@host:5432/berth',
    })
    .optional(),
  DATABASE_POOL_SIZE: wholeNumber(2, 500).default(20),
  API_PROCESSES: z
    .union([oneOf(['auto']), wholeNumber(1, 1024)], 'give a whole number from 1 to 1024, or auto')
    .default('auto'),
  DRAIN_DELAY: wholeNumber(0, 600).optional(),
  RUNTIME: oneOf(['local', 'xinference', 'kubernetes']).default('local'),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  TRUST_PROXY: proxyAddresses.optional(),
  SESSION_COOKIE_NAME: z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'give a cookie name: letters, digits, - and _')
    .default('session'),
  SESSION_COOKIE_SECURE: flag.optional(),
  SESSION_COOKIE_SAMESITE: oneOf(['strict', 'lax', 'none']).default('lax'),
  CSRF_TRUSTED_ORIGINS: commaList.pipe(z.array(origin)).default([]),
  INFERENCE_BODY_LIMIT: wholeNumber(bodyLimits.smallest, bodyLimits.largest).default(bodyLimits.fallback),
  INFERENCE_CONNECT_TIMEOUT_MS: wholeNumber(1, 600_000).default(5_000),
  INFERENCE_FIRST_BYTE_TIMEOUT_MS: wholeNumber(1, 86_400_000).default(300_000),
  INFERENCE_IDLE_TIMEOUT_MS: wholeNumber(1, 86_400_000).default(120_000),
  INFERENCE_MAX_IN_FLIGHT_PER_USER: wholeNumber(1, 1_000_000).default(4_096),
  INFERENCE_MAX_IN_FLIGHT_PER_DEPLOYMENT: wholeNumber(1, 1_000_000).default(2_048),
  INFERENCE_MAX_QUEUED_PER_DEPLOYMENT: wholeNumber(0, 100_000).default(128),
  INFERENCE_QUEUE_TIMEOUT_MS: wholeNumber(1, 600_000).default(5_000),
  SECRET_KEY: z
    .string()
    .min(32, 'give at least 32 characters, for example from `openssl rand -hex 32`')
    .optional(),
  MAIL_URL: z
    .url({
      protocol: /^smtps?$/,
      error: 'give an address such as smtp://user:password@mail.example.com:587',
      abort: true,
    })
    .refine(
      (text) => new URL(text).hostname !== '',
      'name the mail server, as in smtp://mail.example.com:587',
    )
    .optional(),
  MAIL_FROM: mailbox.optional(),
  CATALOG_FILE: optionalText,
  PRICES_FILE: optionalText,
  INSTANCE_TYPES_FILE: optionalText,
  HF_ENDPOINT: webAddress('https://huggingface.co').default(new URL('https://huggingface.co')),
  HF_TOKEN: optionalText,
  LOCAL_CONTEXT_TOKENS: wholeNumber(256, 1_048_576).default(4096),
  LOCAL_PARALLEL_SEQUENCES: wholeNumber(1, 64).default(4),
  LOCAL_EXPECTED_ENGINES: wholeNumber(1, 1024).default(2),
  LOCAL_MEMORY_LIMIT: wholeNumber(64 * 1024 * 1024, Number.MAX_SAFE_INTEGER).optional(),
  XINFERENCE_URLS: commaList
    .pipe(z.array(supervisor))
    .transform((origins) => [...new Set(origins)])
    .default([]),
  XINFERENCE_USERNAME: optionalText,
  XINFERENCE_PASSWORD: optionalText,
  KUBECONFIG: optionalText,
  KUBERNETES_NAMESPACE: z
    .string()
    .trim()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'give a name of a-z, 0-9 and dashes such as berth')
    .default('berth'),
  KUBERNETES_REGION: optionalText,
  KUBERNETES_INSTANCE_TYPES: commaList
    .refine((names) => names.length > 0, 'give names of the instance type file divided by commas')
    .optional(),
  KUBERNETES_GPUS_PER_NODE: wholeNumber(1, 64).default(8),
  KUBERNETES_VLLM_IMAGE: containerImage.default('vllm/vllm-openai:v0.14.0'),
  KUBERNETES_LLAMACPP_IMAGE: containerImage.default('ghcr.io/ggml-org/llama.cpp:server-cuda-b9128'),
  KUBERNETES_MODEL_CACHE: z
    .string()
    .trim()
    .regex(
      /^(emptydir:[1-9]\d{0,9}[KMGT]i|[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?)$/,
      'give emptydir, emptydir with a size such as emptydir:200Gi, or the name of a volume claim',
    )
    .default('emptydir'),
  KUBERNETES_ENGINE_ADDRESS: z
    .string()
    .trim()
    .refine(
      (text) => text.includes('{service}') && /^https?:\/\/[^\s?#]+[^\s?#/]$/.test(text),
      'give an address with {service} in it such as http://{service}.{namespace}.svc:8000',
    )
    .default('http://{service}.{namespace}.svc:8000'),
  KUBERNETES_CAPACITY_WAIT: wholeNumber(1, 3600).default(120),
  HTTP_PROXY: proxyAddress.optional(),
  HTTPS_PROXY: proxyAddress.optional(),
  NO_PROXY: optionalText,
  SSO_PROVIDER: z
    .string()
    .trim()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'give a short name of a-z, 0-9 and single dashes such as oidc')
    .max(63, 'give at most 63 characters')
    .refine(
      (name) => name !== 'password',
      'this name stands for sessions that began with a password; give another',
    )
    .default('oidc'),
  SSO_DISPLAY_NAME: z.string().trim().max(255, 'give at most 255 characters').default('Single sign-on'),
  OIDC_ISSUER_URL: webAddress('https://login.example.com')
    .refine(
      ({ protocol, hostname }) => protocol === 'https:' || loopbackHost.test(hostname),
      'give an https address; plain http is for a provider on this machine alone',
    )
    .optional(),
  OIDC_CLIENT_ID: optionalText,
  OIDC_CLIENT_SECRET: optionalText,
  OIDC_SCOPES: z
    .string()
    .transform((text) => text.trim().split(/\s+/).join(' '))
    .refine((text) => text.split(' ').includes('openid'), 'give scopes divided by spaces, openid among them')
    .default('openid email profile'),
  BILLING_PROCESSOR: oneOf(['sandbox', 'stripe']).default('sandbox'),
  STRIPE_SECRET_KEY: z
    .string()
    .trim()
    .regex(/^(sk|rk)_(test|live)_\w+$/, 'give a secret key of Stripe, which begins with sk_ or rk_')
    .optional(),
  STRIPE_PUBLISHABLE_KEY: z
    .string()
    .trim()
    .regex(/^pk_(test|live)_\w+$/, 'give a publishable key of Stripe, which begins with pk_')
    .optional(),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .trim()
    .regex(/^whsec_\w+$/, 'give the signing secret of the webhook endpoint, which begins with whsec_')
    .optional(),
  BILLING_CURRENCY: z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^[a-z]{3}$/, 'give a currency code of three letters such as usd')
    .default('usd'),
  BILLING_TRIAL: oneOf(['on', 'off']).default('on'),
  BILLING_TRIAL_CREDIT: z
    .string()
    .trim()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, 'give an amount such as 10.00')
    .default('10.00'),
  BILLING_TRIAL_MAX_ACTIVE: wholeNumber(0, 1_000_000).default(2),
  BILLING_POSTPAID_MAX_ACTIVE: wholeNumber(0, 1_000_000).default(20),
})

/** The names of all settings, as `.env.example` must list them. */
export const settingNames = Object.keys(environment.shape)

/** Reads all settings from the environment; throws a `ConfigError` that lists every mistake. An empty value counts as unset. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const given = Object.fromEntries(
    settingNames.flatMap((name) =>
      env[name] === undefined || env[name].trim() === '' ? [] : [[name, env[name]]],
    ),
  )
  const parsed = environment.safeParse(given)
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((issue) => describeIssue(issue, given)))
  }
  const settings = parsed.data
  const publicUrl = settings.PUBLIC_URL ?? new URL(`http://localhost:${settings.PORT}`)
  const secure = settings.SESSION_COOKIE_SECURE ?? publicUrl.protocol === 'https:'
  const problems: string[] = []
  if (settings.SESSION_COOKIE_SAMESITE === 'none' && !secure) {
    problems.push(
      'SESSION_COOKIE_SAMESITE: browsers refuse SameSite=None without Secure; serve PUBLIC_URL over https or set SESSION_COOKIE_SECURE=true',
    )
  }
  for (const prefix of ['__Host-', '__Secure-']) {
    if (settings.SESSION_COOKIE_NAME.startsWith(prefix) && !secure) {
      problems.push(`SESSION_COOKIE_NAME: a name that begins with ${prefix} needs SESSION_COOKIE_SECURE=true`)
    }
  }
  if (settings.METRICS_PORT === settings.PORT && settings.PORT !== 0) {
    problems.push(`METRICS_PORT: ${settings.PORT} is the server's own PORT; give another or leave it unset`)
  }
  if (settings.ROLE !== 'all' && settings.DATABASE_URL === undefined) {
    problems.push(
      `DATABASE_URL: ROLE=${settings.ROLE} shares a database with other processes; set DATABASE_URL to it`,
    )
  }
  const sso = readSso(settings, problems)
  const stripe = readStripe(settings, problems)
  const xinference = readXinference(settings, problems)
  if ((settings.ROLE === 'api' || settings.ROLE === 'worker') && settings.SECRET_KEY === undefined) {
    problems.push(
      `SECRET_KEY: ROLE=${settings.ROLE} derives the same engine keys as other processes; give all of them the same SECRET_KEY`,
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    role: settings.ROLE,
    host: settings.HOST,
    port: settings.PORT,
    publicUrl,
    dataDirectory: resolve(settings.DATA_DIR),
    databaseUrl: settings.DATABASE_URL ?? null,
    databasePoolSize: settings.DATABASE_POOL_SIZE,
    apiProcesses: readApiProcesses(settings),
    // Only behind a load balancer is there anybody to notice.
    drainDelaySeconds: settings.DRAIN_DELAY ?? (settings.ROLE === 'api' ? 5 : 0),
    runtime: settings.RUNTIME,
    logLevel: settings.LOG_LEVEL,
    metricsPort: settings.METRICS_PORT ?? null,
    trustProxy: settings.TRUST_PROXY ?? false,
    sessionCookie: { name: settings.SESSION_COOKIE_NAME, secure, sameSite: settings.SESSION_COOKIE_SAMESITE },
    csrfTrustedOrigins: settings.CSRF_TRUSTED_ORIGINS,
    inferenceBodyLimit: settings.INFERENCE_BODY_LIMIT,
    inference: {
      timeouts: {
        connect: settings.INFERENCE_CONNECT_TIMEOUT_MS,
        firstByte: settings.INFERENCE_FIRST_BYTE_TIMEOUT_MS,
        idle: settings.INFERENCE_IDLE_TIMEOUT_MS,
      },
      limits: {
        perUser: settings.INFERENCE_MAX_IN_FLIGHT_PER_USER,
        perDeployment: settings.INFERENCE_MAX_IN_FLIGHT_PER_DEPLOYMENT,
        queued: settings.INFERENCE_MAX_QUEUED_PER_DEPLOYMENT,
        queueMilliseconds: settings.INFERENCE_QUEUE_TIMEOUT_MS,
      },
    },
    secretKey: settings.SECRET_KEY ?? null,
    catalogFile: settings.CATALOG_FILE === undefined ? shippedCatalog : resolve(settings.CATALOG_FILE),
    pricesFile: settings.PRICES_FILE === undefined ? shippedPrices : resolve(settings.PRICES_FILE),
    instanceTypesFile:
      settings.INSTANCE_TYPES_FILE === undefined
        ? shippedInstanceTypes
        : resolve(settings.INSTANCE_TYPES_FILE),
    huggingFace: { endpoint: settings.HF_ENDPOINT.href.replace(/\/$/, ''), token: settings.HF_TOKEN ?? null },
    mail: {
      url: settings.MAIL_URL ?? null,
      from: settings.MAIL_FROM ?? { name: 'Berth', address: `berth@${publicUrl.hostname}` },
    },
    localEngine: {
      contextTokens: settings.LOCAL_CONTEXT_TOKENS,
      parallelSequences: settings.LOCAL_PARALLEL_SEQUENCES,
      expectedEngines: settings.LOCAL_EXPECTED_ENGINES,
      memoryLimitBytes: settings.LOCAL_MEMORY_LIMIT ?? null,
    },
    xinference,
    kubernetes: readKubernetes(settings),
    proxy: {
      http: settings.HTTP_PROXY ?? null,
      https: settings.HTTPS_PROXY ?? null,
      exceptions: settings.NO_PROXY ?? null,
    },
    sso,
    billing: {
      stripe,
      currency: settings.BILLING_CURRENCY,
      trial: settings.BILLING_TRIAL === 'on',
      trialCredit: settings.BILLING_TRIAL_CREDIT,
      trialMaxActive: settings.BILLING_TRIAL_MAX_ACTIVE,
      postpaidMaxActive: settings.BILLING_POSTPAID_MAX_ACTIVE,
    },
  }
}

/** What Stripe is reached with, or null where the sandbox takes its place; a problem for each setting that it lacks. */
function readStripe(settings: z.output<typeof environment>, problems: string[]): BillingConfig['stripe'] {
  if (settings.BILLING_PROCESSOR !== 'stripe') return null
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_PUBLISHABLE_KEY: publishableKey } = settings
  const webhookSecret = settings.STRIPE_WEBHOOK_SECRET
  for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_PUBLISHABLE_KEY', 'STRIPE_WEBHOOK_SECRET'] as const) {
    if (settings[name] === undefined)
      problems.push(`${name}: BILLING_PROCESSOR=stripe needs it; it stands in Stripe's dashboard`)
  }
  if (secretKey === undefined || publishableKey === undefined || webhookSecret === undefined) return null
  if (secretKey.split('_')[1] !== publishableKey.split('_')[1]) {
    problems.push('STRIPE_PUBLISHABLE_KEY: it and STRIPE_SECRET_KEY must both be test keys or both live keys')
  }
  return { secretKey, publishableKey, webhookSecret }
}

function readApiProcesses({ ROLE, API_PROCESSES }: z.output<typeof environment>): number {
  if (ROLE !== 'api') return 1
  return API_PROCESSES === 'auto' ? availableParallelism() : API_PROCESSES
}

/** The cluster, or null where models run elsewhere. */
function readKubernetes(settings: z.output<typeof environment>): KubernetesConfig | null {
  if (settings.RUNTIME !== 'kubernetes') return null
  const cache = settings.KUBERNETES_MODEL_CACHE
  const [kind, sizeLimit = null] = cache.split(':')
  return {
    namespace: settings.KUBERNETES_NAMESPACE,
    kubeconfig: settings.KUBECONFIG === undefined ? null : resolve(settings.KUBECONFIG),
    region: settings.KUBERNETES_REGION ?? null,
    instanceTypes: settings.KUBERNETES_INSTANCE_TYPES ?? null,
    gpusPerNode: settings.KUBERNETES_GPUS_PER_NODE,
    images: { vllm: settings.KUBERNETES_VLLM_IMAGE, llamaCpp: settings.KUBERNETES_LLAMACPP_IMAGE },
    modelCache: kind === 'emptydir' ? { kind: 'empty_dir', sizeLimit } : { kind: 'claim', name: cache },
    engineAddress: settings.KUBERNETES_ENGINE_ADDRESS,
    capacityWaitMs: settings.KUBERNETES_CAPACITY_WAIT * 1000,
  }
}

/** The clusters, or null where models run elsewhere; a problem for each setting that is missing. */
function readXinference(settings: z.output<typeof environment>, problems: string[]): XinferenceConfig | null {
  const { XINFERENCE_USERNAME: username, XINFERENCE_PASSWORD: password } = settings
  const credentials = username !== undefined && password !== undefined ? { username, password } : null
  if (credentials === null && (username !== undefined || password !== undefined)) {
    const missing = username === undefined ? 'XINFERENCE_USERNAME' : 'XINFERENCE_PASSWORD'
    problems.push(`${missing}: a sign-in needs a user name and a password; set both or none of them`)
  }
  if (settings.RUNTIME !== 'xinference') return null
  if (settings.XINFERENCE_URLS.length === 0) {
    problems.push(
      'XINFERENCE_URLS: RUNTIME=xinference needs the addresses of its supervisors such as http://10.0.0.5:9997',
    )
  }
  return { supervisors: settings.XINFERENCE_URLS, credentials }
}

/** The provider's settings, or null when none of them is given; a part of them is a problem. */
function readSso(settings: z.infer<typeof environment>, problems: string[]): SsoConfig | null {
  const { OIDC_ISSUER_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = settings
  const needed = { OIDC_ISSUER_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }
  const names = Object.keys(needed)
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === undefined ? [name] : []))
  if (missing.length === names.length) return null
  if (OIDC_ISSUER_URL === undefined || OIDC_CLIENT_ID === undefined || OIDC_CLIENT_SECRET === undefined) {
    problems.push(
      `${missing.join(', ')}: sign-in through a provider needs ${names.join(', ')}; set all or none of them`,
    )
    return null
  }
  return {
    provider: settings.SSO_PROVIDER,
    displayName: settings.SSO_DISPLAY_NAME,
    issuerUrl: OIDC_ISSUER_URL,
    clientId: OIDC_CLIENT_ID,
    clientSecret: OIDC_CLIENT_SECRET,
    scopes: settings.OIDC_SCOPES,
  }
}

const secretSettings = new Set([
  'DATABASE_URL',
  'MAIL_URL',
  'SECRET_KEY',
  'HF_TOKEN',
  'XINFERENCE_PASSWORD',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'OIDC_CLIENT_SECRET',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
])

function describeIssue(issue: z.core.$ZodIssue, given: Record<string, string | undefined>): string {
  const name = String(issue.path[0])
  const value = secretSettings.has(name) ? '' : ` (it is ${JSON.stringify(given[name])})`
  return `${name}: ${issue.message}${value}`
}
