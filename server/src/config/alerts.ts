import { z } from 'zod'
import { networkList } from './values.ts'

/** The alerts that leave the installation as webhooks. */
export interface AlertsConfig {
  /** Where the operator gets the alerts of all organizations; null for nowhere */
  operator: { url: URL; secret: string } | null
  /** Networks, besides the public ones, that the webhooks of organizations may reach, as `10.0.0.0/8` */
  networks: readonly string[]
}

/** 24 to 64 bytes, as Standard Webhooks asks for */
const secretBytes = { least: 24, most: 64 }

const secret = z.string().refine((text) => {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1]
  const { length } = Buffer.from(base64 ?? '', 'base64')
  return length >= secretBytes.least && length <= secretBytes.most
}, 'must be whsec_ and 24 to 64 bytes in base64; generate one with `echo whsec_$(openssl rand -base64 32)`')

const address = z
  .url({
    protocol: /^https?$/,
    error: 'must be an http or https address such as https://alerts.example.com/berth',
  })
  .transform((text) => new URL(text))
  .refine(({ username, password }) => username === '' && password === '', 'must have no user and no password')

export const alertsSettings = {
  ALERT_WEBHOOK_URL: address.optional(),
  ALERT_WEBHOOK_SECRET: secret.optional(),
  WEBHOOK_NETWORKS: networkList,
}

export function readAlerts(
  settings: z.output<z.ZodObject<typeof alertsSettings>>,
  problems: string[],
): AlertsConfig {
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: key, WEBHOOK_NETWORKS: networks } = settings
  if ((url === undefined) !== (key === undefined)) {
    problems.push('ALERT_WEBHOOK_URL: needs ALERT_WEBHOOK_SECRET, and the reverse; set both or neither')
  }
  return { operator: url === undefined || key === undefined ? null : { url, secret: key }, networks }
}
