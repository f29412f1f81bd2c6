import { z } from 'zod'
import { count, timestamp } from '../../../http/schemas.ts'
import type { ModelUpload } from './write-lease.ts'

export const uploadId = z.uuid().describe('Id of the upload, the last part of its `Location`')

export const uploadParams = z.object({ upload_id: uploadId })

const uploadBody = z
  .object({
    id: uploadId,
    file_name: z.string().describe('Name of the file'),
    bytes: count.describe('Size of the file'),
    received: count.describe('How many bytes have arrived'),
    status: z
      .enum(['receiving', 'complete'])
      .describe(
        '`complete` once all bytes have arrived and were checked, so that the upload can become a model',
      ),
    created_at: timestamp.describe('When the upload started'),
    expires_at: timestamp.describe(
      'When the upload is removed, unless more bytes arrive or it becomes a model',
    ),
  })
  .meta({ id: 'ModelUpload', description: 'An uploaded file that is no model yet' })

export const uploadsBody = z
  .array(uploadBody)
  .describe('The uploads of the organization that no model uses, the newest first')

export function toUploadBody(upload: ModelUpload): z.infer<typeof uploadBody> {
  const { id, file_name, bytes, received, status, created_at, expires_at } = upload
  return {
    id,
    file_name,
    bytes,
    received,
    status: status === 'complete' ? 'complete' : 'receiving',
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
  }
}
