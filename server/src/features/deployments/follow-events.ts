import type { Services } from '../../services.ts'
import { listEvents } from './store.ts'
import type { DeploymentEvent } from './store.ts'

/** All events of a deployment and then each new one, until the signal fires. */
export async function* followEvents(
  { db, notifications }: Pick<Services, 'db' | 'notifications'>,
  deploymentId: string,
  signal: AbortSignal,
): AsyncIterable<DeploymentEvent> {
  // Subscribed before the first read, so that no event falls between the two.
  const changes = notifications.follow('deployment_event', signal)
  let last = 0
  async function* unseen(): AsyncIterable<DeploymentEvent> {
    for (const event of await listEvents(db, deploymentId, last)) {
      last = event.id
      yield event
    }
  }
  yield* unseen()
  for await (const changed of changes) {
    if (changed === deploymentId || changed === null) yield* unseen()
  }
}
