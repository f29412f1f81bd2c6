import { queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import type { DeploymentEvent } from '../../contract.ts'
import { steadyInterval } from './queries.ts'
import { toInput } from './reference.ts'

/** The events of a deployment, oldest first. useLiveEvents adds new ones. */
export const eventsQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployments', 'events', id],
    queryFn: async ({ signal, client, queryKey }) => {
      const { items } = await callApi('GET', '/api/v1/model-deployments/{deployment_id}/events', {
        ...toInput(id),
        signal,
      })
      // The stream may have delivered an event after the server wrote this response.
      const streamed = client.getQueryData<DeploymentEvent[]>(queryKey) ?? []
      return streamed.reduce(mergeEvent, items)
    },
    staleTime: steadyInterval,
  })

/** Inserts an event in the order of the history unless it is already known. */
export function mergeEvent(events: readonly DeploymentEvent[], added: DeploymentEvent): DeploymentEvent[] {
  if (events.some(({ id }) => id === added.id)) return [...events]
  return [...events, added].toSorted((one, other) => one.id - other.id)
}

/** Milliseconds of the last start, from the request or wake until it ran; null if it never ran. */
export function findStartTime(events: readonly DeploymentEvent[]): number | null {
  let since: string | null = null
  let last: number | null = null
  for (const { at, status } of events) {
    if (status === 'requested' || status === 'provisioning' || status === 'deploying') since ??= at
    else {
      if (status === 'running' && since !== null) last = Date.parse(at) - Date.parse(since)
      since = null
    }
  }
  return last
}
