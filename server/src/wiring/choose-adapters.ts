import { dirname, join } from 'node:path'
import { openPaymentSandbox } from '@berth/payment-sandbox'
import type { PaymentSandbox } from '@berth/payment-sandbox'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { createFileMailer } from '../adapters/mailer/file.ts'
import { createSmtpMailer } from '../adapters/mailer/smtp.ts'
import { createHuggingFaceHub } from '../adapters/model-hub/hugging-face.ts'
import { createDiskStore } from '../adapters/model-store/disk.ts'
import { withLeftFiles } from '../adapters/model-store/left-files.ts'
import { createEndpointsRuntime } from '../adapters/model-runtime/endpoints/runtime.ts'
import { joinRuntimes } from '../adapters/model-runtime/join-runtimes.ts'
import { createLocalRuntime } from '../adapters/model-runtime/local/runtime.ts'
import { withWarmUp } from '../adapters/model-runtime/warm-up.ts'
import { OwnCluster } from '../adapters/model-runtime/own-cluster/own-cluster.ts'
import { createXinferenceRuntime } from '../adapters/model-runtime/xinference/runtime.ts'
import { installationOf } from '../adapters/payment-processor/installation.ts'
import { createStripeProcessor } from '../adapters/payment-processor/stripe/processor.ts'
import type { ObservedTime } from '../base/observed-time.ts'
import type { Config } from '../config/config.ts'
import type { KubernetesConfig, RuntimeName } from '../config/runtimes.ts'
import type { Database } from '../database/tables.ts'
import { mainProtocols } from '../features/inference/protocols/protocols.ts'
import { pickInstanceTypes } from '../features/placement/instance-types-file.ts'
import type { Jobs } from '../jobs/queue.ts'
import type { EndpointDirectory } from '../ports/endpoint-directory.ts'
import type { IdentityProvider } from '../ports/identity-provider.ts'
import type { Mailer } from '../ports/mailer.ts'
import type { ModelHub } from '../ports/model-hub.ts'
import type { InstanceType, ModelRuntime, ModelRuntimes } from '../ports/model-runtime.ts'
import type { ModelStore } from '../ports/model-store.ts'
import type { PaymentProcessor } from '../ports/payment-processor.ts'

export function openSandbox(
  { publicUrl }: Config,
  log: Logger,
  clock: () => Date,
  { db, pool }: { db: Database; pool: Pool },
  jobs: Jobs,
  secretKey: string,
): Promise<PaymentSandbox> {
  return openPaymentSandbox({
    pool,
    clock,
    secretKey,
    publicUrl,
    onEvent: (eventId) => jobs.enqueue(db, 'deliver-sandbox-webhook', { eventId }),
    onError: (error) => log.error({ err: error }, 'the payment sandbox failed'),
  })
}

/** The processor that calls Stripe, or `sandbox` instead of Stripe. */
export function createPaymentProcessor(
  { billing, proxy }: Config,
  sandbox: PaymentSandbox | null,
  secretKey: string,
): PaymentProcessor {
  const installation = installationOf(secretKey)
  if (sandbox !== null) {
    return createStripeProcessor({
      name: 'sandbox',
      secretKey: sandbox.apiKey,
      publishableKey: 'pk_test_sandbox',
      webhookSecret: sandbox.webhookSecret,
      installation,
      transport: sandbox.fetch,
    })
  }
  if (billing.stripe === null) throw new Error('Stripe is not configured.')
  return createStripeProcessor({ name: 'stripe', ...billing.stripe, installation, transport: proxy })
}

export async function createRuntimes(
  config: Config,
  instanceTypes: readonly InstanceType[],
  services: RuntimeServices,
): Promise<ModelRuntimes> {
  const opened: ModelRuntime[] = []
  try {
    for (const name of listRuntimes(config)) {
      const runtime = await openRuntime(name, config, instanceTypes, services)
      // Nothing starts at an endpoint, and a request costs its owner money.
      opened.push(runtime.reachEngine === undefined ? withWarmUp(runtime, mainProtocols) : runtime)
    }
  } catch (error) {
    await Promise.allSettled(opened.map((runtime) => runtime.close()))
    throw error
  }
  return joinRuntimes(opened, services.log)
}

/** A host that runs engines can also begin a cluster, whose runtime rests until then. */
function listRuntimes({ runtimes }: Config): readonly RuntimeName[] {
  return runtimes.includes('local') && !runtimes.includes('xinference')
    ? [...runtimes, 'xinference']
    : runtimes
}

interface RuntimeServices {
  log: Logger
  clock: () => Date
  /** By the clock of this host */
  observedTime: ObservedTime
  modelStore: ModelStore
  /** Derives the key of the own cluster */
  secretKey: string
  endpoints: EndpointDirectory
}

async function openRuntime(
  name: RuntimeName,
  config: Config,
  instanceTypes: readonly InstanceType[],
  services: RuntimeServices,
): Promise<ModelRuntime> {
  const { log, clock, observedTime, modelStore, endpoints } = services
  if (name === 'endpoints') return createEndpointsRuntime({ directory: endpoints, clock })
  if (name === 'xinference') return openXinference(config, instanceTypes, services)
  if (name === 'kubernetes') return openKubernetes(config, config.kubernetes!, instanceTypes, log)
  return createLocalRuntime({
    instanceTypes,
    dataDirectory: config.dataDirectory,
    catalogDirectory: dirname(config.catalogFile),
    huggingFace: config.huggingFace,
    modelStore: config.uploads.store === null ? null : modelStore,
    sharedCapacity: {
      contextTokens: config.engines.maxContextTokens ?? 32_768,
      parallelSequences: config.engines.maxSequences ?? 4,
    },
    memoryBytes: config.localEngine.memoryLimitBytes ?? undefined,
    cpuMaxBillions: config.localEngine.cpuMaxBillions,
    gpuShares: config.localEngine.gpuShares,
    maxWeightBytes: config.localEngine.maxWeightBytes,
    llamaServerCommand: config.localEngine.llamaServerCommand,
    vllmCommand: config.localEngine.vllmCommand,
    gpuMemoryShare: config.engines.gpuMemoryShare,
    mediaDomains: [...config.mediaDomains],
    proxy: config.proxy,
    environment: process.env,
    clock,
    observedTime,
    logger: log,
  })
}

async function openXinference(
  config: Config,
  instanceTypes: readonly InstanceType[],
  { log: logger, clock, observedTime, secretKey }: RuntimeServices,
): Promise<ModelRuntime> {
  const { dataDirectory, huggingFace, proxy, xinference } = config
  const { engineServerUrl: serverUrl } = config.uploads
  const environment = process.env
  const ownCluster = await OwnCluster.open({
    dataDirectory,
    environment,
    huggingFace,
    proxy,
    observedTime,
    secretKey,
    logger,
  })
  return createXinferenceRuntime({
    supervisors: xinference.supervisors,
    ownCluster,
    gpuMemoryShare: config.engines.gpuMemoryShare,
    instanceTypes,
    uploads: serverUrl === null ? null : { serverUrl, folder: xinference.uploadsFolder },
    logger,
    clock,
  })
}

async function openKubernetes(
  { catalogFile, huggingFace, proxy, mediaDomains, port, uploads, engines: { gpuMemoryShare } }: Config,
  kubernetes: KubernetesConfig,
  instanceTypes: readonly InstanceType[],
  logger: Logger,
): Promise<ModelRuntime> {
  const picked = pickInstanceTypes(instanceTypes, kubernetes.instanceTypes)
  // Loaded on demand: the Kubernetes client is large.
  const { createKubernetesRuntime } = await import('../adapters/model-runtime/kubernetes/runtime.ts')
  const catalogDirectory = dirname(catalogFile)
  const settings = {
    ...kubernetes,
    gpuMemoryShare,
    instanceTypes: picked,
    catalogDirectory,
    huggingFace,
    proxy,
    server: uploads.engineServerUrl === null ? null : { url: uploads.engineServerUrl, port },
    mediaDomains: [...mediaDomains],
    logger,
  }
  return createKubernetesRuntime(settings)
}

export function createHub({ huggingFace: { endpoint }, proxy }: Config): ModelHub {
  return createHuggingFaceHub({ endpoint, proxy })
}

/** The bucket of MODEL_STORE_URL, else `DATA_DIR/models`. */
export async function createModelStore(
  { uploads: { store }, dataDirectory, proxy }: Config,
  logger: Logger,
  clock: () => Date,
): Promise<ModelStore> {
  if (store === null) return createDiskStore(dataDirectory)
  // Loaded on demand: the client is large.
  const { createS3Store } = await import('../adapters/model-store/s3.ts')
  return withLeftFiles(createS3Store({ ...store, proxy, logger, clock }), dataDirectory)
}

export async function createIdentityProvider(
  { sso, publicUrl, proxy }: Config,
  logger: Logger,
): Promise<IdentityProvider | null> {
  if (sso === null) return null
  // Loaded on demand, because most servers have no identity provider
  const { createOidcProvider } = await import('../adapters/identity-provider/oidc.ts')
  const redirectUri = new URL(`/v1/sso/callback/${sso.provider}`, publicUrl).href
  return createOidcProvider({ ...sso, redirectUri, proxy, logger })
}

export function createMailer({ mail: { url, from }, dataDirectory }: Config, log: Logger): Mailer {
  return url === null
    ? createFileMailer({ directory: join(dataDirectory, 'mail'), from, log })
    : createSmtpMailer({ url, from })
}
