import { queryOptions, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Boxes } from 'lucide-react'
import { callApi } from '../../api/client.ts'
import type { Command } from '../../components/command.ts'
import { findIdSuffixes } from '../../domain/models/variant-names.ts'
import { text } from '../../text/index.ts'

const newestDeploymentsQuery = queryOptions({
  queryKey: ['commands', 'deployments'],
  queryFn: ({ signal }) =>
    callApi('GET', '/api/v1/model-deployments', { query: { active: true, limit: 100 }, signal }),
})

/** Commands that open the page of one of the newest deployments. */
export function useDeploymentCommands(): Command[] {
  const navigate = useNavigate()
  const { data } = useQuery(newestDeploymentsQuery)
  const deployments = data?.items ?? []
  const suffixes = findIdSuffixes(deployments)
  return deployments.map(({ id, model_name, status }) => ({
    group: 'deployments',
    id,
    icon: Boxes,
    label: `${model_name} ${suffixes.get(id) ?? ''}`,
    hint: text.deployments.statuses[status],
    run: () => navigate({ to: '/deployments/$deploymentId', params: { deploymentId: id } }),
  }))
}
