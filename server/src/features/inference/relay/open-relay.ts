import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import { StreamTranslation } from './answer-translation.ts'
import { BufferedRelay } from './buffered-relay.ts'
import type { RelayDeps, RelayOwner, ResponseRelay } from './response-relay.ts'
import { StreamMeter } from './stream-meter.ts'
import { StreamRelay } from './stream-relay.ts'

/**
 * Opens the relay for a response with this head: one that streams events, or one that holds a document until
 * it is complete.
 */
export function openRelay(deps: RelayDeps, owner: RelayOwner, head: ResponseHead): ResponseRelay {
  const meter = openStreamMeter(owner, head)
  if (meter === null) return new BufferedRelay(deps, owner, head)
  const { answers } = owner.arrival
  const body = answers?.openEvents ? new StreamTranslation(meter, answers.openEvents()) : meter
  return new StreamRelay(deps, owner, head, body, true)
}

/** Opens the meter of a response that streams events; null for other responses. */
export function openStreamMeter(owner: RelayOwner, head: ResponseHead): StreamMeter | null {
  const { protocol, request } = owner.arrival
  const { events } = protocol
  if (events === null || !head.headers['content-type']?.startsWith('text/event-stream')) return null
  return new StreamMeter(events, owner.engine!.target.counts.inEvents, request.values)
}
