import { resolve } from 'node:path'
import { z } from 'zod'
import { modelStoreUrl } from './model-store.ts'
import type { ModelStoreConfig } from './model-store.ts'
import { optionalText, size, webAddress } from './values.ts'

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
  /** Proxies for downloads; null for none. `exceptions` are hosts to reach directly, separated by commas. */
  proxy: { http: string | null; https: string | null; exceptions: string | null }
  uploads: UploadsConfig
}

/** Where uploaded model files are, and their limits. */
interface UploadsConfig {
  /** Most bytes of one file */
  maxBytes: number
  /** Most bytes of all files of an organization */
  quotaBytes: number
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
  UPLOAD_QUOTA: size({ least: '1MiB', most: '1024TiB' }).prefault('200GiB'),
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
    proxy: {
      http: settings.HTTP_PROXY ?? null,
      https: settings.HTTPS_PROXY ?? null,
      exceptions: settings.NO_PROXY ?? null,
    },
    uploads: {
      maxBytes: 50 * 2 ** 30,
      quotaBytes: settings.UPLOAD_QUOTA,
      engineServerUrl: settings.ENGINE_SERVER_URL?.href.replace(/\/$/, '') ?? null,
      store: settings.MODEL_STORE_URL ?? null,
    },
  }
}
