import { resolve } from 'node:path'
import { z } from 'zod'
import { readProxy } from './proxy.ts'
import type { ProxySettings } from './proxy.ts'
import { oneOf, optionalText, size, webAddress } from './values.ts'

const message =
  'must be a bucket such as s3://berth-models/uploads?endpoint=https://minio.example.com&region=eu-central-1, without credentials: set ' +
  'these as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'

/** `s3://bucket/prefix?endpoint=…&region=…` */
const modelStoreUrl = z
  .string()
  .trim()
  .transform((text, context): ModelStoreConfig => {
    const store = parseStoreUrl(text)
    if (store !== null) return store
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** Where models, their prices and their weights come from. */
export interface ModelsConfig {
  /** Absolute path of the model catalog */
  catalogFile: string
  /** True if `CATALOG_FILE` is set: then it alone decides which models the installation has */
  hasOwnCatalog: boolean
  /** Absolute path of the price file */
  pricesFile: string
  /** Absolute path of the instance type file */
  instanceTypesFile: string
  huggingFace: { endpoint: string; token: string | null }
  proxy: ProxySettings
  uploads: UploadsConfig
}

/** Where uploaded model files are, and their limits. */
interface UploadsConfig {
  /** Most bytes of one file */
  maxBytes: number
  /** Most bytes of all files of an organization; null to refuse uploads */
  quotaBytes: number | null
  /** Address of this server for engines that download uploaded files; null if they load none */
  engineServerUrl: string | null
  /** null for `DATA_DIR/models` */
  store: ModelStoreConfig | null
}

const catalog = resolve(import.meta.dirname, '../../../catalog')

const proxyAddress = z.url({
  protocol: /^https?$/,
  error: 'must be an address such as http://proxy.example.com:3128',
})

export const modelsSettings = {
  CATALOG_FILE: optionalText,
  PRICES_FILE: optionalText,
  INSTANCE_TYPES_FILE: optionalText,
  HF_ENDPOINT: webAddress('https://huggingface.co').default(new URL('https://huggingface.co')),
  HF_TOKEN: optionalText,
  HTTP_PROXY: proxyAddress.optional(),
  HTTPS_PROXY: proxyAddress.optional(),
  NO_PROXY: optionalText,
  UPLOAD_QUOTA: z
    .union(
      [oneOf(['off']), size({ least: '1MiB', most: '1024TiB' })],
      'must be a size such as 512MiB or 2GiB, from 1MiB to 1024TiB, or off',
    )
    .prefault('200GiB'),
  ENGINE_SERVER_URL: webAddress('http://berth.berth.svc').optional(),
  MODEL_STORE_URL: modelStoreUrl.optional(),
}

export function readModels(settings: z.output<z.ZodObject<typeof modelsSettings>>): ModelsConfig {
  return {
    catalogFile: resolve(settings.CATALOG_FILE ?? `${catalog}/models.yaml`),
    hasOwnCatalog: settings.CATALOG_FILE !== undefined,
    pricesFile: resolve(settings.PRICES_FILE ?? `${catalog}/prices.yaml`),
    instanceTypesFile: resolve(settings.INSTANCE_TYPES_FILE ?? `${catalog}/instance-types.yaml`),
    huggingFace: { endpoint: settings.HF_ENDPOINT.href.replace(/\/$/, ''), token: settings.HF_TOKEN ?? null },
    proxy: readProxy({
      http: settings.HTTP_PROXY,
      https: settings.HTTPS_PROXY,
      exceptions: settings.NO_PROXY,
    }),
    uploads: {
      maxBytes: 50 * 2 ** 30,
      quotaBytes: settings.UPLOAD_QUOTA === 'off' ? null : settings.UPLOAD_QUOTA,
      engineServerUrl: settings.ENGINE_SERVER_URL?.href.replace(/\/$/, '') ?? null,
      store: settings.MODEL_STORE_URL ?? null,
    },
  }
}

/** The bucket of an S3-compatible store for uploaded model files. */
interface ModelStoreConfig {
  bucket: string
  /** The beginning of all objects' names, with a slash at its end; empty for none */
  prefix: string
  /** null for Amazon's */
  endpoint: string | null
  /** null for that of the environment */
  region: string | null
}

function parseStoreUrl(text: string): ModelStoreConfig | null {
  const url = URL.parse(text)
  const [, bucket = '', path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?([\w./-]*)(\?|$)/.exec(text) ?? []
  if (url === null || bucket === '' || url.hash !== '') return null
  const { endpoint = null, region = null, ...others } = Object.fromEntries(url.searchParams)
  if (Object.keys(others).length > 0 || (region !== null && !/^[a-z0-9-]{1,64}$/.test(region))) return null
  const address = webAddress('https://minio.example.com').nullable().safeParse(endpoint)
  if (!address.success) return null
  const folder = path.replace(/\/$/, '')
  if (folder !== '' && folder.split('/').some((part) => /^\.*$/.test(part))) return null
  return {
    bucket,
    prefix: folder === '' ? '' : `${folder}/`,
    endpoint: address.data?.href.replace(/\/$/, '') ?? null,
    region,
  }
}
