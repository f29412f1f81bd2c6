import { validate as isUuid } from 'uuid'
import { NotFoundError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { findOwnDeployment } from './store.ts'
import type { Deployment } from './store.ts'

/** One of the viewer's deployments. Throws `NotFoundError` if the id is malformed, unknown or another user's. */
export async function getOwnDeployment(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  id: string,
): Promise<Deployment> {
  const deployment = isUuid(id) ? await findOwnDeployment(db, viewer.userId, id) : undefined
  if (deployment === undefined) throw new NotFoundError('Deployment not found.')
  return deployment
}
