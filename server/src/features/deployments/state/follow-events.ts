import type { Services } from '../../../services.ts'
import { listEvents } from './store.ts'
import type { ListedEvent } from './store.ts'

/** Yields all existing events of a deployment, then each new one, until the signal aborts. */
export async function* followEvents(
  { db, notifications }: Pick<Services, 'db' | 'notifications'>,
  deploymentId: string,
  signal: AbortSignal,
): AsyncIterable<ListedEvent> {
  // Subscribe before the first read, so that no event is missed in between.
  const changes = notifications.follow('deployment_event', signal)
  let last = 0
  async function* unseen(): AsyncIterable<ListedEvent> {
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
