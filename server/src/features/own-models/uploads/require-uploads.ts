import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'

/** The quota of an organization in bytes. Throws `uploads_disabled` if the operator takes no files. */
export function requireUploads({ config }: Pick<Services, 'config'>): number {
  const { quotaBytes } = config.uploads
  if (quotaBytes !== null) return quotaBytes
  const message = 'The operator of this server has turned uploads off. Add a repository of the Hub instead.'
  throw new ApplicationError('uploads_disabled', message)
}
