import { createNotifiedCache } from '../../database/notified-cache.ts'
import type { NotifiedCache } from '../../database/notified-cache.ts'
import type { Notifications } from '../../database/notifications.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { deriveEngineKey } from '../deployments/engine-spec.ts'
import type { ServingDeployment } from '../deployments/serving-deployments.ts'
import type { EngineConnections } from './engines.ts'
import { findTargets } from './find-target.ts'
import { toUpstreamError } from './upstream-errors.ts'

/** A deployment that answers, with what a request to it needs. */
export interface EngineTarget extends ServingDeployment {
  origin: string
  /** What the engine's base address has before the paths of the API; mostly nothing */
  basePath: string
  /** null: the engine asks for none. Replaced where it stands once the engine has refused it. */
  authorization: string | null
}

/** Where each user's requests go, in memory. */
export type TargetCache = NotifiedCache<readonly EngineTarget[]>

/** For a minute at most, so that even a row changed past the triggers counts soon. */
export function createTargetCache(notifications: Notifications): TargetCache {
  return createNotifiedCache(notifications, 'deployment_changed', { limit: 20_000, milliseconds: 60_000 })
}

/** Longer names are none of a deployment, and fill no memory. */
const longestName = 500

/** Where a request for `model` may go as memory knows it; undefined where that does not know. */
export function recallTargets(
  targets: TargetCache,
  { userId }: Viewer,
  model: string,
): readonly EngineTarget[] | undefined {
  return model.length > longestName ? undefined : targets.get(`${userId} ${model}`)
}

/** As `recallTargets`, from the database; throws what the caller is told where there is none. */
export async function loadTargets(
  application: Pick<Services, 'db' | 'runtime' | 'secretKey'> & { engines: EngineConnections },
  viewer: Viewer,
  model: string,
): Promise<readonly EngineTarget[]> {
  const load = async () => ({
    value: await toTargets(application, await findTargets(application, viewer, model)),
    userId: viewer.userId,
  })
  if (model.length > longestName) return (await load()).value
  const found = await application.engines.targets.find(`${viewer.userId} ${model}`, load)
  return found ?? []
}

/** Leaves out whom no authorization is to be had for; throws what the caller is told where nobody is left. */
async function toTargets(
  application: Pick<Services, 'runtime' | 'secretKey'>,
  found: readonly ServingDeployment[],
): Promise<EngineTarget[]> {
  const results = await Promise.allSettled(found.map((serving) => toTarget(application, serving)))
  const targets = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const refused = results.find((result) => result.status === 'rejected')
  if (targets.length === 0 && refused !== undefined) throw toUpstreamError(refused.reason)
  return targets
}

async function toTarget(
  { runtime, secretKey }: Pick<Services, 'runtime' | 'secretKey'>,
  serving: ServingDeployment,
): Promise<EngineTarget> {
  const url = serving.engineUrl ?? ''
  const { origin, pathname } = new URL(url)
  return {
    ...serving,
    origin,
    basePath: pathname.replace(/\/+$/, ''),
    authorization:
      runtime.authorizeEngine === undefined
        ? `Bearer ${deriveEngineKey(secretKey, serving.deploymentId)}`
        : await runtime.authorizeEngine(url),
  }
}
