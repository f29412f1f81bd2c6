import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import {
  Boxes,
  ChartLine,
  CodeXml,
  Copy,
  Gauge,
  MessagesSquare,
  Moon,
  ScrollText,
  Sun,
  Trash2,
  Users,
} from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import { callApi } from '../../api/client.ts'
import { organizationQuery, useSession } from '../../api/session.ts'
import type { Command } from '../../components/command.ts'
import { copyText } from '../../components/copy-text.ts'
import { useToasts } from '../../components/toast.tsx'
import { useSettled } from '../../components/use-settled.ts'
import type { Deployment } from '../../contract.ts'
import { judgeAccess } from '../../domain/deployments/access.ts'
import { answersRequests, isFinished } from '../../domain/deployments/status.ts'
import type { DeploymentAccess } from '../../domain/deployments/access.ts'
import { findIdSuffixes, nameDeployment } from '../../domain/deployments/names.ts'
import { text } from '../../text/index.ts'
import type { DeploymentSearch } from './pages.ts'
import { findSleepAction } from './sleep-action.ts'
import { useSleepOrWake } from './use-sleep-or-wake.ts'

/** Deployments with the words of a search, which the newest may lack */
const foundDeploymentsQuery = (q: string, scope: 'organization' | 'callable') =>
  queryOptions({
    queryKey: ['commands', 'deployments', scope, q],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments', { query: { scope, q, active: true, limit: 20 }, signal }),
    enabled: q.length > 1,
  })

const newestDeploymentsQuery = queryOptions({
  queryKey: ['commands', 'deployments'],
  queryFn: ({ signal }) =>
    callApi('GET', '/api/v1/model-deployments', {
      query: { scope: 'callable', active: true, limit: 100 },
      signal,
    }),
})

/** What a person may do with a deployment of the palette. */
interface Choice {
  deployment: Deployment
  /** The shortened id if other deployments have the same name and variant, otherwise empty */
  suffix: string
  /** The search by which the server found it, maybe in the middle of a word */
  foundBy: string
  access: DeploymentAccess
}

/** Commands for the newest and the found deployments and their parts: first own, then shared ones. */
export function useDeploymentCommands(query: string): Command[] {
  const navigate = useNavigate()
  const toasts = useToasts()
  const { user } = useSession()
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { data } = useQuery(newestDeploymentsQuery)
  const q = useSettled(query.trim())
  const scope = organization.permissions.includes('manageDeployments') ? 'organization' : 'callable'
  const { data: found } = useQuery(foundDeploymentsQuery(q, scope))
  const newest = data?.items ?? []
  const known = new Set(newest.map(({ id }) => id))
  const foundIds = new Set(found?.items.map(({ id }) => id))
  const deployments = [...newest, ...(found?.items.filter(({ id }) => !known.has(id)) ?? [])]
  const suffixes = findIdSuffixes(deployments)
  const { id: currentOrganizationId, permissions } = organization
  const person = { userId: user.id, currentOrganizationId, permissions }
  const choices = deployments.map((deployment): Choice => {
    const suffix = suffixes.get(deployment.id) ?? ''
    const foundBy = foundIds.has(deployment.id) ? q : ''
    return { deployment, suffix, foundBy, access: judgeAccess(deployment, person) }
  })
  const sleepOrWake = useSleepOrWake()
  const act: Actions = {
    open: (deploymentId, search = {}) =>
      navigate({ to: '/deployments/$deploymentId', params: { deploymentId }, search }),
    chat: (deployment) => navigate({ to: '/playground', search: { deployment } }),
    sleepOrWake: (id, action) => sleepOrWake.mutate({ id, act: action }),
    copy: (id) => copyText(id).catch(toasts.error),
  }
  return choices
    .toSorted((one, other) => Number(other.access.isOwner) - Number(one.access.isOwner))
    .flatMap((choice) => listCommands(choice, act))
}

interface Actions {
  open: (id: string, search?: DeploymentSearch) => unknown
  chat: (id: string) => unknown
  copy: (id: string) => unknown
  sleepOrWake: (id: string, action: 'sleep' | 'wake') => unknown
}

function listCommands({ deployment, suffix, foundBy, access }: Choice, act: Actions): Command[] {
  const { id, status, owner } = deployment
  const ownerName = access.isOwner ? '' : owner.name || owner.email
  const name = [nameDeployment(deployment), suffix, ownerName && `· ${ownerName}`].filter(Boolean).join(' ')
  const known = `${id} ${deployment.model_name} ${foundBy}`
  const keywords = access.isOwner ? known : `${known} ${owner.email} ${text.team.team} ${text.team.shared}`
  const part = (action: string, icon: LucideIcon, run: Command['run'], synonyms = ''): Command => ({
    group: 'deployments',
    id: `${id} ${action}`,
    icon,
    label: text.palette.commandOn(name, action),
    keywords: `${keywords} ${synonyms}`,
    searchOnly: true,
    run,
  })
  const state = text.deployments.statuses[status]
  const sleepAction = findSleepAction(deployment)
  const { sharing } = text.deployment
  return [
    {
      group: 'deployments',
      id,
      icon: access.isOwner ? Boxes : Users,
      label: name,
      keywords,
      hint: access.isOwner ? state : text.team.sharedInState(state),
      run: () => act.open(id),
    },
    part(text.deployment.metrics, ChartLine, () => act.open(id, { tab: 'metrics' })),
    ...(access.inspect ? [part(text.deployment.logs, ScrollText, () => act.open(id, { tab: 'logs' }))] : []),
    part(text.deployment.callIt, CodeXml, () => act.open(id)),
    ...(access.change && !isFinished(deployment)
      ? [
          part(
            text.deployment.capacity,
            Gauge,
            () => act.open(id, { tab: 'settings', context: 'yes' }),
            text.palette.capacityWords,
          ),
        ]
      : []),
    part(text.common.copy('ID'), Copy, () => act.copy(id)),
    ...(access.call && answersRequests(deployment)
      ? [part(text.deployments.openInPlayground, MessagesSquare, () => act.chat(id))]
      : []),
    ...(access.change && sleepAction !== null
      ? [
          part(text.deployments[sleepAction], sleepAction === 'sleep' ? Moon : Sun, () =>
            act.sleepOrWake(id, sleepAction),
          ),
        ]
      : []),
    ...(access.change && !isFinished(deployment)
      ? [
          part(sharing[deployment.shared_with === null ? 'share' : 'stop'], Users, () =>
            act.open(id, { share: 'yes' }),
          ),
        ]
      : []),
    ...(access.terminate && status !== 'terminating'
      ? [
          part(text.deployments[status === 'failed' ? 'remove' : 'terminate'], Trash2, () =>
            act.open(id, { terminate: 'yes' }),
          ),
        ]
      : []),
  ]
}
