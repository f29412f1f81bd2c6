import type { FailureCode, FailureStage } from '../../../ports/model-runtime.ts'
import type { Services } from '../../../services.ts'
import type { Price } from '../../metering/prices.ts'
import { moveDeployment, updateDeployment } from '../change-store.ts'
import type { DeploymentChanges, EventText, Lease } from '../change-store.ts'
import { findLastEvent } from '../store.ts'
import type { Deployment } from '../store.ts'

/** What the steps need of the application. */
export type World = Pick<Services, 'db' | 'clock' | 'log' | 'runtime' | 'config' | 'secretKey'> & {
  prices: readonly Price[]
}

/** Milliseconds until the next look at what is under way */
export const pause = { starting: 500, stopping: 250, running: 5_000 }

/** One look at a deployment under a lease. */
export interface Look {
  world: World
  deployment: Deployment
  lease: Lease
  /** Milliseconds until a deployment that runs is looked at again */
  runningPause: number
}

/**
 * What a step answers: when to look next, or the row that the next step is taken on at once; undefined is a row that somebody else
 * has changed.
 */
export type Taken = { waitMilliseconds: number | null } | { next: Deployment | undefined }
export type Step = (look: Look) => Promise<Taken>

/** Why a deployment fails, and where on its way. */
export interface Failure {
  stage: FailureStage
  code: FailureCode
  message: string
}

/** Milliseconds since the deployment came into its status */
export function timeInStatus({ deployment, world }: Look): number {
  return world.clock().getTime() - deployment.status_changed_at.getTime()
}

/** Fails a deployment from whatever status it is in; its instance is given back in the steps that follow. */
export async function fail({ world, deployment, lease }: Look, failure: Failure): Promise<Taken> {
  const { id, status } = deployment
  if (status === 'failed' || status === 'terminating' || status === 'terminated') {
    throw new Error(`a deployment that is ${status} can't fail`)
  }
  const reason = `${failure.code}: ${failure.message}`
  const next = await moveDeployment(
    world.db,
    { id, from: status, to: 'failed', lease, at: world.clock() },
    { failure_stage: failure.stage, failure_reason: reason, status_message: null, engine_url: null },
    { stage: failure.stage, message: reason },
  )
  return { next }
}

/** Keeps `status_message` current; the history gets a line when the stage changes and every ten seconds of a long one. */
export async function say(
  look: Look,
  stage: string,
  message: string,
  progress: number | null = null,
): Promise<void> {
  const { deployment, world } = look
  if (deployment.status_message === message) return
  const last = await findLastEvent(world.db, deployment.id)
  const isNews =
    last === undefined || last.stage !== stage || world.clock().getTime() - last.at.getTime() > 10_000
  await record(look, { status_message: message, progress }, isNews ? { stage, message } : null)
}

/** Writes facts about the deployment, with an event unless that is null; undefined when somebody else has changed it. */
export async function record(
  { world, deployment, lease }: Look,
  changes: DeploymentChanges,
  event: EventText | null,
): Promise<Deployment | undefined> {
  return updateDeployment(world.db, lease, deployment.status, changes, event, world.clock())
}
