// Creates the meters, products and prices of the price file and the instance types in the Stripe account of
// STRIPE_SECRET_KEY. Safe to repeat: objects stay, and a changed amount is a new price. `--api-base http://…`
// replaces Stripe's API.
import { Agent } from 'node:https'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stripe } from 'stripe'
import { listInstanceTypes } from '../server/src/adapters/model-runtime/local/list-instance-types.ts'
import { installationOf } from '../server/src/adapters/payment-processor/installation.ts'
import { publishPrices } from '../server/src/adapters/payment-processor/stripe/publish-prices.ts'
import { maxPrices } from '../server/src/adapters/payment-processor/stripe/update-subscriptions.ts'
import { proxyAgentOptions } from '../server/src/base/proxy.ts'
import { ConfigError, readConfig } from '../server/src/config/config.ts'
import type { Config } from '../server/src/config/config.ts'
import {
  pickInstanceTypes,
  readInstanceTypesFile,
} from '../server/src/features/placement/instance-types-file.ts'
import type { Dimensions } from '../server/src/base/meters.ts'
import { listMeteredPrices } from '../server/src/features/metering/prices.ts'
import { readPrices } from '../server/src/features/metering/read-prices.ts'
import type { InstanceType } from '../server/src/ports/model-runtime.ts'
import type { MeteredPrice } from '../server/src/ports/payment-processor.ts'

/** The event types for the webhook endpoint in Stripe's dashboard. */
const webhookEvents = [
  'checkout.session.completed',
  'checkout.session.expired',
  'customer.updated',
  'customer.deleted',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'invoice.created',
  'invoice.finalized',
  'invoice.finalization_failed',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.payment_action_required',
  'invoice.updated',
  'invoice.voided',
  'invoice.marked_uncollectible',
  'invoice.overdue',
  'payment_method.attached',
  'payment_method.detached',
  'payment_method.updated',
  'payment_method.automatically_updated',
  'setup_intent.succeeded',
  'setup_intent.setup_failed',
]

async function setUp(): Promise<void> {
  const { values } = parseArgs({ options: { 'api-base': { type: 'string' } } })
  const config = readConfig(process.env)
  const secretKey = process.env.STRIPE_SECRET_KEY
  if (secretKey === undefined || secretKey.trim() === '') {
    throw new ConfigError(["STRIPE_SECRET_KEY: set it to the account's secret key from Stripe's dashboard"])
  }
  const base = values['api-base']
  const stripe = new Stripe(secretKey.trim(), {
    maxNetworkRetries: 2,
    ...(base === undefined
      ? { httpClient: Stripe.createNodeHttpClient(new Agent(proxyAgentOptions(config.proxy))) }
      : toStripeHost(base)),
  })
  const prices = await listPrices(config)
  const { created, subscriptions } = await publishPrices(stripe, await findInstallation(config), prices)
  for (const { key, unitAmountDecimal, currency } of prices) {
    const change = created.includes(key) ? 'created  ' : 'unchanged'
    console.log(`${change}  ${key}  ${unitAmountDecimal} ${currency}`)
  }
  console.log(
    `${prices.length} prices, ${created.length} of them new; ${subscriptions} live subscriptions updated.`,
  )
  console.log(
    `\nIn Stripe's dashboard, create a webhook endpoint of API version ${Stripe.API_VERSION} with the URL`,
  )
  console.log(`  ${config.publicUrl.href.replace(/\/$/, '')}/v1/billing/webhook`)
  console.log(`and the following events. Then set STRIPE_WEBHOOK_SECRET to its signing secret.`)
  console.log(`  ${webhookEvents.join('\n  ')}`)
}

/** All prices of this installation, from its settings and, for the local runtime, the GPUs of this host. */
async function listPrices(config: Config): Promise<MeteredPrice[]> {
  const types = readInstanceTypesFile(config.instanceTypesFile)
  const prices = listMeteredPrices(
    readPrices(config, types),
    new Date(),
    await listInstances(config, types),
    maxPrices,
  )
  if (prices.length <= maxPrices) return prices
  const setting =
    config.kubernetes !== null
      ? 'KUBERNETES_INSTANCE_TYPES'
      : config.xinference.supervisors.length > 0
        ? 'INSTANCE_TYPES_FILE'
        : 'PRICES_FILE'
  throw new ConfigError([
    `${setting}: a subscription can have at most ${maxPrices} prices, but there are ${prices.length}. Remove the instance types that you don't have`,
  ])
}

async function listInstances(
  { runtimes, kubernetes, localEngine: { gpuShares } }: Config,
  instanceTypes: readonly InstanceType[],
): Promise<Dimensions[]> {
  const found = runtimes.includes('local')
    ? await listInstanceTypes({ environment: process.env, instanceTypes, gpuShares })
    : []
  const named = [
    ...(runtimes.includes('xinference') ? instanceTypes : []),
    ...(kubernetes === null ? [] : pickInstanceTypes(instanceTypes, kubernetes.instanceTypes)),
  ]
  return [
    ...found.map(({ instanceType, region }) => ({ instance_type: instanceType, region })),
    ...named.map(({ name, region }) => ({ instance_type: name, region })),
  ]
}

function toStripeHost(base: string) {
  const { hostname, port, protocol } = new URL(base)
  return {
    host: hostname,
    port: port === '' ? '443' : port,
    protocol: protocol === 'http:' ? 'http' : 'https',
  } as const
}

/** The installation name, derived from the secret key; from an empty key if the server has never started. */
async function findInstallation(config: Config): Promise<string> {
  const key =
    config.secretKey ??
    (await readFile(join(config.dataDirectory, 'secret-key'), 'utf8').catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return ''
        throw error
      },
    ))
  return installationOf(key.trim())
}

try {
  await setUp()
} catch (error) {
  console.error(
    error instanceof ConfigError || error instanceof Stripe.errors.StripeError ? error.message : error,
  )
  process.exitCode = 1
}
