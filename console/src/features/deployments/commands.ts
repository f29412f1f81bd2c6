import { queryOptions, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Boxes, ChartLine, CodeXml, Copy, MessagesSquare, ScrollText, Trash2 } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import { callApi } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import type { Command } from '../../components/command.ts'
import { copyText } from '../../components/copy-text.ts'
import { useToasts } from '../../components/toast.tsx'
import { findIdSuffixes } from '../../domain/models/variant-names.ts'
import { text } from '../../text/index.ts'
import type { DeploymentSearch } from './pages.ts'

const newestDeploymentsQuery = queryOptions({
  queryKey: ['commands', 'deployments'],
  queryFn: ({ signal }) =>
    callApi('GET', '/api/v1/model-deployments', { query: { active: true, limit: 100 }, signal }),
})

/** Commands that open one of the newest deployments, a part of its page, or its dialog. */
export function useDeploymentCommands(): Command[] {
  const navigate = useNavigate()
  const can = useCan()
  const toasts = useToasts()
  const { data } = useQuery(newestDeploymentsQuery)
  const deployments = data?.items ?? []
  const suffixes = findIdSuffixes(deployments)
  const open = (deploymentId: string, search: DeploymentSearch = {}) =>
    navigate({ to: '/deployments/$deploymentId', params: { deploymentId }, search })
  return deployments.flatMap(({ id, model_name, status }): Command[] => {
    const name = [model_name, suffixes.get(id)].filter(Boolean).join(' ')
    const part = (action: string, icon: LucideIcon, run: Command['run']): Command => ({
      group: 'deployments',
      id: `${id} ${action}`,
      icon,
      label: text.shell.commandOn(name, action),
      keywords: id,
      searchOnly: true,
      run,
    })
    return [
      {
        group: 'deployments',
        id,
        icon: Boxes,
        label: name,
        keywords: id,
        hint: text.deployments.statuses[status],
        run: () => open(id),
      },
      part(text.deployment.metrics, ChartLine, () => open(id, { tab: 'metrics' })),
      part(text.deployment.logs, ScrollText, () => open(id, { tab: 'logs' })),
      part(text.deployment.callIt, CodeXml, () => open(id, { tab: 'use' })),
      part(text.common.copy('ID'), Copy, () => copyText(id).catch(toasts.error)),
      ...(can('useOwnDeployments') && status === 'running'
        ? [
            part(text.deployments.openInPlayground, MessagesSquare, () =>
              navigate({ to: '/playground', search: { deployment: id } }),
            ),
          ]
        : []),
      ...(can('terminateOwnDeployments') && status !== 'terminating'
        ? [
            part(text.deployments[status === 'failed' ? 'remove' : 'terminate'], Trash2, () =>
              open(id, { terminate: 'yes' }),
            ),
          ]
        : []),
    ]
  })
}
