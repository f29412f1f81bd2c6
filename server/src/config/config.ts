import { z } from 'zod'
import { accessSettings, readAccess } from './access.ts'
import type { AccessConfig } from './access.ts'
import { alertsSettings, readAlerts } from './alerts.ts'
import type { AlertsConfig } from './alerts.ts'
import { billingSettings, readBilling } from './billing.ts'
import type { BillingConfig } from './billing.ts'
import { endpointsSettings, readEndpoints } from './endpoints.ts'
import type { EndpointsConfig } from './endpoints.ts'
import { httpSettings, readHttp } from './http.ts'
import type { HttpConfig } from './http.ts'
import { inferenceSettings, readInference } from './inference.ts'
import type { InferenceConfig } from './inference.ts'
import { mailSettings, readMail } from './mail.ts'
import type { MailConfig } from './mail.ts'
import { modelsSettings, readModels } from './models.ts'
import type { ModelsConfig } from './models.ts'
import { processSettings, readProcess } from './process.ts'
import type { ProcessConfig } from './process.ts'
import { readRuntimes, runtimesSettings } from './runtimes.ts'
import type { RuntimesConfig } from './runtimes.ts'
import { readSso, ssoSettings } from './sso.ts'
import type { SsoConfig } from './sso.ts'

/** The validated settings, and constants that tests replace. A feature that is turned off is null. */
export interface Config
  extends ProcessConfig, HttpConfig, AccessConfig, InferenceConfig, ModelsConfig, RuntimesConfig {
  mail: MailConfig
  alerts: AlertsConfig
  endpoints: EndpointsConfig
  /** null when SSO is not configured */
  sso: SsoConfig | null
  billing: BillingConfig
}

/** Lists every invalid setting on a separate line, with its name and a remedy. */
export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(`Some settings are invalid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

const environment = z.object({
  ...processSettings,
  ...httpSettings,
  ...accessSettings,
  ...mailSettings,
  ...alertsSettings,
  ...endpointsSettings,
  ...inferenceSettings,
  ...modelsSettings,
  ...runtimesSettings,
  ...ssoSettings,
  ...billingSettings,
})

/** The names of all settings; `.env.example` lists the same. */
export const settingNames = Object.keys(environment.shape)

/** Reads the settings; an empty value counts as unset. Throws a `ConfigError` with every problem. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const given = Object.fromEntries(
    settingNames.flatMap((name) => {
      const value = valueOf(env[name]) ?? (proxySettings.has(name) ? valueOf(env[name.toLowerCase()]) : null)
      return value === null ? [] : [[name, value]]
    }),
  )
  const parsed = environment.safeParse(given)
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((issue) => describeIssue(issue, given)))
  }
  const settings = parsed.data
  const problems: string[] = []
  const server = readProcess(settings, problems)
  const models = readModels(settings)
  const config = {
    ...server,
    ...readHttp(settings, settings.PUBLIC_URL, problems),
    ...readAccess(settings, settings.MAIL_URL !== undefined, problems),
    ...readInference(settings),
    ...models,
    ...readRuntimes(settings, problems),
    mail: readMail(settings, server.publicUrl),
    alerts: readAlerts(settings, problems),
    endpoints: readEndpoints(settings, problems),
    sso: readSso(settings, problems),
    billing: readBilling(settings, models.instanceTypesFile, problems),
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** Programs agree on the names of these variables, but not on their letters. */
const proxySettings = new Set(['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'])

function valueOf(text: string | undefined): string | null {
  return text === undefined || text.trim() === '' ? null : text
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
  'XINFERENCE_URLS',
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
