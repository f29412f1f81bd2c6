import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { deploymentQuery } from '../../domain/deployments/queries.ts'
import { eventsQuery, mergeEvent } from '../../domain/deployments/events.ts'
import { toInput } from '../../domain/deployments/reference.ts'
import { useEventStream } from '../../api/use-event-stream.ts'

/** A deployment's events, live until it is terminated. Changes of status refetch the deployment. */
export function useLiveEvents({ id, status }: Pick<Deployment, 'id' | 'status'>) {
  const queryClient = useQueryClient()
  useEventStream('/api/v1/model-deployments/{deployment_id}/events', {
    input: toInput(id),
    event: 'status',
    enabled: status !== 'terminated',
    onItem: (event) => {
      const { queryKey } = eventsQuery(id)
      queryClient.setQueryData(queryKey, (known) => mergeEvent(known ?? [], event))
      const deployment = queryClient.getQueryData(deploymentQuery(id).queryKey)
      const isNewer = deployment && Date.parse(event.at) > Date.parse(deployment.updated_at)
      if (isNewer) void queryClient.invalidateQueries({ queryKey: deploymentQuery(id).queryKey })
    },
  })
  return useQuery(eventsQuery(id))
}
