import { z } from 'zod'
import { webAddress } from './values.ts'

/** The bucket of an S3-compatible store for uploaded model files. */
export interface ModelStoreConfig {
  bucket: string
  /** The beginning of all objects' names, with a slash at its end; empty for none */
  prefix: string
  /** null for Amazon's */
  endpoint: string | null
  /** null for that of the environment */
  region: string | null
}

const message =
  'must be a bucket such as s3://berth-models/uploads?endpoint=https://minio.example.com&region=eu-central-1, without credentials: set ' +
  'these as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'

/** `s3://bucket/prefix?endpoint=…&region=…` */
export const modelStoreUrl = z
  .string()
  .trim()
  .transform((text, context): ModelStoreConfig => {
    const store = parseStoreUrl(text)
    if (store !== null) return store
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

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
