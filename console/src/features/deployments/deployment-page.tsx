import { getRouteApi, Link } from '@tanstack/react-router'
import { FileQuestion } from 'lucide-react'
import { isNotFound } from '../../api/client.ts'
import type { Deployment } from '../../contract.ts'
import { Suspense } from 'react'
import type { ComponentType } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { text } from '../../text/index.ts'
import { DeploymentActions } from './deployment-actions.tsx'
import { nameSharing } from './name-sharing.ts'
import { usePayer } from './payer.ts'
import { useDeployment } from './queries.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { describeDeployment, nameDeployment } from '../../domain/deployments/names.ts'

const words = text.deployment
const route = getRouteApi('/app/deployments/$deploymentId')
const tabs = ['overview', 'metrics', 'logs', 'activity', 'settings'] as const
type Tab = (typeof tabs)[number]

const OverviewTab = lazyPart(() => import('./overview-tab.tsx').then((module) => module.OverviewTab))
const contents: Record<Tab, ComponentType<{ deployment: Deployment }>> = {
  overview: OverviewTab,
  metrics: lazyPart(() => import('./metrics-tab.tsx').then((module) => module.MetricsTab)),
  logs: lazyPart(() => import('./logs-tab.tsx').then((module) => module.LogsTab)),
  activity: lazyPart(() => import('./activity-tab.tsx').then((module) => module.ActivityTab)),
  settings: lazyPart(() => import('./settings-tab.tsx').then((module) => module.SettingsTab)),
}

// What it shows loads after the page.
const HeadFacts = lazyPart(() => import('./head-facts.tsx').then((module) => module.HeadFacts))

/** The page with the code of its first tab: React would keep a placeholder of it for 300 ms. */
export const load = () => OverviewTab.load().then(() => ({ DeploymentPage }))

/** A deployment: how to call it, its metrics, logs, activity and settings. */
export function DeploymentPage() {
  const { deploymentId } = route.useParams()
  const { data, error, refetch } = useDeployment(deploymentId)
  const isGone = isNotFound(error)
  if (data && !isGone) return <LoadedPage key={data.id} deployment={data} />
  if (!error) return <LoadingDeployment />
  return (
    <Page title={words.deployment} before={<BackLink />}>
      {isGone ? (
        <EmptyState
          icon={<FileQuestion />}
          title={data ? words.goneTitle : words.notFoundTitle}
          action={
            <Button asChild>
              <Link to="/deployments">{text.errors.toDeployments}</Link>
            </Button>
          }
        >
          {data ? words.gone : words.notFound}
        </EmptyState>
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  )
}

function LoadingDeployment() {
  return (
    <Page
      title={words.deployment}
      before={<BackLink />}
      heading={
        <>
          <span className="sr-only">{words.deployment}</span>
          <Skeleton className="my-1.5 w-48" />
        </>
      }
      description={<Skeleton className="my-1 w-56" />}
    >
      <div role="status" aria-label={text.common.loading} className="grid gap-5">
        <Skeleton className="h-9 w-80 max-w-full" />
        <Skeleton className="h-96 rounded-xl" />
      </div>
    </Page>
  )
}

function LoadedPage({ deployment }: { deployment: Deployment }) {
  const { tab } = route.useSearch()
  const navigate = route.useNavigate()
  const { shared_with: sharedWith, managed_by: manager } = deployment
  const name = nameDeployment(deployment)
  const access = useAccess(deployment)
  const payer = usePayer(deployment)
  const shown = tabs.filter(
    (one) => (one !== 'logs' || access.inspect) && (one !== 'settings' || access.change || access.terminate),
  )
  return (
    <Page
      title={words.titleWithStatus(name, text.deployments.statuses[deployment.status])}
      heading={name}
      before={<BackLink />}
      description={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span role="status">
            <StatusBadge deployment={deployment} />
          </span>
          {describeDeployment(deployment)}
          {sharedWith !== null && payer.name !== null && (
            <Badge tone="accent">{words.sharing.sharedWith(nameSharing(sharedWith, payer.name))}</Badge>
          )}
          {manager !== null && <Badge>{words.managedBy(manager)}</Badge>}
          {(access.inspect || deployment.status === 'running') && (
            // On a phone the facts have their own line from the start: nothing moves when they arrive.
            <span className="min-h-[1lh] max-sm:basis-full">
              <Suspense>
                <HeadFacts deployment={deployment} />
              </Suspense>
            </span>
          )}
          {!access.isOwner && (
            <span>{text.team.ownedBy(deployment.owner.name || deployment.owner.email)}</span>
          )}
        </span>
      }
      actions={<DeploymentActions deployment={deployment} />}
    >
      <Tabs
        label={words.tabs}
        value={shown.find((one) => one === tab) ?? 'overview'}
        onValueChange={(next) => void navigate({ search: { tab: next === 'overview' ? undefined : next } })}
        tabs={shown.map((value) => ({
          value,
          label: words[value],
          content: <TabContent tab={value} deployment={deployment} />,
        }))}
      />
    </Page>
  )
}

function TabContent({ tab, deployment }: { tab: Tab; deployment: Deployment }) {
  const Content = contents[tab]
  return (
    <Suspense fallback={<Skeleton className="h-96 rounded-xl" />}>
      <Content deployment={deployment} />
    </Suspense>
  )
}

function BackLink() {
  return (
    <Link to="/deployments" className="back-link">
      {words.back}
    </Link>
  )
}
