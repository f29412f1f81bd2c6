import { wholeNumber } from './values.ts'

/** The limits of uploaded model files. */
export interface UploadsConfig {
  /** Most bytes of one file */
  maxBytes: number
  /** Most bytes of all files of an organization */
  quotaBytes: number
}

const gibibyte = 2 ** 30
const bytes = wholeNumber(1024 * 1024, Number.MAX_SAFE_INTEGER)

export const uploadsSettings = {
  UPLOAD_MAX_BYTES: bytes.default(50 * gibibyte),
  UPLOAD_QUOTA_BYTES: bytes.default(200 * gibibyte),
}
