import { Boxes } from 'lucide-react'
import type { StatisticsWindow } from '../../contract.ts'
import { deploymentQuery, deploymentsQuery } from '../../domain/deployments/queries.ts'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import { statisticsWindows } from './statistics-windows.ts'
import { sorts, statuses, toFilter } from './list-search.ts'
import type { ListSearch } from './list-search.ts'

export const deploymentsPage = page({
  path: '/deployments',
  readSearch: ({ whose, show, q, status, owner, sort, page }: RawSearch): ListSearch => ({
    whose: whose === 'own' || whose === 'team' ? whose : undefined,
    show: show === 'all' ? 'all' : undefined,
    q: readText(q),
    status: statuses.find((one) => one === status),
    owner: readText(owner),
    sort: sorts.find((one) => one === sort),
    page: readText(page),
  }),
  heading: text.pages.deployments,
  frame: 'member',
  navigation: { icon: Boxes },
  prefetch: (queryClient, search) => void queryClient.prefetchQuery(deploymentsQuery(toFilter(search))),
  load: () => import('./deployments-page.tsx'),
  component: 'DeploymentsPage',
})

export interface DeploymentSearch {
  tab?: string | undefined
  /** The time range of the metrics */
  window?: StatisticsWindow | undefined
  /** The activity whose settings before it are to be restored */
  restore?: string | undefined
  /** `yes` opens the dialog to terminate the deployment. */
  terminate?: 'yes' | undefined
  /** `yes` opens the dialog to share it, or to stop that. */
  share?: 'yes' | undefined
  /** `yes` opens the dialog to change the context. */
  context?: 'yes' | undefined
}

export const deploymentPage = page({
  path: '/deployments/$deploymentId',
  readSearch: ({ tab, window, restore, terminate, share, context }: RawSearch): DeploymentSearch => ({
    tab: readText(tab),
    window: statisticsWindows.find((one) => one === window),
    restore: readText(restore),
    terminate: terminate === 'yes' ? 'yes' : undefined,
    share: share === 'yes' ? 'yes' : undefined,
    context: context === 'yes' ? 'yes' : undefined,
  }),
  frame: 'member',
  prefetch: (queryClient, _search, { deploymentId }) =>
    void queryClient.prefetchQuery(deploymentQuery(deploymentId)),
  load: () => import('./deployment-page.tsx').then(({ load }) => load()),
  component: 'DeploymentPage',
})
