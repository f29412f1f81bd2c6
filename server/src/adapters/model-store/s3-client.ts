import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { S3Client } from '@aws-sdk/client-s3'

/** Credentials come from the standard places: the environment, files, or the machine. */
export interface S3StoreSettings {
  bucket: string
  /** What the names of all objects begin with; empty for none */
  prefix: string
  /** null for Amazon's */
  endpoint: string | null
  /** null for that of the environment */
  region: string | null
  proxy: { http: string | null; https: string | null; exceptions: string | null }
  clock: () => Date
  logger: { warn(details: object, message: string): void }
}

const connectionTimeout = 5_000
/** A connection that carries no bytes for this long is lost. */
const socketTimeout = 60_000
const maxSockets = 64

/** Opens a client that works with stores that know no checksums of Amazon's newer kinds. */
export function openClient({ endpoint, region, proxy }: S3StoreSettings): S3Client {
  const proxyEnv = {
    HTTP_PROXY: proxy.http ?? '',
    HTTPS_PROXY: proxy.https ?? '',
    NO_PROXY: proxy.exceptions ?? '',
  }
  const agent = { keepAlive: true, maxSockets, proxyEnv }
  return new S3Client({
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true, region: 'us-east-1' }),
    ...(region === null ? {} : { region }),
    maxAttempts: 3,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout,
      socketTimeout,
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
    },
  })
}
