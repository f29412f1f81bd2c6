import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import { randomBytes } from 'node:crypto'

const endpoint = process.env['TEST_S3']!

/** A bucket of the store, as the tests see it. */
export interface Bucket {
  /** `MODEL_STORE_URL`, for another address of the store if given */
  url(address?: string): string
  list(): Promise<string[]>
  /** The number of multipart uploads that are open */
  countOpen(): Promise<number>
  /** The settings of a server in its own process */
  settings(address?: string): Record<string, string>
}

export async function createBucket(): Promise<Bucket> {
  const client = new S3Client({ endpoint, forcePathStyle: true, region: 'us-east-1' })
  const name = `models-${randomBytes(6).toString('hex')}`
  await client.send(new CreateBucketCommand({ Bucket: name }))
  const url = (address = endpoint) => `s3://${name}/berth?endpoint=${address}`
  return {
    url,
    async list() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }))
      return Contents.map(({ Key = '' }) => Key)
    },
    async countOpen() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }))
      return Uploads.length
    },
    settings: (address) => ({
      MODEL_STORE_URL: url(address),
      AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID']!,
      AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY']!,
    }),
  }
}
