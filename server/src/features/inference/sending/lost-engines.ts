import type { Database } from '../../../database/tables.ts'
import { findLostEngines } from '../../deployments/serving/serving-deployments.ts'
import type { EngineTarget } from '../targets/targets.ts'

/** A request that another engine can take over while its own has not answered. */
export interface MovableRequest {
  /** null unless an engine has the request and has not answered yet */
  readonly silentTarget: Pick<EngineTarget, 'instanceId' | 'engineUrl'> | null
  /** Sends the request to another engine, if there is one. */
  leaveLostEngine(): void
}

/**
 * Moves the requests whose engine is lost. A machine that dies closes no connection, so they would wait for
 * the timeout.
 */
export async function leaveLostEngines(db: Database, requests: readonly MovableRequest[]): Promise<void> {
  const targets = requests.flatMap(({ silentTarget }) => silentTarget ?? [])
  const lost = await findLostEngines(db, targets)
  if (lost.size === 0) return
  for (const request of requests) {
    const target = request.silentTarget
    if (target !== null && lost.has(target.instanceId)) request.leaveLostEngine()
  }
}
