import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { accessSettings } from './access.ts'
import type { RegistrationPolicy } from './access.ts'
import { billingSettings, readBilling } from './billing.ts'
import type { BillingConfig } from './billing.ts'
import { alertsSettings, readAlerts } from './alerts.ts'
import type { AlertsConfig } from './alerts.ts'
import { inferenceSettings, readInference } from './inference.ts'
import type { InferenceConfig } from './inference.ts'
import { mailSettings, readMail } from './mail.ts'
import type { MailConfig } from './mail.ts'
import { passwordHashing } from './password-hashing.ts'
import type { PasswordHashing } from './password-hashing.ts'
import {
  readEngineLimits,
  readKubernetes,
  readLocalEngine,
  readXinference,
  runtimesSettings,
} from './runtimes.ts'
import type { EngineLimitsConfig, KubernetesConfig, LocalEngineConfig, XinferenceConfig } from './runtimes.ts'
import { readSso, ssoSettings } from './sso.ts'
import type { SsoConfig } from './sso.ts'
import { readUploads, uploadsSettings } from './uploads.ts'
import type { UploadsConfig } from './uploads.ts'
import { commaList, flag, oneOf, optionalText, webAddress, wholeNumber } from './values.ts'

/** The part of the server that a process runs. */
export type ProcessRole = 'all' | 'api' | 'worker' | 'migrate'

/** The validated settings of the server. A feature that is turned off is null. */
export interface Config extends InferenceConfig {
  role: ProcessRole
  host: string
  port: number
  /** The server's public address: its origin is trusted, and links in emails start with it */
  publicUrl: URL
  /** Absolute path of the directory that the server writes to */
  dataDirectory: string
  /** null for an embedded PostgreSQL in `dataDirectory` */
  databaseUrl: string | null
  databasePoolSize: number
  /** Longest time of one database statement */
  databaseTimeoutSeconds: number
  /** Number of processes that share `port`; more than 1 only with ROLE=api */
  apiProcesses: number
  /** Seconds between the shutdown signal, when `/readyz` starts to fail, and the end of accepting requests */
  drainDelaySeconds: number
  /** Days after which rows of the audit log are deleted */
  auditRetentionDays: number
  runtime: 'local' | 'xinference' | 'kubernetes'
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** Lines for people or JSON; `auto` is the former on a terminal */
  logFormat: 'auto' | 'json' | 'text'
  /** Port of the health checks and metrics of a worker; null for the default, if it is free */
  workerPort: number | null
  /** null to serve `/metrics` on `port` */
  metricsPort: number | null
  /** Addresses of reverse proxies whose `X-Forwarded-*` headers are trusted; false for none */
  trustProxy: string[] | false
  sessionCookie: { name: string; secure: boolean; sameSite: 'strict' | 'lax' | 'none' }
  csrfTrustedOrigins: string[]
  /** Most open event streams. Above them, callers get a 429. */
  eventStreams: { perUser: number; perProcess: number }
  /** Callers that send a body or read a response below this rate for this long are disconnected */
  minimumRate: { bytesPerSecond: number; timeoutMilliseconds: number }
  /** Engine keys are derived from this key. null to generate one and keep it in `dataDirectory`. */
  secretKey: string | null
  /** The key before a change of the SECRET_KEY; null unless it is being changed */
  previousSecretKey: string | null
  /** Absolute path of the model catalog */
  catalogFile: string
  /** True if `CATALOG_FILE` is set: then it alone decides which models the installation has */
  hasOwnCatalog: boolean
  /** Absolute path of the price file */
  pricesFile: string
  /** Absolute path of the instance type file */
  instanceTypesFile: string
  huggingFace: { endpoint: string; token: string | null }
  uploads: UploadsConfig
  mail: MailConfig
  alerts: AlertsConfig
  localEngine: LocalEngineConfig
  engineLimits: EngineLimitsConfig
  /** null unless `runtime` is xinference */
  xinference: XinferenceConfig | null
  /** null unless `runtime` is kubernetes */
  kubernetes: KubernetesConfig | null
  /** Proxies for downloads; null for none. `exceptions` are hosts to reach directly, separated by commas. */
  proxy: { http: string | null; https: string | null; exceptions: string | null }
  /** null when SSO is not configured */
  sso: SsoConfig | null
  billing: BillingConfig
  registration: RegistrationPolicy
  /** Minutes without a request after which new deployments fall asleep; null: never by themselves */
  defaultIdleMinutes: number | null
  /** How long the load must ask for fewer instances before one is released, in milliseconds */
  scaleDownMilliseconds: number
  /** true if accounts must prove their email before they deploy or invite; never without a mail server */
  requiresEmailConfirmation: boolean
  /** No setting changes it; most tests hash cheaply. */
  passwordHashing: PasswordHashing
  /** true to reject the most common passwords */
  passwordBlocklist: boolean
  /** Requests of one network to each route without a session, in each process */
  networkLimits: { registrationsPerHour: number; requestsPerMinute: number }
  /**
   * Hosts that requests may name besides loopback, that of `publicUrl` first; null for any, while
   * `PUBLIC_URL` is unset
   */
  hosts: string[] | null
  /** true to serve `/metrics` on `port` to everybody instead of this machine */
  metricsPublic: boolean
}

/** Lists every invalid setting on a separate line, with its name and a remedy. */
export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(`Some settings are invalid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

const shippedCatalog = resolve(import.meta.dirname, '../../../catalog/models.yaml')
const shippedPrices = resolve(import.meta.dirname, '../../../catalog/prices.yaml')
const shippedInstanceTypes = resolve(import.meta.dirname, '../../../catalog/instance-types.yaml')

const proxyAddress = z.url({
  protocol: /^https?$/,
  error: 'must be an address such as http://proxy.example.com:3128',
})

/** True for an address, a network or a name that `proxy-addr` accepts. */
function isProxyAddress(text: string): boolean {
  const isNetwork = ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)
  return proxyNames.has(text) || isIP(text) !== 0 || (isNetwork && !/\/0/.test(text))
}

const proxyNames = new Set(['loopback', 'linklocal', 'uniquelocal'])

const proxyAddresses = commaList.refine(
  (addresses) => addresses.every(isProxyAddress),
  'must be addresses or networks separated by commas, such as 10.0.0.1, 192.168.0.0/16, loopback',
)

const origin = webAddress('https://console.example.com')
  .refine(
    ({ pathname, hostname }) => pathname === '/' && !hostname.includes('*'),
    'must be origins such as https://console.example.com, without a path or *',
  )
  .transform((url) => url.origin)

const environment = z.object({
  ROLE: oneOf(['all', 'api', 'worker', 'migrate']).default('all'),
  HOST: z
    .string()
    .trim()
    .min(1, 'must be an address to listen on, such as 127.0.0.1 or ::')
    .default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(8080),
  PUBLIC_URL: webAddress('https://berth.example.com').optional(),
  DATA_DIR: z.string().min(1, 'must be a directory').default('./data'),
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be an address such as postgres://user:password@host:5432/berth',
    })
    .optional(),
  DATABASE_POOL_SIZE: wholeNumber(2, 500).default(20),
  DATABASE_TIMEOUT: wholeNumber(1, 3600).default(30),
  API_PROCESSES: z
    .union([oneOf(['auto']), wholeNumber(1, 1024)], 'must be a whole number from 1 to 1024, or auto')
    .default('auto'),
  DRAIN_DELAY: wholeNumber(0, 600).optional(),
  DEFAULT_IDLE_MINUTES: wholeNumber(1, 10_080).optional(),
  SCALE_DOWN_SECONDS: wholeNumber(1, 86_400).default(300),
  AUDIT_RETENTION: wholeNumber(1, 36_500).default(400),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  LOG_FORMAT: oneOf(['auto', 'json', 'text']).default('auto'),
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  WORKER_PORT: wholeNumber(0, 65_535).optional(),
  TRUST_PROXY: proxyAddresses.optional(),
  SESSION_COOKIE_NAME: z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'must be a cookie name: letters, digits, - and _')
    .optional(),
  SESSION_COOKIE_SECURE: flag.optional(),
  SESSION_COOKIE_SAMESITE: oneOf(['strict', 'lax', 'none']).default('lax'),
  CSRF_TRUSTED_ORIGINS: commaList.pipe(z.array(origin)).default([]),
  MAX_EVENT_STREAMS_PER_USER: wholeNumber(1, 1_000_000).default(100),
  MAX_EVENT_STREAMS_PER_PROCESS: wholeNumber(1, 1_000_000).default(5_000),
  MIN_TRANSFER_RATE: wholeNumber(1, 1_000_000).default(500),
  SLOW_TRANSFER_TIMEOUT_MS: wholeNumber(100, 600_000).default(30_000),
  SECRET_KEY: z
    .string()
    .min(32, 'must have at least 32 characters; generate a key with `openssl rand -hex 32`')
    .optional(),
  PREVIOUS_SECRET_KEY: z
    .string()
    .min(32, 'must be the SECRET_KEY so far, of at least 32 characters')
    .optional(),
  CATALOG_FILE: optionalText,
  PRICES_FILE: optionalText,
  INSTANCE_TYPES_FILE: optionalText,
  HF_ENDPOINT: webAddress('https://huggingface.co').default(new URL('https://huggingface.co')),
  HF_TOKEN: optionalText,
  HTTP_PROXY: proxyAddress.optional(),
  HTTPS_PROXY: proxyAddress.optional(),
  NO_PROXY: optionalText,
  ...accessSettings,
  ...alertsSettings,
  ...inferenceSettings,
  ...mailSettings,
  ...runtimesSettings,
  ...ssoSettings,
  ...uploadsSettings,
  ...billingSettings,
})

/** The names of all settings; `.env.example` lists the same. */
export const settingNames = Object.keys(environment.shape)

/**
 * Reads the settings from the environment. An empty value counts as unset. Throws a `ConfigError` that lists
 * every problem.
 */
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
  // Only browsers with a secure connection accept the prefix, and only from this host.
  const cookieName =
    settings.SESSION_COOKIE_NAME ?? (secure && publicUrl.protocol === 'https:' ? '__Host-session' : 'session')
  const problems: string[] = []
  if (settings.SESSION_COOKIE_SAMESITE === 'none' && !secure) {
    problems.push(
      'SESSION_COOKIE_SAMESITE: browsers reject SameSite=None without Secure; use an https PUBLIC_URL or set SESSION_COOKIE_SECURE=true',
    )
  }
  for (const prefix of ['__Host-', '__Secure-']) {
    if (cookieName.startsWith(prefix) && !secure) {
      problems.push(
        `SESSION_COOKIE_NAME: a name that starts with ${prefix} requires SESSION_COOKIE_SECURE=true`,
      )
    }
  }
  if (settings.METRICS_PORT === settings.PORT && settings.PORT !== 0) {
    problems.push(`METRICS_PORT: must differ from PORT (${settings.PORT}); choose another port or unset it`)
  }
  if (settings.ROLE !== 'all' && settings.DATABASE_URL === undefined) {
    problems.push(
      `DATABASE_URL: ROLE=${settings.ROLE} requires a shared database; set it to the database of the other processes`,
    )
  }
  if (settings.EMAIL_CONFIRMATION === 'required' && settings.MAIL_URL === undefined) {
    problems.push('EMAIL_CONFIRMATION: required needs a mail server; set MAIL_URL too')
  }
  const alerts = readAlerts(settings, problems)
  const inference = readInference(settings, problems)
  const sso = readSso(settings, problems)
  const billing = readBilling(settings, problems)
  const xinference = readXinference(settings, problems)
  if ((settings.ROLE === 'api' || settings.ROLE === 'worker') && settings.SECRET_KEY === undefined) {
    problems.push(
      `SECRET_KEY: ROLE=${settings.ROLE} requires a shared key; set the same SECRET_KEY for all processes`,
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
    databaseTimeoutSeconds: settings.DATABASE_TIMEOUT,
    apiProcesses: readApiProcesses(settings),
    // A delay only helps behind a load balancer.
    drainDelaySeconds: settings.DRAIN_DELAY ?? (settings.ROLE === 'api' ? 5 : 0),
    auditRetentionDays: settings.AUDIT_RETENTION,
    runtime: settings.RUNTIME,
    logLevel: settings.LOG_LEVEL,
    logFormat: settings.LOG_FORMAT,
    metricsPort: settings.METRICS_PORT ?? null,
    workerPort: settings.WORKER_PORT ?? null,
    trustProxy: settings.TRUST_PROXY ?? false,
    sessionCookie: { name: cookieName, secure, sameSite: settings.SESSION_COOKIE_SAMESITE },
    csrfTrustedOrigins: settings.CSRF_TRUSTED_ORIGINS,
    eventStreams: {
      perUser: settings.MAX_EVENT_STREAMS_PER_USER,
      perProcess: settings.MAX_EVENT_STREAMS_PER_PROCESS,
    },
    minimumRate: {
      bytesPerSecond: settings.MIN_TRANSFER_RATE,
      timeoutMilliseconds: settings.SLOW_TRANSFER_TIMEOUT_MS,
    },
    ...inference,
    secretKey: settings.SECRET_KEY ?? null,
    previousSecretKey: settings.PREVIOUS_SECRET_KEY ?? null,
    hasOwnCatalog: settings.CATALOG_FILE !== undefined,
    catalogFile: settings.CATALOG_FILE === undefined ? shippedCatalog : resolve(settings.CATALOG_FILE),
    pricesFile: settings.PRICES_FILE === undefined ? shippedPrices : resolve(settings.PRICES_FILE),
    instanceTypesFile:
      settings.INSTANCE_TYPES_FILE === undefined
        ? shippedInstanceTypes
        : resolve(settings.INSTANCE_TYPES_FILE),
    huggingFace: { endpoint: settings.HF_ENDPOINT.href.replace(/\/$/, ''), token: settings.HF_TOKEN ?? null },
    uploads: readUploads(settings),
    mail: readMail(settings, publicUrl),
    alerts,
    localEngine: readLocalEngine(settings),
    engineLimits: readEngineLimits(settings),
    xinference,
    kubernetes: readKubernetes(settings),
    proxy: {
      http: settings.HTTP_PROXY ?? null,
      https: settings.HTTPS_PROXY ?? null,
      exceptions: settings.NO_PROXY ?? null,
    },
    sso,
    billing,
    registration: settings.REGISTRATION,
    defaultIdleMinutes: settings.DEFAULT_IDLE_MINUTES ?? null,
    scaleDownMilliseconds: settings.SCALE_DOWN_SECONDS * 1000,
    requiresEmailConfirmation: requiresEmailConfirmation(settings),
    passwordHashing,
    passwordBlocklist: settings.PASSWORD_BLOCKLIST === 'on',
    networkLimits: {
      registrationsPerHour: settings.REGISTRATION_RATE_LIMIT,
      requestsPerMinute: settings.PUBLIC_RATE_LIMIT,
    },
    hosts: settings.PUBLIC_URL === undefined ? null : [publicUrl.hostname, ...settings.ALLOWED_HOSTS],
    metricsPublic: settings.METRICS_PUBLIC,
  }
}

function readApiProcesses({ ROLE, API_PROCESSES }: z.output<typeof environment>): number {
  if (ROLE !== 'api') return 1
  return API_PROCESSES === 'auto' ? availableParallelism() : API_PROCESSES
}

/** Where not everybody may register, the operator knows who does. */
function requiresEmailConfirmation(settings: z.output<typeof environment>): boolean {
  const { MAIL_URL, EMAIL_CONFIRMATION, REGISTRATION } = settings
  const fallback = REGISTRATION.mode === 'open' ? 'required' : 'off'
  return MAIL_URL !== undefined && (EMAIL_CONFIRMATION ?? fallback) === 'required'
}

const secretSettings = new Set([
  'DATABASE_URL',
  'MAIL_URL',
  'MODEL_STORE_URL',
  'ALERT_WEBHOOK_URL',
  'ALERT_WEBHOOK_SECRET',
  'SECRET_KEY',
  'PREVIOUS_SECRET_KEY',
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
  const value = secretSettings.has(name) ? '' : ` (got ${JSON.stringify(given[name])})`
  return `${name}: ${issue.message}${value}`
}
