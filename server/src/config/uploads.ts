import type { z } from 'zod'
import { modelStoreUrl } from './model-store.ts'
import type { ModelStoreConfig } from './model-store.ts'
import { webAddress, wholeNumber } from './values.ts'

/** Where uploaded model files are, and their limits. */
export interface UploadsConfig {
  /** Most bytes of one file */
  maxBytes: number
  /** Most bytes of all files of an organization */
  quotaBytes: number
  /** Address of this server for engines that download uploaded files; null if they load none */
  engineServerUrl: string | null
  /** null for `DATA_DIR/models` */
  store: ModelStoreConfig | null
}

const gibibyte = 2 ** 30
const bytes = wholeNumber(1024 * 1024, Number.MAX_SAFE_INTEGER)

export const uploadsSettings = {
  UPLOAD_MAX_BYTES: bytes.default(50 * gibibyte),
  UPLOAD_QUOTA_BYTES: bytes.default(200 * gibibyte),
  ENGINE_SERVER_URL: webAddress('http://berth.berth.svc').optional(),
  MODEL_STORE_URL: modelStoreUrl.optional(),
}

type Settings = z.output<z.ZodObject<typeof uploadsSettings>>

export function readUploads(settings: Settings): UploadsConfig {
  return {
    maxBytes: settings.UPLOAD_MAX_BYTES,
    quotaBytes: settings.UPLOAD_QUOTA_BYTES,
    engineServerUrl: settings.ENGINE_SERVER_URL?.href.replace(/\/$/, '') ?? null,
    store: settings.MODEL_STORE_URL ?? null,
  }
}
